#include "kernels/cuda/launchers.h"

#include "kernels/arange/arange.h"
#include "kernels/batched_matvec/batched_matvec.h"
#include "kernels/cholesky/cholesky.h"
#include "kernels/cholesky/cholesky_cuda.h"
#include "kernels/cuda/libraries.h"
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

namespace hotplate {

std::span<const CudaLauncher> CudaLaunchers() {
  static constexpr CudaLauncher kLaunchers[] = {
      {"arange", arange::RunCuda},
      {"batched_matvec", batched_matvec::RunCuda},
      {"cholesky", cholesky::RunCuda, cholesky::ScratchCuda, &kCusolver, cholesky::LaneScratchCuda,
       cholesky::FinishCuda},
      {"eigh", eigh::RunCuda, eigh::ScratchCuda, &kCusolver, eigh::LaneScratchCuda, eigh::FinishCuda},
      {"fft", fft::RunCuda, fft::ScratchCuda, &kCufft, fft::LaneScratchCuda},
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
