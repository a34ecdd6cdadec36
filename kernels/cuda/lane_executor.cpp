#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "kernels/cuda/executor.h"

namespace hotplate {
namespace {

// The arrays' places in the block, one behind the other, and the host memory that travels there or back. An array that
// is given twice (a matrix times its own transpose) has one place.
struct Placed {
  std::vector<hotplate_array> arrays;  // in the block
  std::vector<Piece> pieces;
  std::uint64_t bytes = 0;

  bool Add(std::span<const hotplate_array> host, std::byte* block, Arena& arena) {
    arrays.assign(host.begin(), host.end());
    pieces.reserve(host.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
      bytes += host[i].bytes;
      const auto before = host.first(i);
      const auto same = std::find_if(before.begin(), before.end(), [&](const hotplate_array& other) {
        return other.data == host[i].data && other.bytes == host[i].bytes;
      });
      if (same != before.end()) {
        arrays[i].data = arrays[same - before.begin()].data;
        continue;
      }
      std::uint64_t offset = 0;
      if (!arena.Add(host[i].bytes, &offset)) return false;
      arrays[i].data = block + offset;
      if (host[i].bytes > 0) pieces.push_back({static_cast<std::byte*>(host[i].data), offset, host[i].bytes});
    }
    return true;
  }
};

}  // namespace

Outcome LayOut(const CudaLauncher& launcher, const hotplate_call& call, const CudaTraits& traits, TaskLayout& layout) {
  Arena arena;
  std::uint64_t offset = 0;
  const Call view(call);
  bool fits = true;
  for (const hotplate_array& array : view.inputs()) fits = fits && arena.Add(array.bytes, &offset);
  for (const hotplate_array& array : view.outputs()) fits = fits && arena.Add(array.bytes, &offset);
  layout.scratch_bytes = launcher.scratch_bytes == nullptr ? 0 : launcher.scratch_bytes(view, traits);
  fits = fits && arena.Add(layout.scratch_bytes, &layout.scratch_offset);
  layout.bytes = arena.bytes();
  return fits ? Outcome::Ok() : Outcome::Invalid("the call's arrays together do not fit 64-bit sizes");
}

std::unique_ptr<LaneExecutor> LaneExecutor::Open(DeviceExecutor& device, Outcome& why) {
  std::unique_ptr<LaneExecutor> lane;
  why = device.Usable();
  if (why.ok()) why = device.Enter();
  if (!why.ok()) return lane;
  lane.reset(new LaneExecutor(device));
  why = lane->Initialise();
  if (!why.ok()) lane.reset();
  return lane;
}

Outcome LaneExecutor::Initialise() {
  const Driver& driver = device_.driver();
  if (const Outcome o = MakeStream(driver, stream_); !o.ok()) return o;
  device_.Add(*this);
  for (OwnedEvent& event : times_) {
    if (const Outcome o = MakeEvent(driver, 0, event); !o.ok()) return o;
  }
  for (OwnedEvent& event : marks_) {
    if (const Outcome o = MakeEvent(driver, kEventDisableTiming, event); !o.ok()) return o;
  }
  if (const Outcome o = PinBytes(driver, 64, host_words_); !o.ok()) return o;
  if (const Outcome o = staging_.Initialise(); !o.ok()) return o;
  Outcome opened = Outcome::Ok();
  libraries_.reset(ThisKernelSide().open_libraries(opened));
  return opened;
}

LaneExecutor::~LaneExecutor() {
  // Its stream and events may be used by work in flight until here.
  static_cast<void>(device_.Enter());
  if (stream_ != nullptr) static_cast<void>(device_.driver().cuStreamSynchronize(stream_.get()));
  device_.Remove(*this);
}

Outcome LaneExecutor::Elapsed(int from, int to, std::uint64_t& ns) const {
  const Driver& driver = device_.driver();
  float ms = 0;
  const Outcome o =
      driver.Check(driver.cuEventElapsedTime(&ms, times_[from].get(), times_[to].get()), "reading the times");
  if (o.ok()) ns = static_cast<std::uint64_t>(static_cast<double>(ms) * 1e6);
  return o;
}

void LaneExecutor::Run(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
                       hotplate_cuda_report& report) {
  report.host_to_device_ns = report.kernel_ns = report.device_to_host_ns = HOTPLATE_CUDA_ABSENT;
  kernel_.store(launcher.name, std::memory_order_relaxed);
  const auto idle = [](std::atomic<const char*>* kernel) { kernel->store(nullptr, std::memory_order_relaxed); };
  const std::unique_ptr<std::atomic<const char*>, decltype(idle)> running(&kernel_, idle);  // whatever is thrown
  Outcome outcome = RunTask(launcher, call, control, report);
  if (!outcome.ok() && outcome.code() != HOTPLATE_CANCELLED && outcome.code() != HOTPLATE_DEVICE_LOST) {
    outcome = device_.Judge(outcome, *this, launcher.name, stream_.get());
  }
  report.outcome = outcome.plain();
}

Outcome LaneExecutor::RunTask(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
                              hotplate_cuda_report& report) {
  const Driver& driver = device_.driver();
  if (const Outcome o = device_.Usable(); !o.ok()) return o;
  if (const Outcome o = device_.CheckPrecision(call.precision); !o.ok()) return o;
  if (const Outcome o = device_.Enter(); !o.ok()) return o;
  TaskLayout layout;
  if (const Outcome o = LayOut(launcher, call, device_.traits(), layout); !o.ok()) return o;
  DevicePointer block = 0;
  if (layout.bytes > 0) {
    if (const Outcome o = device_.Allocate(layout.bytes, *this, block); !o.ok()) return o;
  }
  const CudaContext::Handles handles{.driver = &driver,
                                     .stream = stream_.get(),
                                     .libraries = libraries_.get(),
                                     .marks = {marks_[0].get(), marks_[1].get()},
                                     .host_words = reinterpret_cast<std::uint64_t*>(host_words_.get())};
  CudaContext context(device_.traits(), handles, control);
  Outcome outcome = Outcome::Ok();
  // Only for want of host memory. What follows is due all the same.
  try {
    auto* const place = reinterpret_cast<std::byte*>(block);  // NOLINT(performance-no-int-to-ptr): the driver's way
    outcome = RunInBlock(launcher, call, layout, place, context, report);
  } catch (const std::exception& exception) {
    char text[160];
    std::snprintf(text, sizeof text, "the task's host side failed: %.100s", exception.what());
    outcome = Outcome::Failed(text);
  } catch (...) {
    outcome = Outcome::Failed("the task's host side failed: an unknown exception");
  }
  const bool complete = outcome.ok();
  const auto join = [&outcome](const Outcome& after) {
    if (!after.ok() && (outcome.ok() || outcome.code() == HOTPLATE_CANCELLED)) outcome = after;
  };
  // The block goes back after the work that may still use it.
  if (block != 0) join(driver.Check(driver.cuMemFreeAsync(block, stream_.get()), "freeing device memory"));
  // A complete task has been waited for. What another left in flight must be over before anybody touches its arrays and
  // the pinned buffers again.
  if (!complete) join(driver.Check(driver.cuStreamSynchronize(stream_.get()), "waiting for the device"));
  device_.Returned(*this);
  staging_.Rest();
  return outcome;
}

Outcome LaneExecutor::RunInBlock(const CudaLauncher& launcher, const hotplate_call& host_call, const TaskLayout& layout,
                                 std::byte* block, CudaContext& context, hotplate_cuda_report& report) {
  const Driver& driver = device_.driver();
  const Call host(host_call);
  Arena arena;  // places no later than LayOut did
  Placed inputs, outputs;
  if (!inputs.Add(host.inputs(), block, arena) || !outputs.Add(host.outputs(), block, arena)) {
    return Outcome::Invalid("the call's arrays together do not fit 64-bit sizes");
  }
  hotplate_call device_call = host_call;
  device_call.inputs = inputs.arrays.data();
  device_call.outputs = outputs.arrays.data();
  device_call.scratch = block + layout.scratch_offset;
  device_call.scratch_bytes = layout.scratch_bytes;

  const auto mark = [&](int i) {
    return driver.Check(driver.cuEventRecord(times_[i].get(), context.stream()), "taking the time");
  };
  if (const Outcome o = mark(0); !o.ok()) return o;
  if (const Outcome o = staging_.ToDevice(block, inputs.pieces, context); !o.ok()) return o;
  if (const Outcome o = mark(1); !o.ok()) return o;
  if (context.CancelRequested()) return Outcome::Cancelled();
  if (const Outcome o = launcher.run(Call(device_call), context); !o.ok()) return o;
  if (const Outcome o = mark(2); !o.ok()) return o;
  if (const Outcome o = staging_.FromDevice(block, outputs.pieces, context); !o.ok()) return o;
  if (const Outcome o = mark(3); !o.ok()) return o;
  if (const Outcome o = driver.Check(WaitFor(driver, times_[3].get()), "running the kernel"); !o.ok()) return o;

  if (const Outcome o = Elapsed(1, 2, report.kernel_ns); !o.ok()) return o;
  if (inputs.bytes > 0) {
    if (const Outcome o = Elapsed(0, 1, report.host_to_device_ns); !o.ok()) return o;
  }
  if (outputs.bytes > 0) {
    if (const Outcome o = Elapsed(2, 3, report.device_to_host_ns); !o.ok()) return o;
  }
  context.ReportProgress(1);
  return Outcome::Ok();
}

}  // namespace hotplate
