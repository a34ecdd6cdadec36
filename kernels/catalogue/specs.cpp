// The table of specs: one line a kernel.
#include <cstdio>
#include <cstdlib>

#include "kernels/catalogue/arange/arange.h"
#include "kernels/catalogue/argsort/argsort.h"
#include "kernels/catalogue/batched_matvec/batched_matvec.h"
#include "kernels/catalogue/cholesky/cholesky.h"
#include "kernels/catalogue/eig/eig.h"
#include "kernels/catalogue/eigh/eigh.h"
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
#include "kernels/spec/spec.h"

namespace hotplate {

const absl::StatusOr<Catalog>& TryBuiltinCatalog() {
  // clang-format off
  static const absl::StatusOr<Catalog>& catalog = *new absl::StatusOr<Catalog>(Catalog::Of({
      arange::Spec(),
      argsort::Spec(),
      batched_matvec::Spec(),
      cholesky::Spec(),
      eig::Spec(),
      eigh::Spec(),
      fft::Spec(),
      flatnonzero::Spec(),
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
      qr::Spec(),
      random::Spec(),
      reduce::Spec(),
      scan::Spec(),
      searchsorted::Spec(),
      selu::Spec(),
      slogdet::Spec(),
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
