// Large jobs of divisible kernels use the devices that nobody else wants. The lane that has such a job asks idle lanes
// of other devices of the same model, one of each that has nothing to do, to compute a part each while it computes its
// own. Every part reads its piece of the inputs from host memory and writes its piece of the outputs there, so that
// the parts are joined as soon as all are over: each device copies over a link of its own, and nothing is copied
// between devices. A part that its device could not do is done again by the lane that has the job, so that no job fails
// for having been divided.
//
// Not divided are jobs that named a device or asked for the same bits every time, and those whose arrays are held by
// the daemon: a device that has them, or is to keep them, does with them in its own memory what copies would hold up.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "server/core/engine_impl.h"
#include "server/core/task_parts.h"

namespace hotplate::core {
namespace {

// Devices on which the same instructions give the same bits, and take as long.
bool SameModel(const DeviceInfo& a, const DeviceInfo& b) {
  return a.backend == b.backend && a.name == b.name && a.mode == b.mode && a.host_memory == b.host_memory;
}

// The longest of all parts, which ran at the same time.
void Join(std::optional<std::uint64_t>& longest, const std::optional<std::uint64_t>& other) {
  if (other) longest = std::max(longest.value_or(0), *other);
}

// Of a part that was done after another.
void Add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& other) {
  if (other) sum = sum.value_or(0) + *other;
}

void Join(Report& whole, const Report& part) {
  Join(whole.host_to_device_ns, part.host_to_device_ns);
  Join(whole.compile_ns, part.compile_ns);
  Join(whole.kernel_ns, part.kernel_ns);
  Join(whole.device_to_host_ns, part.device_to_host_ns);
  if (part.compile_cache_hit)
    whole.compile_cache_hit = whole.compile_cache_hit.value_or(true) && *part.compile_cache_hit;
  if (whole.outcome.ok()) whole.outcome = part.outcome;
}

}  // namespace

bool Engine::Impl::MayBeDivided(const Job& job, const Task& task) const {
  return job.divisible && devices_.size() > 1 && ArrayBytes(task) >= 2 * options_.part_bytes && !HasNamedArrays(task);
}

Report Engine::Impl::RunTask(LaneState& lane, Job& job, const Task& task, std::vector<std::string>& part_devices) {
  if (!MayBeDivided(job, task)) return lane.lane->Run(task, job.control);
  std::vector<LaneState*> others;
  std::optional<TaskParts> parts;
  std::vector<PartRun> runs;  // [0] is this lane's own, and not used
  {
    std::scoped_lock lock(mutex_);
    others = LanesForParts(lane, task);
    if (!others.empty()) {
      parts.emplace(*job.bound.call.spec, task, others.size() + 1);
      others.resize(parts->count() - 1);
      runs.resize(parts->count());
      for (std::size_t i = 1; i < runs.size(); ++i) HandOver(runs[i], job, parts->part(i), *others[i - 1]);
    }
  }
  if (runs.size() < 2) return lane.lane->Run(task, job.control);
  for (LaneState* other : others) other->wake.notify_one();

  Report report = lane.lane->Run(parts->part(0), job.control);
  {
    std::unique_lock lock(mutex_);
    part_over_.wait(
        lock, [&] { return std::all_of(runs.begin() + 1, runs.end(), [](const auto& run) { return run.over; }); });
  }
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const Outcome& outcome = runs[i].report.outcome;
    // What this device may do better: the other one is lost, had no room, or could not.
    const bool of_the_device = outcome.code() == HOTPLATE_DEVICE_LOST || outcome.code() == HOTPLATE_OUT_OF_MEMORY ||
                               outcome.code() == HOTPLATE_FAILED;
    if (report.outcome.ok() && of_the_device) {
      const Report again = lane.lane->Run(parts->part(i), job.control);
      Add(report.host_to_device_ns, again.host_to_device_ns);
      Add(report.kernel_ns, again.kernel_ns);
      Add(report.device_to_host_ns, again.device_to_host_ns);
      report.outcome = again.outcome;
      continue;
    }
    Join(report, runs[i].report);
    if (outcome.ok()) part_devices.push_back(others[i - 1]->device->device->info().id);
  }
  return report;
}

std::vector<Engine::Impl::LaneState*> Engine::Impl::LanesForParts(const LaneState& own, const Task& task) const {
  std::vector<LaneState*> lanes;
  if (queue_.size() != 0 || stopping_) return lanes;                                       // those that wait go first
  const std::uint64_t bytes = ArrayBytes(task), largest = bytes / 2 + task.scratch_bytes;  // that a part may be
  const std::uint64_t most = bytes / std::max<std::uint64_t>(options_.part_bytes, 1);
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    if (lanes.size() + 1 >= most) break;
    if (device.get() == own.device || !device->lost.empty() || device->running != 0 || device->idle.empty()) continue;
    if (!SameModel(device->device->info(), own.device->device->info())) continue;
    if (device->room.free_bytes < largest) continue;
    lanes.push_back(device->idle.back());
  }
  return lanes;
}

void Engine::Impl::HandOver(PartRun& run, Job& job, const Task& task, LaneState& lane) {
  DeviceState& device = *lane.device;
  run.job = &job;
  run.task = &task;
  run.extra_bytes = ArrayBytes(task) + task.scratch_bytes;
  run.start_time = clock_.Now();
  Occupy(device, run.extra_bytes, run.start_time);
  device.idle.pop_back();
  lane.part = &run;
  lane.called.store(true, std::memory_order_release);
}

void Engine::Impl::RunPart(LaneState& lane) {
  PartRun& run = *lane.part;
  Report report = lane.lane->Run(*run.task, run.job->control);
  const bool lost = report.outcome.code() == HOTPLATE_DEVICE_LOST;
  const std::string why =
      lost ? absl::StrCat("a part of job ", run.job->id.value(), ": ", ToAbsl(report.outcome.message()))
           : std::string();
  Aftermath after;
  {
    std::scoped_lock lock(mutex_);
    lane.part = nullptr;
    Vacate(*lane.device, run.extra_bytes, run.start_time, clock_.Now());
    if (lost) LoseDevice(*lane.device, why, after);
    run.report = report;
    run.over = true;  // whoever waits for it may end it as soon as the mutex is free
    part_over_.notify_all();
  }
  Perform(after);
}

}  // namespace hotplate::core
