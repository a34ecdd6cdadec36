#include "kernels/catalogue/spmv/spmv.h"

#include "kernels/families/csr_shapes.h"
#include "kernels/spec/spec.h"

namespace hotplate::spmv {
namespace {

double Entries(const BoundCall& call) { return static_cast<double>(call.Input("data").shape[0]); }

absl::Status Shapes(BoundCall& call) {
  if (absl::Status status = CheckCsrShapes(call); !status.ok()) return status;
  call.outputs[0].shape = {CsrRows(call)};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 2 * Entries(call), .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

// Each entry's element of x may be a miss of all caches.
double WorkBound(const BoundCall& call) { return 1000 + 200 * Entries(call) + 20 * static_cast<double>(CsrRows(call)); }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("spmv", "y = A x for a sparse matrix A in compressed sparse rows (CSR)")
      .Docs(
          "data, indices and indptr are those of scipy.sparse.csr_array, in this order: row r has the entries from "
          "indptr[r] up to but not including indptr[r + 1], and indices holds their columns. A has one row less than "
          "indptr has elements, and as many columns as x has elements. An invalid matrix fails the job; the message "
          "gives the first wrong position and its value. It is invalid if indptr does not begin with 0, decreases, or "
          "does not end with the number of entries, if an index is not a column, or if the indices of a row do not "
          "ascend. Entries with the same index are added, as in SciPy. A row without entries gives 0. NaN and "
          "infinities propagate from stored entries, as in SciPy. On a GPU a running job cannot be cancelled.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Type("I", {DType::kInt32, DType::kInt64})
      .Input("data", "T", "entries", "the stored entries, row by row")
      .Input("indices", "I", "entries", "column of each entry, from 0")
      .Input("indptr", "I", "rows_and_one", "where each row begins in data, then the number of entries")
      .Input("x", "T", "columns", "the vector")
      .Output("y", "T", "rows", "the product")
      .CostModel("2 * entries FLOP; each array moved once: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "for a row r of k entries, |y[r] - exact| at most (k + 2) * u * (sum of their |a| |x|), with u = 2^-24 in "
          "float32 and 2^-53 in float64; deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run spmv data.npy indices.npy indptr.npy x.npy -o y.npy");
}

}  // namespace hotplate::spmv
