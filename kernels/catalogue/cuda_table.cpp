#include "kernels/catalogue/arange/arange.h"
#include "kernels/catalogue/argsort/argsort.h"
#include "kernels/catalogue/batched_matvec/batched_matvec.h"
#include "kernels/catalogue/cholesky/cholesky.h"
#include "kernels/catalogue/cholesky/cholesky_cuda.h"
#include "kernels/catalogue/eigh/eigh.h"
#include "kernels/catalogue/eigh/eigh_cuda.h"
#include "kernels/catalogue/expression/expression.h"
#include "kernels/catalogue/expression/expression_cuda.h"
#include "kernels/catalogue/fft/fft.h"
#include "kernels/catalogue/fft/fft_cuda.h"
#include "kernels/catalogue/flatnonzero/flatnonzero.h"
#include "kernels/catalogue/full/full.h"
#include "kernels/catalogue/groupby_sum/groupby_sum.h"
#include "kernels/catalogue/histogram/histogram.h"
#include "kernels/catalogue/integrate2d/integrate2d.h"
#include "kernels/catalogue/integrate2d/integrate2d_cuda.h"
#include "kernels/catalogue/kmeans/kmeans.h"
#include "kernels/catalogue/linspace/linspace.h"
#include "kernels/catalogue/mandelbrot/mandelbrot.h"
#include "kernels/catalogue/mandelbrot/mandelbrot_cuda.h"
#include "kernels/catalogue/matmul/matmul.h"
#include "kernels/catalogue/matmul/matmul_cuda.h"
#include "kernels/catalogue/norm/norm.h"
#include "kernels/catalogue/pagerank/pagerank.h"
#include "kernels/catalogue/power_sum/power_sum.h"
#include "kernels/catalogue/random/random.h"
#include "kernels/catalogue/reduce/reduce.h"
#include "kernels/catalogue/scan/scan.h"
#include "kernels/catalogue/selu/selu.h"
#include "kernels/catalogue/solve/solve.h"
#include "kernels/catalogue/solve/solve_cuda.h"
#include "kernels/catalogue/sort/radix_cuda.h"
#include "kernels/catalogue/sort/sort.h"
#include "kernels/catalogue/sort_by_key/sort_by_key.h"
#include "kernels/catalogue/sort_by_key/sort_by_key_cuda.h"
#include "kernels/catalogue/spmv/spmv.h"
#include "kernels/catalogue/svd/svd.h"
#include "kernels/catalogue/svd/svd_cuda.h"
#include "kernels/catalogue/transfer_probe/transfer_probe.h"
#include "kernels/catalogue/trig_identity/trig_identity.h"
#include "kernels/catalogue/vector_add/vector_add.h"
#include "kernels/devices/cuda/plugin/launchers.h"
#include "kernels/devices/cuda/plugin/libraries.h"

namespace hotplate {

// There is no CUDA code of eig, qr, searchsorted and slogdet: their specs say CpuOnly().
std::span<const CudaLauncher> CudaLaunchers() {
  static constexpr CudaLauncher kLaunchers[] = {
      {"arange", arange::RunCuda},
      {"argsort", argsort::RunCuda, argsort::ScratchCuda},
      {"batched_matvec", batched_matvec::RunCuda},
      {"cholesky", cholesky::RunCuda, cholesky::ScratchCuda, &kCusolver, cholesky::LaneScratchCuda,
       cholesky::FinishCuda},
      {"eigh", eigh::RunCuda, eigh::ScratchCuda, &kCusolver, eigh::LaneScratchCuda, eigh::FinishCuda},
      {"expression", expression::RunCuda, expression::ScratchCuda, nullptr, expression::LaneScratchCuda,
       expression::FinishCuda, expression::kCompiler},
      {"fft", fft::RunCuda, fft::ScratchCuda, &kCufft, fft::LaneScratchCuda},
      {"flatnonzero", flatnonzero::RunCuda, flatnonzero::ScratchCuda},
      {"full", full::RunCuda},
      {"groupby_sum", groupby_sum::RunCuda, groupby_sum::ScratchCuda},
      {"histogram", histogram::RunCuda, histogram::ScratchCuda},
      {"integrate2d", integrate2d::RunCuda, integrate2d::ScratchCuda},
      {"kmeans", kmeans::RunCuda, kmeans::ScratchCuda},
      {"linspace", linspace::RunCuda},
      {"mandelbrot", mandelbrot::RunCuda, mandelbrot::ScratchCuda},
      {"matmul", matmul::RunCuda, matmul::ScratchCuda, &kCublasLt},
      {"norm", norm::RunCuda, norm::ScratchCuda},
      {"pagerank", pagerank::RunCuda, pagerank::ScratchCuda, nullptr, nullptr, pagerank::FinishCuda},
      {"power_sum", power_sum::RunCuda},
      {"random", random::RunCuda},
      {"reduce", reduce::RunCuda, reduce::ScratchCuda},
      {"scan", scan::RunCuda, scan::ScratchCuda},
      {"selu", selu::RunCuda},
      {"solve", solve::RunCuda, solve::ScratchCuda, &kCusolver, solve::LaneScratchCuda, solve::FinishCuda},
      {"sort", sort::RunCuda, sort::ScratchCuda},
      {"sort_by_key", sort_by_key::RunCuda, sort_by_key::ScratchCuda},
      {"spmv", spmv::RunCuda, spmv::ScratchCuda, nullptr, nullptr, spmv::FinishCuda},
      {"svd", svd::RunCuda, svd::ScratchCuda, &kCusolver, svd::LaneScratchCuda, svd::FinishCuda},
      {"transfer_probe", transfer_probe::RunCuda, transfer_probe::ScratchCuda},
      {"trig_identity", trig_identity::RunCuda},
      {"vector_add", vector_add::RunCuda},
  };
  return kLaunchers;
}

}  // namespace hotplate
