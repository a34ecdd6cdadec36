#include "kernels/spmv/spmv.h"

#include "kernels/csr_shapes.h"
#include "kernels/spec.h"

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
  return KernelSpecBuilder("spmv", "y = A x, for a sparse matrix A in compressed rows (CSR)")
      .Docs(
          "data, indices and indptr are those of scipy.sparse.csr_array, in its order: row r has the entries from "
          "indptr[r] to before indptr[r + 1], and indices are their columns. A has as many rows as indptr has elements "
          "but one, and as many columns as x has elements. A matrix that is none ends the job as FAILED with the first "
          "place that is wrong and the value there: indptr that does not begin with 0, decreases, or does not end with "
          "the number of entries; an index that is no column; indices of a row that are not in ascending order. An "
          "index may be there twice: its entries are added, as SciPy does. A row without entries is 0; NaN and "
          "infinities spread from the entries that are there, as in SciPy. On a GPU it cannot be interrupted once it "
          "runs.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Type("I", {DType::kInt32, DType::kInt64})
      .Input("data", "T", "entries", "the entries, row by row")
      .Input("indices", "I", "entries", "their columns, from 0")
      .Input("indptr", "I", "rows_and_one", "where each row begins, and the last ends")
      .Input("x", "T", "columns", "the vector")
      .Output("y", "T", "rows", "the product")
      .CostModel("2 * entries FLOP; each array once: bound by memory", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "y[r] within (entries of row r + 2) * u * the sum of their |a| |x|, u = 2^-24 in float32 and 2^-53 in "
          "float64; deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run spmv data.npy indices.npy indptr.npy x.npy -o y.npy");
}

}  // namespace hotplate::spmv
