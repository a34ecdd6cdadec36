// What clients ask before they submit: is a job acceptable, and after whom will a device have room for it?
#include <algorithm>
#include <utility>

#include "server/core/engine_impl.h"

namespace hotplate::core {
namespace {

// What it takes of the device's memory, and of that its outputs that are kept: they stay in the host's. Copies of
// arrays on other devices make room by themselves.
Occupant OccupantOf(const Job& job, unsigned device, bool host_memory) {
  Occupant occupant{.bytes = job.bound.NeedOf(device)->extra_bytes};
  for (const BoundOutput& output : job.bound.outputs) {
    if (output.keep && host_memory) occupant.kept_bytes += output.bytes;
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
  report.devices = FitsOf(job->needs, who, request.priority);
  report.refusal = std::move(job->refusal);
  for (std::size_t i = 0; i < job->inputs.size(); ++i) {
    if (job->inputs[i].buffer == nullptr) report.array_bytes_needed += ByteSize(job->call.inputs[i]).value_or(0);
  }
  for (const BoundOutput& output : job->outputs) report.array_bytes_needed += output.bytes;
  report.array_bytes_limit = arrays_.limits().total_bytes;
  std::uint64_t held = arrays_.bytes_held();
  {
    std::scoped_lock lock(mutex_);
    held -= std::min(held, AbandonedBytes(arrays_.SessionsWithArrays(), clock_.Now()));
  }
  report.array_bytes_free = report.array_bytes_limit - std::min(report.array_bytes_limit, held);
  report.call = std::move(job->call);
  return report;
}

std::vector<CheckReport::Fit> Engine::Impl::FitsOf(const std::vector<DeviceNeed>& needs, const Principal& who,
                                                   int priority) const {
  std::vector<CheckReport::Fit> fits;
  std::vector<Turns> turns(needs.size());
  const auto turn_of = [&](const Job& job, const Occupant& occupant, SteadyTime since = {}) {
    const bool visible = who.scope == Scope::kAdmin || job.owner.token == who.token;
    const KernelSpec* const kernel = visible ? job.bound.call.spec : nullptr;
    return Turn{job.id, kernel, occupant, since, {job.priority, job.sequence}};
  };
  std::uint64_t full = 0;  // the devices that it has to wait for
  std::unique_lock lock(mutex_);
  const std::uint64_t abandoned = AbandonedBytes(arrays_.SessionsWithArrays(), clock_.Now());
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const DeviceState& device = *devices_[needs[i].device];
    fits.push_back(FitNow(device, needs[i], abandoned));
    if (fits[i].when != CheckReport::Fit::When::kLater) continue;
    full |= std::uint64_t{1} << device.index;
    turns[i].room = device.room;
    turns[i].host_memory = device.device->info().host_memory;
    for (const std::unique_ptr<LaneState>& lane : device.lanes) {
      const Job* const job = lane->current;
      if (job == nullptr) continue;
      const Occupant occupant = OccupantOf(*job, device.index, turns[i].host_memory);
      turns[i].running.push_back(turn_of(*job, occupant, job->start_time));
    }
  }
  if (full == 0) return fits;
  queue_.ForEach([&](const QueueEntry& entry) {
    const std::uint64_t here = entry.priority >= priority ? entry.devices & full : 0;
    if (here == 0) return;
    const Job& job = static_cast<const Job&>(entry);
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const unsigned device = needs[i].device;
      if ((here >> device & 1) == 0) continue;
      turns[i].waiting.push_back(turn_of(job, OccupantOf(job, device, turns[i].host_memory)));
    }
  });
  lock.unlock();
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (fits[i].when == CheckReport::Fit::When::kLater) Forecast(needs[i].extra_bytes, std::move(turns[i]), fits[i]);
  }
  return fits;
}

CheckReport::Fit Engine::Impl::FitNow(const DeviceState& device, const DeviceNeed& need, std::uint64_t abandoned) {
  using When = CheckReport::Fit::When;
  const DeviceInfo& info = device.device->info();
  CheckReport::Fit fit{.device = info.id, .bytes_needed = need.peak_bytes, .bytes_total = info.memory_bytes};
  fit.bytes_free = device.room.left();
  if (info.host_memory) fit.bytes_free = std::min(fit.bytes_free + abandoned, info.memory_bytes);
  if (!device.room.Fits(need.extra_bytes) && need.extra_bytes > fit.bytes_free) fit.when = When::kLater;
  if (need.peak_bytes > info.memory_bytes) fit.when = When::kNever;
  return fit;
}

void Engine::Impl::Forecast(std::uint64_t bytes, Turns turns, CheckReport::Fit& fit) const {
  std::sort(turns.running.begin(), turns.running.end(), [](const Turn& a, const Turn& b) { return a.since < b.since; });
  std::sort(turns.waiting.begin(), turns.waiting.end(),
            [](const Turn& a, const Turn& b) { return a.position < b.position; });
  const auto occupants = [](const std::vector<Turn>& of) {
    std::vector<Occupant> all;
    for (const Turn& turn : of) all.push_back(turn.occupant);
    return all;
  };
  const RoomForecast forecast = ForecastRoom(turns.room, bytes, occupants(turns.running), occupants(turns.waiting));
  if (forecast.after) {
    const std::size_t at = *forecast.after, runs = turns.running.size();
    const Turn& last = at < runs ? turns.running[at] : turns.waiting[at - runs];
    fit.after = CheckReport::OtherJob{last.id, last.kernel != nullptr ? last.kernel->name() : std::string()};
  } else {
    fit.bytes_held = forecast.held_bytes;
    if (turns.host_memory) fit.bytes_of_arrays = std::min(fit.bytes_held, arrays_.bytes_stored());
  }
}

}  // namespace hotplate::core
