// What clients ask of jobs: submit, cancel, show, list.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// Outputs that were kept as arrays under a name or a lease do not go with the job.
bool IsUnfetched(const Job& job) {
  if (job.attached || job.fetched || job.end == nullptr || job.end->outputs_dropped) return false;
  const std::vector<JobOutputValue>& outputs = job.end->outputs;
  return !job.owned_arrays.empty() ||
         std::any_of(outputs.begin(), outputs.end(), [](const JobOutputValue& one) { return one.data != nullptr; });
}

bool Passes(const Job& job, const JobFilter& filter) {
  const std::vector<JobState>& states = filter.states;
  if (!states.empty() && std::find(states.begin(), states.end(), job.state) == states.end()) return false;
  if (!filter.kernel.empty() && job.bound.call.spec->name() != filter.kernel) return false;
  if (!filter.label.empty() && job.label != filter.label) return false;
  if (filter.unfetched_only && !IsUnfetched(job)) return false;
  return !filter.submitted_since || job.events[0].time >= *filter.submitted_since;
}

}  // namespace

bool Engine::Impl::Fits(const DeviceState& device, const Job& job) {
  const DeviceNeed* need = job.bound.NeedOf(device.index);
  return need != nullptr && device.room.Fits(need->extra_bytes);
}

std::vector<std::string> Engine::Impl::LostDevices() const {
  if (!any_lost_.load()) return {};
  std::vector<std::string> lost(devices_.size());
  std::scoped_lock lock(mutex_);
  for (const std::unique_ptr<DeviceState>& device : devices_) lost[device->index] = device->lost;
  return lost;
}

absl::Status Engine::Impl::CheckTime(const JobRequest& request) const {
  if (!request.time_limit) return absl::OkStatus();
  const std::optional<WallTime> end = options_.allocation_end ? options_.allocation_end() : std::nullopt;
  return Binder::CheckTimeLimit(request, end, options_.end_margin, clock_.WallNow());
}

std::shared_ptr<Job> Engine::Impl::FindRequest(const std::string& request_key) {
  if (request_key.empty()) return nullptr;
  std::scoped_lock lock(mutex_);
  return table_.FindRequest(request_key);
}

absl::StatusOr<JobId> Engine::Impl::KnownRequest(const std::shared_ptr<Job>& job, const JobRequest& request,
                                                 std::shared_ptr<JobObserver> observer, std::uint64_t tag) {
  if (job->payload_hash != request.payload_hash) {
    return Refused(
        absl::StatusCode::kAlreadyExists,
        {{"request_id", absl::StrCat("request_id \"", request.request_id, "\" belongs to job ", job->id.value(),
                                     ", which was used with another payload; give every new job its own id")}});
  }
  if (observer != nullptr) {
    {
      std::scoped_lock lock(mutex_);
      const bool owner = request.attached && job->attached && !IsEnd(job->state);
      if (owner) job->grace_end.reset();  // its client is back
      observers_.Add(*job, std::move(observer), tag, 0, owner);
    }
    Tell(*job);
  }
  return job->id;
}

absl::StatusOr<JobId> Engine::Impl::Submit(const Principal& who, JobRequest request,
                                           std::shared_ptr<JobObserver> observer, std::uint64_t tag) {
  if (request.request_id.size() > kMaxRequestIdBytes) {
    return InvalidField("request_id", absl::StrCat("a request_id has at most ", kMaxRequestIdBytes,
                                                   " bytes; this one has ", request.request_id.size()));
  }
  std::string request_key = JobTable::RequestKey(who.token, request.request_id);
  // A retry must get its job even where a new one would be refused.
  if (const std::shared_ptr<Job> known = FindRequest(request_key)) {
    return KnownRequest(known, request, std::move(observer), tag);
  }
  if (draining_.load()) {
    std::scoped_lock lock(mutex_);
    return DrainingError();
  }
  absl::StatusOr<BoundJob> bound = binder_.Bind(who, request, Binder::Data::kRequired, LostDevices());
  if (!bound.ok()) return bound.status();
  if (absl::Status status = CheckTime(request); !status.ok()) return status;
  if (absl::Status status = numbers_.Await(); !status.ok()) return status;

  auto job = std::make_shared<Job>();
  job->owner = who;
  job->bound = *std::move(bound);
  job->request_key = std::move(request_key);
  job->payload_hash = request.payload_hash;
  job->label = std::move(request.label);
  job->time_limit = request.time_limit;
  job->attached = request.attached;
  job->on_disconnect = request.on_disconnect;
  job->priority = request.priority;
  for (const DeviceNeed& need : job->bound.needs) job->devices |= std::uint64_t{1} << need.device;
  job->tiny = IsTiny(*job);
  job->keeps_request = !job->request_key.empty() && !request.forget_when_delivered;
  job->promised = job->keeps_request || !request.attached || request.on_disconnect == DisconnectPolicy::kDetach;
  if (job->promised) job->promised_bytes = MostInlineBytes(job->bound);

  const bool may_run_here = request.may_run_here && !IsRunningHere() && job->tiny;
  std::shared_ptr<Job> known;
  LaneState* borrowed = nullptr;
  Aftermath after;
  {
    std::scoped_lock lock(mutex_);
    // Again: another thread may have been faster, the daemon may have begun to drain, a device may have gone.
    known = table_.FindRequest(job->request_key);
    if (known == nullptr) {
      if (absl::Status status = Enqueue(*job, after); !status.ok()) return status;
      if (observer != nullptr) {
        observers_.Add(*job, std::move(observer), tag, 0, request.attached);
        Expect(*job);
      }
      if (may_run_here) borrowed = BorrowLane(*job);
      if (borrowed == nullptr) CallLanes(job->devices, after);
    }
  }
  if (known != nullptr) return KnownRequest(known, request, std::move(observer), tag);
  JobId id = job->id;
  Perform(after);
  if (borrowed != nullptr) RunHere(*borrowed, *job);
  return id;
}

// The last refusals, and then the job is the engine's.
absl::Status Engine::Impl::Enqueue(Job& job, Aftermath& after) {
  if (draining_.load()) return DrainingError();
  if (queue_.full()) {
    return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", queue_.size(),
                                                     " jobs wait, the limit "
                                                     "queue is ",
                                                     queue_.capacity(), "; try again later"));
  }
  if (absl::Status status = table_.CheckRoom(job); !status.ok()) return status;
  std::string lost;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    if (device->lost.empty() || (job.devices >> device->index & 1) == 0) continue;
    job.devices &= ~(std::uint64_t{1} << device->index);
    lost = absl::StrCat("device ", device->device->info().id, " is lost: ", device->lost);
  }
  if (job.devices == 0) return Refused(absl::StatusCode::kFailedPrecondition, {{"device", lost}});
  const SteadyTime now = clock_.Now();
  absl::StatusOr<std::shared_ptr<Session>> session = Touch(job.owner.session, 0, SessionUse::kHolds, after);
  if (!session.ok()) return session.status();

  const std::uint64_t number = numbers_.Take();
  if (number == 0) return absl::UnavailableError("more jobs come at once than there are ids for; try again");

  job.session = *std::move(session);
  ++job.session->active_jobs;
  job.share = job.session->share;
  job.submit_time = now;
  job.events[0] = {.sequence = 1, .state = JobState::kPending, .time = clock_.WallNow(), .device = {}};
  job.event_count = 1;
  table_.Insert(job.shared_from_this(), number);
  queue_.Push(job);
  return absl::OkStatus();
}

absl::Status Engine::Impl::DrainingError() const {
  return absl::UnavailableError(absl::StrCat("the daemon is draining and takes no new jobs: ", drain_reason_));
}

absl::Status Engine::Impl::NoJob(const JobId& id) const {
  const std::string gone = table_.WhyGone(id.value());
  return absl::NotFoundError(absl::StrCat("no job ", id.value(), gone.empty() ? "" : ": ", gone));
}

std::uint64_t Engine::Impl::MostInlineBytes(const BoundJob& job) const {
  std::uint64_t bytes = 0;
  bool at_most = false;
  for (std::size_t i = 0; i < job.outputs.size(); ++i) {
    if (job.outputs[i].keep) continue;
    bytes += job.outputs[i].bytes;
    at_most |= job.call.spec->output_rules()[i].shape.at_most;
  }
  if (bytes <= options_.inline_bytes) return bytes;
  return at_most ? options_.inline_bytes : 0;  // else they become arrays
}

absl::StatusOr<JobSnapshot> Engine::Impl::Cancel(const Principal& who, const JobId& id) {
  Aftermath after;
  absl::StatusOr<JobSnapshot> snapshot;
  {
    std::scoped_lock lock(mutex_);
    const std::shared_ptr<Job> job = table_.Find(who, id.value());
    if (job == nullptr) return NoJob(id);
    RequestCancel(*job, "was cancelled on request", after);
    snapshot = SnapshotOf(*job);
  }
  Perform(after);
  return snapshot;
}

absl::StatusOr<JobSnapshot> Engine::Impl::Get(const Principal& who, const JobId& id) const {
  std::scoped_lock lock(mutex_);
  const std::shared_ptr<Job> job = table_.Find(who, id.value());
  if (job == nullptr) return NoJob(id);
  JobSnapshot snapshot = SnapshotOf(*job);
  if (job->queued) snapshot.queue_position = static_cast<int>(queue_.Ahead(*job));
  return snapshot;
}

absl::StatusOr<JobSnapshot> Engine::Impl::Fetch(const Principal& who, const JobId& id) {
  std::scoped_lock lock(mutex_);
  const std::shared_ptr<Job> job = table_.Find(who, id.value());
  if (job == nullptr) return NoJob(id);
  if (job->end != nullptr) table_.Fetched(*job);
  return SnapshotOf(*job);
}

std::vector<JobSnapshot> Engine::Impl::List(const Principal& who, const JobFilter& filter) const {
  std::vector<JobSnapshot> found;
  std::vector<JobQueue::Position> positions;
  std::uint64_t before = 0;
  if (!filter.before_id.empty()) {
    before = JobTable::NumberOf(filter.before_id);
    if (before == 0) return found;
  }
  {
    std::scoped_lock lock(mutex_);
    bool any_queued = false;
    table_.NewestFirst(before, [&](const Job& job) {
      if (found.size() >= filter.limit) return false;
      if (who.scope != Scope::kAdmin && job.owner.token != who.token) return true;
      if (filter.session && job.owner.session != *filter.session) return true;
      if (filter.active_only && IsEnd(job.state)) return true;
      if (!Passes(job, filter)) return true;
      any_queued |= job.queued;
      found.push_back(SnapshotOf(job));
      return true;
    });
    if (any_queued) positions = queue_.Positions();
  }
  std::sort(positions.begin(), positions.end());
  for (JobSnapshot& snapshot : found) {
    if (snapshot.state != JobState::kPending) continue;
    const JobQueue::Position own{snapshot.priority, JobTable::NumberOf(snapshot.id.value())};
    snapshot.queue_position =
        static_cast<int>(std::lower_bound(positions.begin(), positions.end(), own) - positions.begin());
  }
  return found;
}

}  // namespace hotplate::core
