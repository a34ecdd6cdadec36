#include "server/core/jobs/jobs.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "server/core/jobs/make_job.h"
#include "server/core/run/outside_work.h"
#include "server/core/sweeps/sweep_run.h"

namespace hotplate::core {
namespace {

using Kind = JobEvent::Kind;

constexpr nanoseconds kProgressInterval = std::chrono::milliseconds(100);

}  // namespace

Jobs::Jobs(JobsOptions options, Sessions& sessions, ArrayStore& arrays, const Clock& clock, const LogSink& log)
    : options_(std::move(options)),
      sessions_(sessions),
      arrays_(arrays),
      clock_(clock),
      log_(log),
      numbers_(options_.first_numbers, options_.claim_numbers),
      table_(options_.retention),
      idle_since_(clock.Now()),
      observers_(mutex_, ended_) {}

bool Jobs::Record(Job& job, const JobEvent& event) {
  if (!Apply(job, event).ok()) return false;
  if (options_.log != nullptr) options_.log->Append(job, event);
  return true;
}

std::shared_ptr<Job> Jobs::FindRequest(const std::string& request_key) const {
  if (request_key.empty()) return nullptr;
  MutexLock lock(mutex_);
  return table_.FindRequest(request_key);
}

absl::StatusOr<std::shared_ptr<Job>> Jobs::Insert(std::shared_ptr<Job> job, std::shared_ptr<JobObserver> observer,
                                                  std::uint64_t tag) {
  JobEvent submitted = Event(Kind::kSubmitted);
  submitted.attached = job->submitted_attached;
  MutexLock lock(mutex_);
  // Another thread may have been faster.
  if (std::shared_ptr<Job> known = table_.FindRequest(job->request_key)) return known;
  if (draining_.load()) {
    return absl::UnavailableError(absl::StrCat("the daemon is draining and takes no new jobs: ", drain_reason_));
  }
  if (absl::Status status = CheckAllowanceLocked(job->owner); !status.ok()) return status;
  if (absl::Status status = table_.CheckRoom(*job, /*of_part=*/AllowanceOf(job->owner) != nullptr); !status.ok())
    return status;
  job->hidden = job->durable;
  const std::uint64_t number = numbers_.Take();
  if (number == 0) return absl::UnavailableError("more jobs come at once than there are ids for; try again");
  job->submit_time = submitted.at;
  table_.Insert(job, number);
  Record(*job, submitted);
  AddActive(*job);
  if (observer != nullptr) {
    observers_.Add(*job, std::move(observer), tag, 0, submitted.attached);
    Expect(*job);
  }
  return job;
}

std::string Jobs::Acknowledge(Job& job) {
  MutexLock lock(mutex_);
  job.hidden = false;
  return std::exchange(job.late_cancel, {});
}

bool Jobs::CancelLater(Job& job, const std::string& reason) {
  MutexLock lock(mutex_);
  if (!job.hidden) return false;
  job.late_cancel = reason;
  return true;
}

void Jobs::Withdraw(Job& job) {
  std::shared_ptr<Job> gone;  // goes after the lock
  {
    MutexLock lock(mutex_);
    gone = table_.Withdraw(job);
    RemoveActive(job);
    idle_since_ = clock_.Now();
    if (draining_.load()) ended_.NotifyAll();
  }
  sessions_.EndJob(*job.session, clock_.Now());
}

void Jobs::Restore(const std::shared_ptr<Job>& job, std::uint64_t number, const std::vector<JobEvent>& events) {
  MutexLock lock(mutex_);
  job->submit_time = events.front().at;
  table_.Restore(job, number);
  // They are written down already.
  for (const JobEvent& event : events) Apply(*job, event).IgnoreError();
  const JobRecord& record = job->record();
  if (record.end == nullptr) {
    AddActive(*job);
    return;
  }
  for (const JobOutputValue& output : record.end->outputs) {
    if (output.data != nullptr) job->retained_bytes += output.data->size();
  }
  if (job->work != nullptr) job->retained_bytes += job->work->kept_bytes();
  table_.Ended(job);
  if (record.fetched) table_.Fetched(*job);
}

bool Jobs::Load(Job& job, std::shared_ptr<const JobEnd> end, std::vector<ArrayId> owned_arrays) {
  JobEvent loaded = Event(Kind::kOutputsLoaded);
  loaded.end = std::move(end);
  loaded.owned_arrays = std::move(owned_arrays);
  MutexLock lock(mutex_);
  // It may have left the table meanwhile.
  return job.shelf != JobShelf::kNone && Record(job, loaded);
}

absl::StatusOr<JobId> Jobs::Rejoin(Job& job, const JobRequest& request, std::shared_ptr<JobObserver> observer,
                                   std::uint64_t tag) {
  {
    MutexLock lock(mutex_);
    if (job.hidden) {
      return absl::UnavailableError(
          absl::StrCat("request_id \"", request.request_id, "\" came before, and is being written down; try again"));
    }
  }
  if (job.payload_hash != request.payload_hash) {
    return Refused(
        absl::StatusCode::kAlreadyExists,
        {{"request_id", absl::StrCat("request_id \"", request.request_id, "\" belongs to job ", job.id.value(),
                                     ", which was used with another payload; give every new job its own id")}});
  }
  if (observer == nullptr) return job.id;
  {
    MutexLock lock(mutex_);
    const bool owner = request.attached && job.record().attached && !IsEnd(job.record().state);
    if (owner) Record(job, Event(Kind::kClientBack));
    observers_.Add(job, std::move(observer), tag, 0, owner);
  }
  Tell(job);
  return job.id;
}

void Jobs::Started(Job& job, const std::string& device, SteadyTime at) {
  JobEvent started{.kind = Kind::kStarted, .time = clock_.WallNow(), .at = at, .device = device};
  if (job.waits_for_start && options_.log != nullptr) {
    options_.log->WriteStart(job, started, SequenceOfNext(job));
  }
  {
    MutexLock lock(mutex_);
    Record(job, started);
    Expect(job);
  }
  if (job.task_of != nullptr) job.task_of->Started(device, at);
}

bool Jobs::RequestCancel(Job& job, std::string reason) {
  JobEvent request = Event(Kind::kCancelRequested);
  request.reason = std::move(reason);
  MutexLock lock(mutex_);
  return Record(job, request);
}

void Jobs::End(Job& job, JobEnd end, std::vector<ArrayId> owned_arrays) {
  // Its sweep keeps what is to be kept of it.
  if (const std::shared_ptr<SweepRun> sweep = job.task_of) return sweep->Ended(job, std::move(end));
  JobEvent event = Event(EndingIn(end.state));
  event.end = std::make_shared<const JobEnd>(std::move(end));
  event.owned_arrays = std::move(owned_arrays);
  if (!job.durable || options_.log == nullptr) return EndNow(job, std::move(event));
  job.ending.store(true);
  options_.log->WriteEnd(job.shared_from_this(), event, SequenceOfNext(job),
                         [this, kept = job.shared_from_this(), event] { EndNow(*kept, event); });
}

void Jobs::Bind(Job& job, BoundJob bound) {
  MutexLock lock(mutex_);
  SetBound(job, std::move(bound));
}

std::uint64_t Jobs::SequenceOfNext(const Job& job) const {
  MutexLock lock(mutex_);
  return job.change_count() + 1;
}

void Jobs::EndNow(Job& job, JobEvent event) {
  const std::shared_ptr<Job> kept = job.shared_from_this();
  BoundJob bound;  // buffers are freed and names given back without the lock
  std::vector<std::shared_ptr<Job>> evicted;
  {
    MutexLock lock(mutex_);
    if (!Record(job, event)) return;
    for (const JobOutputValue& output : event.end->outputs) {
      if (output.data != nullptr) job.retained_bytes += output.data->size();
    }
    if (job.work != nullptr) job.retained_bytes += job.work->kept_bytes();
    bound = std::move(job.bound);
    job.bound.call.params = std::move(bound.call.params);
    table_.Ended(kept);
    while (std::shared_ptr<Job> old = table_.Evict(event.at)) evicted.push_back(std::move(old));
    RemoveActive(job);
    idle_since_ = event.at;
    if (draining_.load()) ended_.NotifyAll();
  }
  if (job.session != nullptr) sessions_.EndJob(*job.session, event.at);  // none: it could not come back
  // Whoever hears of an end may at once ask for the memory and the names that the job had.
  bound = BoundJob();
  if (follow_) follow_(job);
  Tell(job);
  FreeOwned(evicted);
  LogEnd(job);
}

absl::Status Jobs::Watch(const Principal& who, const JobId& id, std::uint64_t from_sequence,
                         std::shared_ptr<JobObserver> observer, std::uint64_t tag) {
  absl::StatusOr<std::shared_ptr<Job>> job = Find(who, id);
  if (!job.ok()) return job.status();
  {
    MutexLock lock(mutex_);
    const JobRecord& record = (*job)->record();
    // The end is told to everybody, or nobody would know that nothing more comes.
    const unsigned newest = IsEnd(record.state)
                                ? (*job)->change_count() - 1
                                : static_cast<unsigned>((*job)->earlier.size()) + JobRecord::kMaxChanges - 1;
    const std::uint64_t next = from_sequence == 0 ? 0 : from_sequence - 1;
    observers_.Add(**job, std::move(observer), tag, static_cast<unsigned>(std::min<std::uint64_t>(next, newest)),
                   /*owner=*/false);
  }
  Tell(**job);
  return absl::OkStatus();
}

void Jobs::Subscribe(std::shared_ptr<JobObserver> observer) {
  MutexLock lock(mutex_);
  observers_.Stay(std::move(observer));
}

std::vector<std::shared_ptr<Job>> Jobs::Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy) {
  std::vector<std::shared_ptr<Job>> to_cancel;
  std::shared_ptr<Subscriber> subscriber;  // goes after the lock
  MutexLock lock(mutex_);
  subscriber = observers_.Close(observer, [&](Job& job, bool owner) {
    mutex_.AssertHeld();
    if (!owner || !job.record().attached || IsEnd(job.record().state)) return;
    OnDisconnect own = policy;
    if (job.on_disconnect == DisconnectPolicy::kDetach) own = OnDisconnect::kDetach;
    if (job.on_disconnect == DisconnectPolicy::kCancel) own = OnDisconnect::kCancelNow;
    switch (own) {
      case OnDisconnect::kDetach:
        Record(job, Event(Kind::kDetached));
        break;
      case OnDisconnect::kCancelNow:
        to_cancel.push_back(job.shared_from_this());
        break;
      case OnDisconnect::kCancelAfterGrace: {
        JobEvent lost = Event(Kind::kClientLost);
        lost.grace_end = lost.at + options_.disconnect_grace;
        Record(job, lost);
        in_grace_.push_back(job.shared_from_this());
        break;
      }
    }
  });
  if (subscriber != nullptr) observers_.WaitUntilQuiet(*subscriber);
  return to_cancel;
}

JobSnapshot Jobs::Fetch(Job& job) {
  MutexLock lock(mutex_);
  if (Record(job, Event(Kind::kFetched))) table_.Fetched(job);
  return SnapshotLocked(job);
}

void Jobs::Expect(Job& job) {
  if (job.untold || job.subscriptions.empty()) return;
  job.untold = true;
  untold_.push_back(job.shared_from_this());
}

void Jobs::TellLate() {
  std::vector<std::shared_ptr<Job>> untold;
  std::vector<Job*> told;
  {
    MutexLock lock(mutex_);
    std::swap(untold, untold_);
    for (const std::shared_ptr<Job>& job : untold) {
      job->untold = false;
      if (!job->subscriptions.empty()) told.push_back(job.get());  // of tiny jobs, observers have mostly heard all
    }
  }
  for (Job* const job : told) Tell(*job);
}

void Jobs::Look(Job& job) {
  JobProgress progress;
  if (job.sweep != nullptr) progress.tasks = job.sweep->counts();
  {
    MutexLock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const JobRecord& record = job.record();
    if (record.state != JobState::kRunning) return;
    if (job.time_limit && !record.time_limit_reached && !record.cancel_requested &&
        now - record.start_time >= *job.time_limit) {
      Record(job, Event(Kind::kTimeLimitReached));
      job.control.RequestCancel();
    }
    progress.fraction = job.control.progress();
    if (progress.fraction == job.told_progress || job.subscriptions.empty() ||
        now - job.told_progress_time < kProgressInterval) {
      return;
    }
    job.told_progress = progress.fraction;
    job.told_progress_time = now;
  }
  if (observers_.TellProgress(job, progress)) ReleaseOutputs(job);
}

std::vector<std::shared_ptr<Job>> Jobs::GraceOver() {
  std::vector<std::shared_ptr<Job>> over;
  MutexLock lock(mutex_);
  const SteadyTime now = clock_.Now();
  std::erase_if(in_grace_, [&](const std::shared_ptr<Job>& job) {
    const JobRecord& record = job->record();
    if (IsEnd(record.state) || !record.grace_end) return true;
    if (now < *record.grace_end) return false;
    over.push_back(job);
    return true;
  });
  return over;
}

void Jobs::EvictOld() {
  std::vector<std::shared_ptr<Job>> evicted;
  {
    MutexLock lock(mutex_);
    const SteadyTime now = clock_.Now();
    while (std::shared_ptr<Job> old = table_.Evict(now)) evicted.push_back(std::move(old));
  }
  FreeOwned(evicted);
}

void Jobs::FreeOwned(const std::vector<std::shared_ptr<Job>>& evicted) {
  for (const std::shared_ptr<Job>& job : evicted) {
    // It may have been freed by its user already.
    for (const ArrayId& id : job->record().owned_arrays) arrays_.Free(job->owner, id.value()).IgnoreError();
  }
}

void Jobs::Tell(Job& job) {
  if (observers_.Tell(job)) ReleaseOutputs(job);
}

void Jobs::ReleaseOutputs(Job& job) {
  if (!job.request_key.empty()) return;  // whoever gave a request id may come back for the result
  std::shared_ptr<const JobEnd> old;     // goes after the lock
  {
    MutexLock lock(mutex_);
    if (!job.record().attached || job.retained_bytes == 0) return;
    old = job.record().end;
  }
  auto stripped = std::make_shared<JobEnd>(*old);
  for (JobOutputValue& output : stripped->outputs) {
    if (output.data == nullptr) continue;
    output.data = nullptr;
    stripped->outputs_dropped = true;
  }
  JobEvent released = Event(Kind::kOutputsReleased);
  released.end = std::move(stripped);
  MutexLock lock(mutex_);
  if (Record(job, released)) {
    // Its printed output can be read while the job is listed.
    table_.ResultsDropped(job, job.work != nullptr ? job.work->kept_bytes() : 0);
  }
}

}  // namespace hotplate::core
