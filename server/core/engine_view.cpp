// The engine as it is seen: jobs, why they wait, devices.
#include "server/core/engine.h"

namespace hotplate::core {

std::shared_ptr<const Allowance> Engine::AllowanceOf(const std::string& token) const {
  return options_.allowances == nullptr ? nullptr : options_.allowances->Of(token);
}

absl::Status Engine::CheckDevice(const Principal& who, const std::string& id) const {
  if (id.empty()) return absl::OkStatus();
  for (const std::unique_ptr<Device>& device : devices()) {
    if (device->info().id == id) return CheckMayUse(devices(), who.token, AllowanceOf(who.token).get(), id);
  }
  return NoSuchDevice(devices(), id);
}

absl::StatusOr<JobSnapshot> Engine::Get(const Principal& who, const JobId& id) const {
  const absl::StatusOr<std::shared_ptr<Job>> job = jobs_.Find(who, id);
  if (!job.ok()) return job.status();
  JobSnapshot snapshot = jobs_.SnapshotOf(**job);
  if (snapshot.state == JobState::kPending) snapshot.queue_position = static_cast<int>(scheduler_.Ahead(**job));
  return snapshot;
}

absl::StatusOr<WhyReport> Engine::Why(const Principal& who, const JobId& id) const {
  const absl::StatusOr<std::shared_ptr<Job>> job = jobs_.Find(who, id);
  if (!job.ok()) return job.status();
  WhyReport report = whys_.Of(who, **job);
  report.job.queue_position = static_cast<int>(report.ahead.all() + report.ahead_in_turn);
  return report;
}

std::vector<JobSnapshot> Engine::List(const Principal& who, const JobFilter& filter) const {
  std::vector<JobSnapshot> found = jobs_.List(who, filter);
  for (JobSnapshot& snapshot : found) {
    if (snapshot.state != JobState::kPending) continue;
    const absl::StatusOr<std::shared_ptr<Job>> job = jobs_.Find(who, snapshot.id);
    if (job.ok()) snapshot.queue_position = static_cast<int>(scheduler_.Ahead(**job));
  }
  return found;
}

nanoseconds Engine::Idle() const {
  const std::optional<SteadyTime> since = jobs_.IdleSince();
  if (!since || activities_.GoOn()) return nanoseconds::zero();
  return std::max(clock_.Now() - std::max(*since, activities_.last_use()), nanoseconds::zero());
}

EngineStatus Engine::Status() const {
  EngineStatus status;
  status.pending = static_cast<std::uint32_t>(scheduler_.waiting() + held_.size() + admission_.left());
  status.running = scheduler_.running();
  status.ended = jobs_.ended_ever();
  status.ran_in_submit = scheduler_.ran_borrowed();
  status.draining = jobs_.draining();
  status.idle = Idle();
  status.devices = scheduler_.devices();
  return status;
}

DeviceMetrics Engine::SampleDevice(std::size_t index) {
  DeviceMetrics metrics = devices_.Sample(index);
  if (!metrics.lost.empty()) lanes_->Lose(index, metrics.lost);
  return metrics;
}

}  // namespace hotplate::core
