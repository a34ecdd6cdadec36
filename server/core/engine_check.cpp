// What clients ask before they submit: is a job acceptable, and after whom will a device have room for it?
#include <algorithm>
#include <utility>

#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// What it takes of the device's memory, and of that its outputs that are kept: they stay in the host's. Copies of
// arrays on other devices make room by themselves.
Occupant OccupantOf(const Job& job, unsigned device, const DeviceInfo& info) {
  Occupant occupant{.bytes = job.bound.NeedOf(device)->extra_bytes};
  for (const BoundOutput& output : job.bound.outputs) {
    if (output.keep && info.host_memory) occupant.kept_bytes += output.bytes;
  }
  return occupant;
}

}  // namespace

absl::StatusOr<CheckReport> Engine::Impl::Check(const Principal& who, JobRequest request) {
  // A repeated call gets its job, whatever would now be said of a new one. Whether it is the same is told by Submit,
  // which has all of it.
  if (FindRequest(JobTable::RequestKey(who.token, request.request_id)) != nullptr) return CheckReport();
  absl::StatusOr<BoundJob> job = binder_.Bind(who, request, Binder::Data::kSignaturesSuffice, LostDevices());
  if (!job.ok()) return job.status();
  if (absl::Status status = CheckTime(request); !status.ok()) return status;
  // What is said here of the room on devices is what the queue goes by as well.
  SampleDevices(clock_.Now(), /*record_busy=*/false);
  CheckReport report;
  report.cost = job->call.spec->CostOf(job->call);
  for (const DeviceNeed& need : job->needs) report.devices.push_back(FitOf(need, who, request.priority));
  for (std::size_t i = 0; i < job->inputs.size(); ++i) {
    if (job->inputs[i].buffer == nullptr) report.array_bytes_needed += ByteSize(job->call.inputs[i]).value_or(0);
  }
  for (const BoundOutput& output : job->outputs) report.array_bytes_needed += output.bytes;
  report.array_bytes_limit = arrays_.limits().total_bytes;
  report.array_bytes_free = report.array_bytes_limit - std::min(report.array_bytes_limit, arrays_.bytes_held());
  report.call = std::move(job->call);
  return report;
}

CheckReport::Fit Engine::Impl::FitOf(const DeviceNeed& need, const Principal& who, int priority) const {
  using When = CheckReport::Fit::When;
  const DeviceInfo& info = device_set_.devices[need.device]->info();
  CheckReport::Fit fit{.device = info.id, .bytes_needed = need.peak_bytes, .bytes_total = info.memory_bytes};
  std::scoped_lock lock(mutex_);
  const DeviceState& device = *devices_[need.device];
  fit.bytes_free = device.room.left();
  if (need.peak_bytes > info.memory_bytes) fit.when = When::kNever;
  if (fit.when == When::kNever || device.room.Fits(need.extra_bytes)) return fit;

  fit.when = When::kLater;
  const std::vector<Turn> turns = TurnsBefore(device, priority);
  std::vector<Occupant> running, waiting;
  for (const Turn& turn : turns) (turn.runs ? running : waiting).push_back(turn.occupant);
  const RoomForecast forecast = ForecastRoom(device.room, need.extra_bytes, running, waiting);
  if (forecast.after) {
    const Job& job = *turns[*forecast.after].job;
    const bool visible = who.scope == Scope::kAdmin || job.owner.token == who.token;
    fit.after = CheckReport::OtherJob{job.id, visible ? job.bound.call.spec->name() : std::string()};
  } else {
    fit.bytes_held = forecast.held_bytes;
    if (info.host_memory) fit.bytes_of_arrays = std::min(fit.bytes_held, arrays_.bytes_stored());
  }
  return fit;
}

std::vector<Engine::Impl::Turn> Engine::Impl::TurnsBefore(const DeviceState& device, int priority) const {
  const DeviceInfo& info = device.device->info();
  std::vector<const LaneState*> lanes;
  for (const std::unique_ptr<LaneState>& lane : device.lanes) {
    if (lane->JobHere() != nullptr) lanes.push_back(lane.get());
  }
  std::sort(lanes.begin(), lanes.end(), [](const LaneState* a, const LaneState* b) { return a->Since() < b->Since(); });
  std::vector<const Job*> queued;
  queue_.ForEach([&](const QueueEntry& entry) {
    const bool here = (entry.devices >> device.index & 1) != 0;
    if (here && entry.priority >= priority) queued.push_back(static_cast<const Job*>(&entry));
  });
  std::sort(queued.begin(), queued.end(), [](const Job* a, const Job* b) {
    return JobQueue::Position{a->priority, a->sequence} < JobQueue::Position{b->priority, b->sequence};
  });

  std::vector<Turn> turns;
  for (const LaneState* lane : lanes) {
    const Job& job = *lane->JobHere();
    const bool part = lane->part != nullptr;
    turns.push_back({&job, part ? Occupant{lane->part->extra_bytes} : OccupantOf(job, device.index, info), true});
  }
  for (const Job* job : queued) turns.push_back({job, OccupantOf(*job, device.index, info), false});
  return turns;
}

}  // namespace hotplate::core
