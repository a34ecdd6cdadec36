// What happens to a job, with the mutex held; what follows from it is left in the aftermath.
#include <cassert>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "server/core/engine_impl.h"

namespace hotplate::core {

void Engine::Impl::AddEvent(Job& job, JobTransition transition, const std::string& device) {
  const absl::StatusOr<JobState> next = Apply(job.state, transition);
  assert(next.ok() && job.event_count < Job::kMaxEvents);
  job.state = *next;
  job.events[job.event_count] = {
      .sequence = job.event_count + 1, .state = job.state, .time = clock_.WallNow(), .device = device};
  ++job.event_count;
}

void Engine::Impl::Expect(Job& job) {
  if (job.untold || job.subscriptions.empty()) return;
  job.untold = true;
  untold_.push_back(job.shared_from_this());
}

void Engine::Impl::End(Job& job, JobTransition transition, absl::Status error, std::vector<JobOutputValue> outputs,
                       std::optional<JobReceipt> receipt, Aftermath& after) {
  const std::string device = job.event_count > 1 ? job.events[1].device : std::string();
  AddEvent(job, transition, device);
  job.end_time = clock_.Now();
  for (const JobOutputValue& output : outputs) {
    if (output.data != nullptr) job.retained_bytes += output.data->size();
  }
  if (Logs(LogLevel::kDebug) || (!error.ok() && job.state != JobState::kCancelled && Logs(LogLevel::kInfo))) {
    Log(after, error.ok() || job.state == JobState::kCancelled ? LogLevel::kDebug : LogLevel::kInfo,
        absl::StrCat("job ", job.id.value(), " ", job.bound.call.spec->name(), " ", ToAbsl(Name(job.state)),
                     device.empty() ? "" : " on ", device, " after ", DurationText(job.end_time - job.submit_time),
                     error.ok() ? "" : ": ", error.message()));
  }
  auto end = std::make_shared<JobEnd>();
  end->state = job.state;
  end->error = std::move(error);
  end->outputs = std::move(outputs);
  end->receipt = std::move(receipt);
  job.end = std::move(end);

  --job.session->active_jobs;
  job.session->last_seen = job.end_time;
  BoundJob& bound = after.bound.emplace_back(std::move(job.bound));  // its spec is only pointed to, and stays
  job.bound.call.params = std::move(bound.call.params);
  after.tell.push_back(job.shared_from_this());
  table_.Ended(after.tell.back());
  while (std::shared_ptr<Job> old = table_.Evict(job.end_time)) after.evicted.push_back(std::move(old));
  if (running_ == 0 && queue_.size() == 0) idle_since_ = job.end_time;
  if (draining_.load()) quiet_.notify_all();
}

void Engine::Impl::RequestCancel(Job& job, const std::string& reason, Aftermath& after) {
  if (IsEnd(job.state) || job.cancel_requested) return;
  job.cancel_requested = true;
  job.cancel_reason = reason;
  if (job.state == JobState::kPending) {
    queue_.Remove(job);
    End(job, JobTransition::kCancel, absl::CancelledError(absl::StrCat("job ", job.id.value(), " ", reason)), {},
        std::nullopt, after);
  } else {
    job.control.RequestCancel();
  }
}

JobSnapshot Engine::Impl::SnapshotOf(const Job& job) const {
  JobSnapshot snapshot;
  snapshot.id = job.id;
  const KernelSpec& spec = *job.bound.call.spec;
  snapshot.kernel = spec.name();
  snapshot.params = job.bound.call.params;
  for (const ParamSpec& param : spec.params()) snapshot.param_names.push_back(param.name);
  snapshot.label = job.label;
  snapshot.state = job.state;
  snapshot.owner = job.owner;
  snapshot.events.assign(job.events.begin(), job.events.begin() + job.event_count);
  snapshot.submit_time = job.events[0].time;
  if (job.event_count > 1) snapshot.device = job.events[1].device;
  if (job.event_count > 1 && job.events[1].state == JobState::kRunning) snapshot.start_time = job.events[1].time;
  if (IsEnd(job.state)) snapshot.end_time = job.events[job.event_count - 1].time;
  // The counter is written by the lane at the same time; reading it does not change the job.
  snapshot.progress = job.state == JobState::kCompleted ? 1 : const_cast<TaskControl&>(job.control).progress();
  snapshot.priority = job.priority;
  snapshot.detached = !job.attached;
  snapshot.cancel_requested = job.cancel_requested;
  snapshot.end = job.end;
  return snapshot;
}

std::vector<Job*> Engine::Impl::ActiveJobs() const {
  std::vector<Job*> active;
  queue_.ForEach([&](QueueEntry& entry) { active.push_back(static_cast<Job*>(&entry)); });
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    for (const std::unique_ptr<LaneState>& lane : device->lanes) {
      if (lane->current != nullptr) active.push_back(lane->current);
    }
  }
  return active;
}

void Engine::Impl::CancelAttached(Job& job, OnDisconnect policy, Aftermath& after) {
  if (!job.attached || IsEnd(job.state)) return;
  if (job.on_disconnect == DisconnectPolicy::kDetach) policy = OnDisconnect::kDetach;
  if (job.on_disconnect == DisconnectPolicy::kCancel) policy = OnDisconnect::kCancelNow;
  switch (policy) {
    case OnDisconnect::kDetach:
      job.attached = false;
      break;
    case OnDisconnect::kCancelNow:
      RequestCancel(job, "was cancelled: its client went away", after);
      break;
    case OnDisconnect::kCancelAfterGrace:
      job.grace_end = clock_.Now() + options_.disconnect_grace;
      in_grace_.push_back(job.shared_from_this());
      break;
  }
}

void Engine::Impl::CallLane(DeviceState& device, Aftermath& after) {
  if (device.idle.empty()) return;
  LaneState* lane = device.idle.back();
  device.idle.pop_back();
  lane->called.store(true, std::memory_order_release);
  if (lane->asleep) after.wake.push_back(lane);
}

Engine::Impl::DeviceState* Engine::Impl::LeastBusy(std::uint64_t devices) const {
  DeviceState* best = nullptr;
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    if ((devices >> device->index & 1) == 0 || device->idle.empty()) continue;
    if (best == nullptr || device->running < best->running) best = device.get();
  }
  return best;
}

void Engine::Impl::CallLanes(std::uint64_t devices, Aftermath& after) {
  if (DeviceState* device = LeastBusy(devices)) CallLane(*device, after);
}

void Engine::Impl::Tell(Job& job) {
  if (observers_.Tell(job)) ReleaseInlineData(job);
}

void Engine::Impl::ReleaseInlineData(Job& job) {
  if (!job.request_key.empty()) return;  // whoever gave a request id may come back for the result
  std::shared_ptr<const JobEnd> old;
  {
    std::scoped_lock lock(mutex_);
    if (!job.attached || job.retained_bytes == 0) return;
    old = job.end;
  }
  auto stripped = std::make_shared<JobEnd>(*old);
  for (JobOutputValue& output : stripped->outputs) {
    if (output.data == nullptr) continue;
    output.data = nullptr;
    stripped->outputs_dropped = true;
  }
  std::scoped_lock lock(mutex_);
  table_.ResultsDropped(job);
  job.end = std::move(stripped);
}

}  // namespace hotplate::core
