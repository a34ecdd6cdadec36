// The table of specs: one line a kernel.
#include <cstdio>
#include <cstdlib>

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
#include "kernels/spec.h"
#include "kernels/spmv/spmv.h"
#include "kernels/svd/svd.h"
#include "kernels/transfer_probe/transfer_probe.h"
#include "kernels/trig_identity/trig_identity.h"
#include "kernels/vector_add/vector_add.h"

namespace hotplate {

const absl::StatusOr<Catalog>& TryBuiltinCatalog() {
  // clang-format off
  static const absl::StatusOr<Catalog>& catalog = *new absl::StatusOr<Catalog>(Catalog::Of({
      arange::Spec(),
      batched_matvec::Spec(),
      cholesky::Spec(),
      eigh::Spec(),
      fft::Spec(),
      full::Spec(),
      groupby_sum::Spec(),
      histogram::Spec(),
      integrate2d::Spec(),
      kmeans::Spec(),
      linspace::Spec(),
      mandelbrot::Spec(),
      matmul::Spec(),
      norm::Spec(),
      pagerank::Spec(),
      power_sum::Spec(),
      random::Spec(),
      reduce::Spec(),
      selu::Spec(),
      solve::Spec(),
      sort::Spec(),
      sort_by_key::Spec(),
      spmv::Spec(),
      svd::Spec(),
      transfer_probe::Spec(),
      trig_identity::Spec(),
      vector_add::Spec(),
  }));
  // clang-format on
  return catalog;
}

const Catalog& BuiltinCatalog() {
  const absl::StatusOr<Catalog>& catalog = TryBuiltinCatalog();
  if (catalog.ok()) return *catalog;
  std::fprintf(stderr, "hotplate: %s\n", std::string(catalog.status().message()).c_str());
  std::abort();
}

}  // namespace hotplate
