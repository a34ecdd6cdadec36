#include "kernels/cpu/launchers.h"

#include "kernels/arange/arange.h"
#include "kernels/batched_matvec/batched_matvec.h"
#include "kernels/cholesky/cholesky.h"
#include "kernels/eigh/eigh.h"
#include "kernels/fft/fft.h"
#include "kernels/full/full.h"
#include "kernels/groupby_sum/groupby_sum.h"
#include "kernels/histogram/histogram.h"
#include "kernels/integrate2d/integrate2d.h"
#include "kernels/kmeans/kmeans.h"
#include "kernels/linspace/linspace.h"
#include "kernels/mandelbrot/mandelbrot.h"
#include "kernels/matmul/matmul.h"
#include "kernels/norm/norm.h"
#include "kernels/pagerank/pagerank.h"
#include "kernels/power_sum/power_sum.h"
#include "kernels/random/random.h"
#include "kernels/reduce/reduce.h"
#include "kernels/selu/selu.h"
#include "kernels/solve/solve.h"
#include "kernels/sort/sort.h"
#include "kernels/sort_by_key/sort_by_key.h"
#include "kernels/spmv/spmv.h"
#include "kernels/svd/svd.h"
#include "kernels/transfer_probe/transfer_probe.h"
#include "kernels/trig_identity/trig_identity.h"
#include "kernels/vector_add/vector_add.h"

namespace hotplate::cpu {

std::span<const Launcher> Launchers() {
  static constexpr Launcher kLaunchers[] = {
      {"arange", arange::RunCpu},
      {"batched_matvec", batched_matvec::RunCpu},
      {"cholesky", cholesky::RunCpu},
      {"eigh", eigh::RunCpu, eigh::PlanCpu},
      {"fft", fft::RunCpu, fft::PlanCpu},
      {"full", full::RunCpu},
      {"groupby_sum", groupby_sum::RunCpu, groupby_sum::PlanCpu},
      {"histogram", histogram::RunCpu, histogram::PlanCpu},
      {"integrate2d", integrate2d::RunCpu, integrate2d::PlanCpu},
      {"kmeans", kmeans::RunCpu, kmeans::PlanCpu},
      {"linspace", linspace::RunCpu},
      {"mandelbrot", mandelbrot::RunCpu},
      {"matmul", matmul::RunCpu},
      {"norm", norm::RunCpu, norm::PlanCpu},
      {"pagerank", pagerank::RunCpu, pagerank::PlanCpu},
      {"power_sum", power_sum::RunCpu},
      {"random", random::RunCpu},
      {"reduce", reduce::RunCpu, reduce::PlanCpu},
      {"selu", selu::RunCpu},
      {"solve", solve::RunCpu, solve::PlanCpu},
      {"sort", sort::RunCpu, sort::PlanCpu},
      {"sort_by_key", sort_by_key::RunCpu, sort_by_key::PlanCpu},
      {"spmv", spmv::RunCpu, spmv::PlanCpu},
      {"svd", svd::RunCpu, svd::PlanCpu},
      {"transfer_probe", transfer_probe::RunCpu, transfer_probe::PlanCpu},
      {"trig_identity", trig_identity::RunCpu},
      {"vector_add", vector_add::RunCpu},
  };
  return kLaunchers;
}

}  // namespace hotplate::cpu
