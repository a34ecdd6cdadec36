#include "tests/unit/cuda/emulation/emulated_device.h"

#include <string>
#include <utility>

#include "kernels/devices/cuda/executor/context.h"
#include "kernels/devices/cuda/plugin/libraries.h"
#include "tests/conformance/case.h"
#include "tests/unit/cuda/emulation/cublas_lt_by_loops.h"
#include "tests/unit/cuda/emulation/cufft_by_sums.h"
#include "tests/unit/cuda/emulation/cusolver_by_lapack.h"
#include "tests/unit/cuda/emulation/library_faults.h"

namespace hotplate {

// After a library's launches; the emulation's own say at once what came of them.
Outcome CudaContext::LaunchStatus() const {
  return std::exchange(emulation::launch_failed, false) ? Outcome::Failed("launch: it failed") : Outcome::Ok();
}

void ClearLaunchError() { ++emulation::cleared_launch_errors; }

// Named by the launchers' table; a lane here has the stand-ins.
const CudaLibrary kCublasLt{}, kCufft{}, kCusolver{};

}  // namespace hotplate

namespace hotplate::emulation {
namespace {

// Of the lane that runs, whose steps have a mark behind each.
struct Steps {
  std::uint64_t done = 0, cancel_after = 0;
  TaskControl* control = nullptr;
} under_way;

// Everything of a driver that a kernel's host side needs: steps are over when they were enqueued.
Driver InstantDriver() {
  Driver driver;
  driver.cuEventRecord = [](CUevent_st*, CUstream_st*) {
    if (++under_way.done == under_way.cancel_after) under_way.control->RequestCancel();
    return 0;
  };
  driver.cuEventQuery = [](CUevent_st*) { return 0; };
  driver.cuEventSynchronize = [](CUevent_st*) { return 0; };
  driver.cuStreamSynchronize = [](CUstream_st*) { return 0; };
  return driver;
}

}  // namespace

const CudaLauncher* FindLauncher(std::string_view kernel) {
  for (const CudaLauncher& launcher : CudaLaunchers()) {
    if (kernel == launcher.name) return &launcher;
  }
  return nullptr;
}

EmulatedLane::EmulatedLane(const CudaTraits& traits, Order order) : traits_(traits), order_(order) {
  libraries_.blas = CublasLtByLoops();
  libraries_.solver = CusolverByLapack();
  libraries_.cufft = CufftBySums();
}

Report EmulatedLane::Run(const Task& task, TaskControl& control) {
  UseOrder(order_);
  under_way = {.done = 0, .cancel_after = cancel_after_, .control = &control};
  const CudaLauncher& launcher = *FindLauncher(task.kernel);
  hotplate_call plain = task.call;
  const Driver driver = InstantDriver();
  volatile std::uint64_t words[8] = {};
  std::byte pinned[1000] = {};
  const CudaContext::Handles handles{
      .driver = &driver, .stream = LaneStream(), .libraries = &libraries_, .host_words = words, .pinned = pinned};
  CudaContext context(traits_, handles, control.plain());
  Report report;
  plain.scratch_bytes = launcher.scratch_bytes == nullptr ? 0 : launcher.scratch_bytes(Call(plain), traits_);
  planned_ = plain.scratch_bytes;
  if (launcher.lane_scratch_bytes != nullptr) {
    report.outcome = launcher.lane_scratch_bytes(Call(plain), context, plain.scratch_bytes);
    if (!report.outcome.ok()) return report;
  }
  // Scratch is what was in memory before, and what follows it is not the kernel's.
  conformance::TestArray scratch({.dtype = DType::kInt8, .shape = {static_cast<std::int64_t>(plain.scratch_bytes)}});
  scratch.Poison();
  plain.scratch = scratch.data();
  report.outcome = launcher.run(Call(plain), context);
  if (report.outcome.ok() && launcher.finish != nullptr) report.outcome = launcher.finish(Call(plain), context);
  steps_ = under_way.done;
  if (!scratch.GuardIntact()) report.outcome = Outcome::Failed("something was written behind the scratch");
  return report;
}

}  // namespace hotplate::emulation
