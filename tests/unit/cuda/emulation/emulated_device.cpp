#include "tests/unit/cuda/emulation/emulated_device.h"

#include <string>
#include <utility>

#include "kernels/arange/arange.h"
#include "kernels/batched_matvec/batched_matvec.h"
#include "kernels/cholesky/cholesky.h"
#include "kernels/cholesky/cholesky_cuda.h"
#include "kernels/cuda/context.h"
#include "kernels/eigh/eigh.h"
#include "kernels/eigh/eigh_cuda.h"
#include "kernels/fft/fft.h"
#include "kernels/fft/fft_cuda.h"
#include "kernels/full/full.h"
#include "kernels/groupby_sum/groupby_sum.h"
#include "kernels/histogram/histogram.h"
#include "kernels/integrate2d/integrate2d.h"
#include "kernels/integrate2d/integrate2d_cuda.h"
#include "kernels/kmeans/kmeans.h"
#include "kernels/linspace/linspace.h"
#include "kernels/mandelbrot/mandelbrot.h"
#include "kernels/mandelbrot/mandelbrot_cuda.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_cuda.h"
#include "kernels/norm/norm.h"
#include "kernels/pagerank/pagerank.h"
#include "kernels/power_sum/power_sum.h"
#include "kernels/random/random.h"
#include "kernels/reduce/reduce.h"
#include "kernels/selu/selu.h"
#include "kernels/solve/solve.h"
#include "kernels/solve/solve_cuda.h"
#include "kernels/sort/radix_cuda.h"
#include "kernels/sort/sort.h"
#include "kernels/sort_by_key/sort_by_key.h"
#include "kernels/sort_by_key/sort_by_key_cuda.h"
#include "kernels/spmv/spmv.h"
#include "kernels/svd/svd.h"
#include "kernels/svd/svd_cuda.h"
#include "kernels/transfer_probe/transfer_probe.h"
#include "kernels/trig_identity/trig_identity.h"
#include "kernels/vector_add/vector_add.h"
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

}  // namespace hotplate

namespace hotplate::emulation {
namespace {

constexpr CudaLauncher kLaunchers[] = {
    {"arange", arange::RunCuda},
    {"batched_matvec", batched_matvec::RunCuda},
    {"cholesky", cholesky::RunCuda, cholesky::ScratchCuda, nullptr, cholesky::LaneScratchCuda, cholesky::FinishCuda},
    {"eigh", eigh::RunCuda, eigh::ScratchCuda, nullptr, eigh::LaneScratchCuda, eigh::FinishCuda},
    {"fft", fft::RunCuda, fft::ScratchCuda, nullptr, fft::LaneScratchCuda},
    {"full", full::RunCuda},
    {"groupby_sum", groupby_sum::RunCuda, groupby_sum::ScratchCuda},
    {"histogram", histogram::RunCuda, histogram::ScratchCuda},
    {"integrate2d", integrate2d::RunCuda, integrate2d::ScratchCuda},
    {"kmeans", kmeans::RunCuda, kmeans::ScratchCuda},
    {"linspace", linspace::RunCuda},
    {"mandelbrot", mandelbrot::RunCuda, mandelbrot::ScratchCuda},
    {"matmul", matmul::RunCuda, matmul::ScratchCuda},
    {"norm", norm::RunCuda, norm::ScratchCuda},
    {"pagerank", pagerank::RunCuda, pagerank::ScratchCuda, nullptr, nullptr, pagerank::FinishCuda},
    {"power_sum", power_sum::RunCuda},
    {"random", random::RunCuda},
    {"reduce", reduce::RunCuda, reduce::ScratchCuda},
    {"selu", selu::RunCuda},
    {"solve", solve::RunCuda, solve::ScratchCuda, nullptr, solve::LaneScratchCuda, solve::FinishCuda},
    {"sort", sort::RunCuda, sort::ScratchCuda},
    {"sort_by_key", sort_by_key::RunCuda, sort_by_key::ScratchCuda},
    {"spmv", spmv::RunCuda, spmv::ScratchCuda, nullptr, nullptr, spmv::FinishCuda},
    {"svd", svd::RunCuda, svd::ScratchCuda, nullptr, svd::LaneScratchCuda, svd::FinishCuda},
    {"transfer_probe", transfer_probe::RunCuda, transfer_probe::ScratchCuda},
    {"trig_identity", trig_identity::RunCuda},
    {"vector_add", vector_add::RunCuda},
};

// Everything of a driver that a kernel's host side needs: steps are over when they were enqueued.
Driver InstantDriver() {
  Driver driver;
  driver.cuEventRecord = [](CUevent_st*, CUstream_st*) { return 0; };
  driver.cuEventQuery = [](CUevent_st*) { return 0; };
  driver.cuEventSynchronize = [](CUevent_st*) { return 0; };
  driver.cuStreamSynchronize = [](CUstream_st*) { return 0; };
  return driver;
}

}  // namespace

std::span<const CudaLauncher> Launchers() { return kLaunchers; }

const CudaLauncher* FindLauncher(std::string_view kernel) {
  for (const CudaLauncher& launcher : kLaunchers) {
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
  if (!scratch.GuardIntact()) report.outcome = Outcome::Failed("something was written behind the scratch");
  return report;
}

}  // namespace hotplate::emulation
