#include <algorithm>
#include <cstdio>
#include <exception>

#include "kernels/devices/cuda/executor/task_memory.h"

namespace hotplate {

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
  libraries_.reset(ThisKernelSide().make_libraries());
  return staging_.Initialise();
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

Outcome LaneExecutor::UseLibrary(const CudaLauncher& launcher, void* opened) {
  return launcher.library == nullptr ? Outcome::Ok() : launcher.library->take(opened, *libraries_);
}

void LaneExecutor::Run(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
                       hotplate_cuda_report& report) {
  report.host_to_device_ns = report.kernel_ns = report.device_to_host_ns = HOTPLATE_CUDA_ABSENT;
  report.compile_ns = HOTPLATE_CUDA_ABSENT;
  report.compile_cache_hit = -1;
  kernel_.store(launcher.name, std::memory_order_relaxed);
  const auto idle = [](std::atomic<const char*>* kernel) { kernel->store(nullptr, std::memory_order_relaxed); };
  const std::unique_ptr<std::atomic<const char*>, decltype(idle)> running(&kernel_, idle);  // even after an exception
  Outcome outcome = RunTask(launcher, call, control, report);
  if (!outcome.ok() && outcome.code() != HOTPLATE_CANCELLED && outcome.code() != HOTPLATE_DEVICE_LOST) {
    outcome = device_.Judge(outcome, this, std::string("kernel ") + launcher.name, stream_.get());
  }
  report.outcome = outcome.plain();
}

Outcome LaneExecutor::RunTask(const CudaLauncher& launcher, const hotplate_call& call, hotplate_control& control,
                              hotplate_cuda_report& report) {
  const Driver& driver = device_.driver();
  if (const Outcome o = device_.Usable(); !o.ok()) return o;
  if (const Outcome o = device_.CheckPrecision(call.precision); !o.ok()) return o;
  if (call.deterministic != 0 && launcher.library != nullptr && launcher.library->same_bits != nullptr) {
    if (const Outcome o = launcher.library->same_bits(*libraries_); !o.ok()) return o;
  }
  if (const Outcome o = device_.Enter(); !o.ok()) return o;
  const CudaContext::Handles handles{.driver = &driver,
                                     .stream = stream_.get(),
                                     .libraries = libraries_.get(),
                                     .marks = {marks_[0].get(), marks_[1].get()},
                                     .host_words = reinterpret_cast<std::uint64_t*>(host_words_.get()),
                                     .pinned = staging_.OwnBytes(),
                                     .code = &device_.code(),
                                     .compiler = launcher.compiler};
  CudaContext context(device_.traits(), handles, control);
  Outcome outcome = Outcome::Ok();
  TaskMemory memory(device_, *this);
  // Throws only for lack of host memory. The steps below are due in any case.
  try {
    std::uint64_t scratch_bytes = 0;
    outcome = ScratchBytes(launcher, call, context, scratch_bytes);
    if (outcome.ok()) outcome = memory.Take(call, scratch_bytes);
    if (outcome.ok()) outcome = RunInMemory(launcher, memory, context, report);
  } catch (const std::exception& exception) {
    char text[160];
    std::snprintf(text, sizeof text, "the task's host side failed: %.100s", exception.what());
    outcome = Outcome::Failed(text);
  } catch (...) {
    outcome = Outcome::Failed("the task's host side failed: an unknown exception");
  }
  report.compile_ns = context.code_times().compile_ns;
  report.compile_cache_hit = context.code_times().cache_hit;
  const bool complete = outcome.ok();
  const auto join = [&outcome](const Outcome& after) {
    if (!after.ok() && (outcome.ok() || outcome.code() == HOTPLATE_CANCELLED)) outcome = after;
  };
  // A complete task has been waited for. What another left in flight must be over before anybody touches its arrays,
  // its memory and the pinned buffers again: memory that is freed behind a kernel that cannot be interrupted would have
  // others wait for that kernel.
  if (!complete) join(driver.Check(driver.cuStreamSynchronize(stream_.get()), "waiting for the device"));
  join(memory.Return(complete));
  device_.Returned(*this);
  staging_.Rest();
  return outcome;
}

Outcome LaneExecutor::ScratchBytes(const CudaLauncher& launcher, const hotplate_call& call, CudaContext& context,
                                   std::uint64_t& bytes) {
  const Call view(call);
  if (launcher.scratch_bytes != nullptr) bytes = launcher.scratch_bytes(view, device_.traits());
  if (launcher.lane_scratch_bytes == nullptr) return Outcome::Ok();
  std::uint64_t wanted = 0;
  Outcome asked = launcher.lane_scratch_bytes(view, context, wanted);
  // The library's handle has memory of its own.
  if (device_.MakeRoomAfter(asked, launcher.library != nullptr))
    asked = launcher.lane_scratch_bytes(view, context, wanted);
  bytes = std::max(bytes, wanted);
  return asked;
}

Outcome LaneExecutor::RunInMemory(const CudaLauncher& launcher, TaskMemory& memory, CudaContext& context,
                                  hotplate_cuda_report& report) {
  const Driver& driver = device_.driver();
  bool copied_in = false;
  const auto mark = [&](int i) {
    return driver.Check(driver.cuEventRecord(times_[i].get(), context.stream()), "taking the time");
  };
  if (const Outcome o = mark(0); !o.ok()) return o;
  if (const Outcome o = memory.CopyIn(staging_, context, copied_in); !o.ok()) return o;
  if (const Outcome o = mark(1); !o.ok()) return o;
  if (context.CancelRequested()) return Outcome::Cancelled();
  device_.Begin(*this);
  Outcome ran = launcher.run(Call(memory.call()), context);
  // Not of the task's own memory, which it has: a module was to be loaded, or a library wanted a workspace. The
  // launcher has only read its inputs, so it can begin again.
  if (device_.MakeRoomAfter(ran, launcher.library != nullptr)) ran = launcher.run(Call(memory.call()), context);
  if (!ran.ok()) return ran;
  if (const Outcome o = mark(2); !o.ok()) return o;
  if (const Outcome o = memory.CopyOut(staging_, context); !o.ok()) return o;
  if (const Outcome o = mark(3); !o.ok()) return o;
  if (const Outcome o = driver.Check(WaitFor(driver, times_[3].get()), "running the kernel"); !o.ok()) return o;
  if (launcher.finish != nullptr) {
    if (const Outcome o = launcher.finish(Call(memory.call()), context); !o.ok()) return o;
  }

  if (const Outcome o = Elapsed(1, 2, report.kernel_ns); !o.ok()) return o;
  if (copied_in) {
    if (const Outcome o = Elapsed(0, 1, report.host_to_device_ns); !o.ok()) return o;
  }
  if (memory.CopiesOut()) {
    if (const Outcome o = Elapsed(2, 3, report.device_to_host_ns); !o.ok()) return o;
  }
  context.ReportProgress(1);
  return Outcome::Ok();
}

}  // namespace hotplate
