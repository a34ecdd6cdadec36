// The answers of Jobs about jobs; nothing here changes them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "server/core/jobs/jobs.h"
#include "server/core/run/outside_work.h"

namespace hotplate::core {
namespace {

// The most jobs that are told of those that one waits for.
constexpr std::size_t kMostWaitsFor = 16;

// Outputs that were kept as arrays under a name or a lease do not go with the job.
bool IsUnfetched(const Job& job) {
  const JobRecord& record = job.record();
  if (record.attached || record.fetched || record.end == nullptr || record.end->outputs_dropped) return false;
  const std::vector<JobOutputValue>& outputs = record.end->outputs;
  // An output without elements, as of svd's values alone, is nobody's loss.
  return std::any_of(outputs.begin(), outputs.end(), [&](const JobOutputValue& one) {
    if (one.for_jobs) return false;  // nobody can fetch it
    const std::vector<ArrayId>& owned = record.owned_arrays;
    return one.stored || (one.data != nullptr && one.data->size() > 0) ||
           std::find(owned.begin(), owned.end(), one.array) != owned.end();
  });
}

bool Passes(const Job& job, const JobFilter& filter) {
  const JobRecord& record = job.record();
  const std::vector<JobState>& states = filter.states;
  if (filter.session && job.owner.session != *filter.session) return false;
  if (filter.active_only && IsEnd(record.state)) return false;
  if (!states.empty() && std::find(states.begin(), states.end(), record.state) == states.end()) return false;
  if (!filter.kernel.empty() && job.spec().name() != filter.kernel) return false;
  if (!filter.label.empty() && job.label != filter.label) return false;
  if (filter.unfetched_only && !IsUnfetched(job)) return false;
  if (!filter.graph.empty() && job.graph != filter.graph) return false;
  return !filter.submitted_since || job.change(0).time >= *filter.submitted_since;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Job>> Jobs::Find(const Principal& who, const JobId& id) const {
  MutexLock lock(mutex_);
  std::shared_ptr<Job> job = table_.Find(who, id.value());
  if (job != nullptr && !job->hidden) return job;
  const std::string gone = table_.WhyGone(id.value());
  return absl::NotFoundError(absl::StrCat("no job ", id.value(), gone.empty() ? "" : ": ", gone));
}

JobSnapshot Jobs::SnapshotOf(const Job& job) const {
  MutexLock lock(mutex_);
  return SnapshotLocked(job);
}

JobSnapshot Jobs::SnapshotLocked(const Job& job) const {
  const JobRecord& record = job.record();
  JobSnapshot snapshot;
  snapshot.id = job.id;
  snapshot.kernel = job.spec().name();
  snapshot.params = job.bound.call.params;
  for (const ParamSpec& param : job.spec().params()) snapshot.param_names.push_back(param.name);
  snapshot.label = job.label;
  snapshot.work = job.work;
  snapshot.sweep = job.sweep;
  snapshot.state = record.state;
  snapshot.owner = job.owner;
  snapshot.changes = job.earlier;
  snapshot.changes.insert(snapshot.changes.end(), record.changes.begin(), record.changes.begin() + record.change_count);
  snapshot.submit_time = snapshot.changes.front().time;
  if (record.change_count > 1) snapshot.device = record.changes[1].device;
  if (record.change_count > 1 && record.changes[1].state == JobState::kRunning) {
    snapshot.start_time = record.changes[1].time;
  }
  if (IsEnd(record.state)) snapshot.end_time = record.changes[record.change_count - 1].time;
  snapshot.progress = record.state == JobState::kCompleted ? 1 : job.control.progress();
  snapshot.priority = job.priority;
  if (const nanoseconds forecast(job.start_forecast.load()); forecast >= nanoseconds::zero()) {
    snapshot.start_forecast = forecast;
  }
  snapshot.detached = !record.attached;
  snapshot.durable = job.durable;
  snapshot.cancel_requested = record.cancel_requested;
  snapshot.end = record.end;
  snapshot.graph = job.graph;
  snapshot.node = job.node;
  snapshot.depends_on = job.depends_on;
  for (const JobId& id : job.depends_on) {
    if (IsEnd(record.state) || snapshot.waits_for.size() >= kMostWaitsFor) break;
    const std::shared_ptr<Job> other = table_.Find(job.owner, id.value());
    if (other != nullptr && !IsEnd(other->record().state)) snapshot.waits_for.push_back(id);
  }
  return snapshot;
}

Jobs::Making Jobs::MakingOf(const Job& job, const std::string& output) const {
  MutexLock lock(mutex_);
  Making making;
  making.end = job.record().end;
  // The outputs of other work are known when it has ended.
  if (making.end != nullptr || output.empty() || job.work != nullptr) return making;
  const KernelSpec& spec = job.bound.call.spec == nullptr ? job.spec() : *job.bound.call.spec;
  for (std::size_t i = 0; i < spec.outputs().size(); ++i) {
    if (spec.outputs()[i].name != output) continue;
    const bool known = job.bound.call.spec != nullptr && !spec.output_rules()[i].shape.at_most;
    if (known) making.signature = job.bound.call.outputs[i];
    if (known && job.bound.outputs[i].keep) making.device = job.bound.device;
    return making;
  }
  std::vector<std::string> names;
  for (const ArgumentSpec& one : spec.outputs()) names.push_back(one.name);
  making.other_names = absl::StrJoin(names, ", ");
  return making;
}

std::vector<JobSnapshot> Jobs::List(const Principal& who, const JobFilter& filter) const {
  std::vector<JobSnapshot> found;
  std::uint64_t before = 0;
  if (!filter.before_id.empty()) {
    before = JobTable::NumberOf(filter.before_id);
    if (before == 0) return found;
  }
  MutexLock lock(mutex_);
  table_.NewestFirst(before, [&](const Job& job) {
    mutex_.AssertHeld();
    if (found.size() >= filter.limit) return false;
    if (job.hidden) return true;
    if (who.scope != Scope::kAdmin && job.owner.token != who.token) return true;
    if (Passes(job, filter)) found.push_back(SnapshotLocked(job));
    return true;
  });
  return found;
}

std::vector<std::shared_ptr<Job>> Jobs::Active() const {
  std::vector<std::shared_ptr<Job>> active;
  MutexLock lock(mutex_);
  for (Job* const job : active_) active.push_back(job->shared_from_this());
  std::sort(active.begin(), active.end(), [](const auto& a, const auto& b) {
    return std::pair(a->record().state, a->sequence) < std::pair(b->record().state, b->sequence);
  });
  return active;
}

std::uint64_t Jobs::ended_ever() const {
  MutexLock lock(mutex_);
  return table_.ended_ever();
}

Jobs::Standing Jobs::StandingOf(const Job& job) const {
  MutexLock lock(mutex_);
  const JobRecord& record = job.record();
  return {record.time_limit_reached, record.cancel_requested, record.attached, !job.subscriptions.empty(),
          record.cancel_reason};
}

void Jobs::LogEnd(const Job& job) const {
  if (!log_.Wants(LogLevel::kInfo)) return;
  MutexLock lock(mutex_);
  const JobRecord& record = job.record();
  const absl::Status& error = record.end->error;
  const LogLevel level = error.ok() || record.state == JobState::kCancelled ? LogLevel::kDebug : LogLevel::kInfo;
  if (!log_.Wants(level)) return;
  const std::string& device = record.changes[record.change_count - 1].device;
  const std::string text = absl::StrCat(
      "job ", job.id.value(), " ", job.spec().name(), " ", ToAbsl(Name(record.state)), device.empty() ? "" : " on ",
      device, " after ", DurationText(record.end_time - job.submit_time), error.ok() ? "" : ": ", error.message());
  lock.Unlock();
  log_(level, text);
}

bool Jobs::HasWork() const {
  MutexLock lock(mutex_);
  return !active_.empty() || !untold_.empty();
}

}  // namespace hotplate::core
