// Lanes: the threads that take jobs from the queue and run them.
#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/status.h"
#include "server/core/engine_impl.h"
#include "server/core/named_status.h"
#include "server/core/time_text.h"

namespace hotplate::core {
namespace {

std::optional<nanoseconds> Duration(std::optional<std::uint64_t> ns) {
  if (!ns) return std::nullopt;
  return nanoseconds(static_cast<nanoseconds::rep>(*ns));
}

std::optional<std::uint64_t> SeedOf(const BoundCall& call) {
  const std::vector<ParamSpec>& params = call.spec->params();
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::int64_t* value = std::get_if<std::int64_t>(&call.params[i]);
    if (value != nullptr && params[i].name == "seed") return static_cast<std::uint64_t>(*value);
  }
  return std::nullopt;
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

void Engine::Impl::OpenLanes() {
  assert(device_set_.devices.size() <= 64);
  for (const std::unique_ptr<Device>& device : device_set_.devices) {
    auto state = std::make_unique<DeviceState>();
    state->index = static_cast<unsigned>(devices_.size());
    state->device = device.get();
    state->room = {.total_bytes = device->info().memory_bytes, .free_bytes = device->FreeBytes()};
    for (int i = 0; i < std::max(1, device->info().lanes); ++i) {
      state->lanes.push_back(std::make_unique<LaneState>());
      state->lanes.back()->device = state.get();
    }
    state->lanes_opening = static_cast<unsigned>(state->lanes.size());
    devices_.push_back(std::move(state));
  }
  for (const std::unique_ptr<DeviceState>& device : devices_) {
    for (const std::unique_ptr<LaneState>& lane : device->lanes) {
      lane->thread = std::thread([this, &one = *lane] { RunLane(one); });
    }
  }
  std::unique_lock lock(mutex_);
  lanes_opened_.wait(lock, [&] {
    return std::all_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->lanes_opening == 0; });
  });
}

void Engine::Impl::RunLane(LaneState& state) {
  DeviceState& device = *state.device;
  absl::StatusOr<std::unique_ptr<Lane>> lane = device.device->OpenLane();
  Aftermath after;
  {
    std::scoped_lock lock(mutex_);
    --device.lanes_opening;
    if (lane.ok()) {
      ++device.lanes_open;
      state.lane = *std::move(lane);
      state.runner = std::make_unique<TaskRunner>(arrays_, clock_, device.device->info());
    } else {
      Log(after, LogLevel::kWarning,
          absl::StrCat("a lane of ", device.device->info().id, " did not open: ", lane.status().message()));
      if (device.lanes_opening == 0 && device.lanes_open == 0) {
        LoseDevice(device, absl::StrCat("none of its lanes opened: ", lane.status().message()), after);
      }
    }
    lanes_opened_.notify_all();
  }
  Perform(after);
  if (state.lane == nullptr) return;

  bool cold = false;
  while (const std::shared_ptr<Job> job = TakeJob(state, cold)) RunJob(state, *job, cold);
  state.runner.reset();
  state.lane.reset();
}

void Engine::Impl::RunJob(LaneState& lane, Job& job, bool cold) {
  const DeviceNeed need = *job.bound.NeedOf(lane.device->index);
  RunResult result = lane.runner->Run(job, spec_hashes_.at(job.bound.call.spec), need,
                                      [&](const Task& task) { return lane.lane->Run(task, job.control); });
  Finish(lane, job, need, cold, std::move(result));
}

std::shared_ptr<Job> Engine::Impl::TakeJob(LaneState& lane, bool& cold) {
  DeviceState& device = *lane.device;
  std::unique_lock lock(mutex_);
  while (true) {
    if (stopping_ || !device.lost.empty()) return nullptr;
    QueueEntry* entry = queue_.Pop(device.index, /*hold=*/device.running > 0,
                                   [&](const QueueEntry& one) { return Fits(device, static_cast<const Job&>(one)); });
    if (entry != nullptr) {
      Job& job = static_cast<Job&>(*entry);
      cold = Start(lane, job);
      lane.called.store(false, std::memory_order_relaxed);
      return job.shared_from_this();
    }
    lane.called.store(false, std::memory_order_relaxed);
    device.idle.push_back(&lane);
    if (options_.lane_spin > nanoseconds::zero()) {
      lock.unlock();
      const auto until = std::chrono::steady_clock::now() + options_.lane_spin;
      while (!lane.called.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < until) Pause();
      lock.lock();
    }
    lane.asleep = true;
    lane.wake.wait(lock, [&] { return lane.called.load(std::memory_order_relaxed); });
    lane.asleep = false;
  }
}

bool Engine::Impl::Start(LaneState& lane, Job& job) {
  DeviceState& device = *lane.device;
  AddEvent(job, JobTransition::kStart, device.device->info().id);
  job.start_time = clock_.Now();
  lane.current = &job;
  ++running_;
  if (device.running++ == 0) device.occupied_since = job.start_time;
  device.room.Take(job.bound.NeedOf(device.index)->extra_bytes);
  if (device.running > 1) {
    for (const std::unique_ptr<LaneState>& other : device.lanes) {
      if (other->current != nullptr) other->current->device_shared = true;
    }
  }
  Expect(job);
  return device.warm.try_emplace(job.bound.call.spec, false).second;
}

void Engine::Impl::Finish(LaneState& lane, Job& job, const DeviceNeed& need, bool cold, RunResult result) {
  DeviceState& device = *lane.device;
  const KernelSpec& spec = *job.bound.call.spec;
  JobReceipt receipt;
  const SteadyTime end_time = clock_.Now();
  receipt.seal_time = clock_.WallNow();
  receipt.queue = job.start_time - job.submit_time;
  receipt.total = end_time - job.submit_time;
  receipt.load = result.load;
  receipt.host_to_device = Duration(result.report.host_to_device_ns);
  receipt.compile = Duration(result.report.compile_ns);
  receipt.kernel = Duration(result.report.kernel_ns);
  receipt.device_to_host = Duration(result.report.device_to_host_ns);
  receipt.compile_cache_hit = result.report.compile_cache_hit;
  receipt.cold = cold;
  receipt.device = device.device->info().id;
  receipt.threads = result.report.threads;
  // Work that was broken off has no amount, and so no rate.
  if (result.kind == RunResult::Kind::kCompleted) receipt.cost = spec.CostOf(job.bound.call);
  receipt.peak_bytes = need.peak_bytes;
  receipt.precision = job.bound.call.precision;
  receipt.deterministic = job.bound.call.deterministic;
  receipt.seed = SeedOf(job.bound.call);
  receipt.conditions = ConditionsOf(device, result, job.start_time, end_time);

  Aftermath after;
  {
    std::scoped_lock lock(mutex_);
    lane.current = nullptr;
    --running_;
    if (--device.running == 0) device.occupied += end_time - device.occupied_since;
    device.room.GiveBack(need.extra_bytes);
    device.busy += end_time - job.start_time;
    queue_.Finished(job.share);
    receipt.device_shared = job.device_shared;

    using Kind = RunResult::Kind;
    absl::Status error = result.error;
    JobTransition transition = JobTransition::kFail;
    if (result.kind == Kind::kCompleted || result.kind == Kind::kCancelled) {
      if (job.time_limit_reached) {
        transition = JobTransition::kExpire;
        error = absl::DeadlineExceededError(
            absl::StrCat("job ", job.id.value(), " reached its time limit of ", DurationText(*job.time_limit)));
      } else if (job.cancel_requested) {
        transition = JobTransition::kCancel;
        error = absl::CancelledError(absl::StrCat("job ", job.id.value(), " ", job.cancel_reason));
      } else if (result.kind == Kind::kCancelled) {
        error = absl::InternalError(
            absl::StrCat(spec.name(), " says on ", receipt.device, " that it was cancelled, but nobody asked for it"));
      } else {
        error = PlaceOutputs(job, result.outputs);
        if (error.ok()) transition = JobTransition::kComplete;
      }
    }
    std::vector<JobOutputValue> outputs;
    if (transition == JobTransition::kComplete) {
      outputs = std::move(result.outputs);
      if (!lane.borrowed) device.warm[&spec] = true;  // only warm kernels run on borrowed lanes
    }
    End(job, transition, std::move(error), std::move(outputs), std::move(receipt), after);
    if (result.kind == Kind::kDeviceLost) {
      LoseDevice(device, absl::StrCat("job ", job.id.value(), ": ", result.error.message()), after);
    }
    const bool borrowed = std::exchange(lane.borrowed, false);
    if (borrowed) device.idle.push_back(&lane);
    // What ran here made room, perhaps for a job that another lane could take; this one looks for itself, unless its
    // thread slept through the job.
    if (queue_.size() > (borrowed ? 0 : 1) || (borrowed && !device.lost.empty())) CallLane(device, after);
  }
  result.outputs.clear();  // of a job that did not complete; before anybody hears of its end
  Perform(after);
}

// Makes arrays of the outputs that shall be or are too large to come inline.
absl::Status Engine::Impl::PlaceOutputs(Job& job, std::vector<JobOutputValue>& outputs) {
  std::uint64_t inline_bytes = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!job.bound.outputs[i].keep && outputs[i].data != nullptr) inline_bytes += outputs[i].data->size();
  }
  const bool all_inline = inline_bytes <= options_.inline_bytes;
  std::vector<ArrayId> made;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    BoundOutput& wanted = job.bound.outputs[i];
    if (outputs[i].data == nullptr) continue;  // it is in a file
    if (!wanted.keep && all_inline) continue;
    // What belongs to no session goes with the job: nobody else would free it.
    const bool goes_with_job = !wanted.lease && (job.session->ended || (!wanted.keep && !job.attached));
    Principal owner = job.owner;
    if (goes_with_job) owner.session = SessionId();
    absl::StatusOr<ArraySnapshot> array =
        arrays_.Adopt(owner, outputs[i].signature, std::move(wanted.name), wanted.lease, std::move(outputs[i].data));
    if (!array.ok()) {
      for (const ArrayId& id : made) arrays_.Free(job.owner, id.value()).IgnoreError();
      job.owned_arrays.clear();
      return Named(outputs[i].name, array.status());
    }
    outputs[i].data = nullptr;
    outputs[i].array = array->id;
    made.push_back(array->id);
    if (goes_with_job) job.owned_arrays.push_back(array->id);
    // Whoever waits for the job comes for it, and a drain for them.
    if (!wanted.keep && job.attached && !job.subscriptions.empty()) arrays_.MarkUnread(array->id);
  }
  return absl::OkStatus();
}

void Engine::Impl::LoseDevice(DeviceState& device, const std::string& why, Aftermath& after) {
  if (!device.lost.empty()) return;
  const std::string reason = absl::StrCat(why, " (since ", UtcText(clock_.WallNow()), ")");
  device.lost = reason;
  any_lost_.store(true);
  const std::string& id = device.device->info().id;
  Log(after, LogLevel::kError, absl::StrCat("device ", id, " is lost and takes no more jobs: ", reason));

  std::uint64_t healthy = 0;
  for (const std::unique_ptr<DeviceState>& one : devices_) {
    if (one->lost.empty()) healthy |= std::uint64_t{1} << one->index;
  }
  std::vector<Job*> stranded;
  queue_.ForEach([&](QueueEntry& entry) {
    if ((entry.devices & healthy) == 0) stranded.push_back(static_cast<Job*>(&entry));
  });
  for (Job* job : stranded) {
    queue_.Remove(*job);
    End(*job, JobTransition::kFail,
        absl::UnavailableError(
            absl::StrCat("device ", id, " was lost before the job ran: ", reason, "; submit it for another device")),
        {}, std::nullopt, after);
  }
  // Its sleeping lanes have nothing to wait for.
  while (!device.idle.empty()) CallLane(device, after);
}

}  // namespace hotplate::core
