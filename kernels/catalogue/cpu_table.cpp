#include "kernels/catalogue/arange/arange.h"
#include "kernels/catalogue/argsort/argsort.h"
#include "kernels/catalogue/batched_matvec/batched_matvec.h"
#include "kernels/catalogue/cholesky/cholesky.h"
#include "kernels/catalogue/eig/eig.h"
#include "kernels/catalogue/eigh/eigh.h"
#include "kernels/catalogue/expression/expression.h"
#include "kernels/catalogue/fft/fft.h"
#include "kernels/catalogue/flatnonzero/flatnonzero.h"
#include "kernels/catalogue/full/full.h"
#include "kernels/catalogue/groupby_sum/groupby_sum.h"
#include "kernels/catalogue/histogram/histogram.h"
#include "kernels/catalogue/integrate2d/integrate2d.h"
#include "kernels/catalogue/kmeans/kmeans.h"
#include "kernels/catalogue/linspace/linspace.h"
#include "kernels/catalogue/mandelbrot/mandelbrot.h"
#include "kernels/catalogue/matmul/matmul.h"
#include "kernels/catalogue/norm/norm.h"
#include "kernels/catalogue/pagerank/pagerank.h"
#include "kernels/catalogue/power_sum/power_sum.h"
#include "kernels/catalogue/qr/qr.h"
#include "kernels/catalogue/random/random.h"
#include "kernels/catalogue/reduce/reduce.h"
#include "kernels/catalogue/scan/scan.h"
#include "kernels/catalogue/searchsorted/searchsorted.h"
#include "kernels/catalogue/selu/selu.h"
#include "kernels/catalogue/slogdet/slogdet.h"
#include "kernels/catalogue/solve/solve.h"
#include "kernels/catalogue/sort/sort.h"
#include "kernels/catalogue/sort_by_key/sort_by_key.h"
#include "kernels/catalogue/spmv/spmv.h"
#include "kernels/catalogue/svd/svd.h"
#include "kernels/catalogue/transfer_probe/transfer_probe.h"
#include "kernels/catalogue/trig_identity/trig_identity.h"
#include "kernels/catalogue/vector_add/vector_add.h"
#include "kernels/devices/cpu/launchers.h"

namespace hotplate::cpu {

std::span<const Launcher> Launchers() {
  static constexpr Launcher kLaunchers[] = {
      {"arange", arange::RunCpu},
      {"argsort", argsort::RunCpu, argsort::PlanCpu},
      {"batched_matvec", batched_matvec::RunCpu},
      {"cholesky", cholesky::RunCpu},
      {"eig", eig::RunCpu, eig::PlanCpu},
      {"eigh", eigh::RunCpu, eigh::PlanCpu},
      {"expression", expression::RunCpu},
      {"fft", fft::RunCpu, fft::PlanCpu},
      {"flatnonzero", flatnonzero::RunCpu, flatnonzero::PlanCpu},
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
      {"qr", qr::RunCpu, qr::PlanCpu},
      {"random", random::RunCpu},
      {"reduce", reduce::RunCpu, reduce::PlanCpu},
      {"scan", scan::RunCpu, scan::PlanCpu},
      {"searchsorted", searchsorted::RunCpu},
      {"selu", selu::RunCpu},
      {"slogdet", slogdet::RunCpu, slogdet::PlanCpu},
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
