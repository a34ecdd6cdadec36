#include "kernels/catalogue/slogdet/slogdet.h"

#include "kernels/families/square_matrices.h"

namespace hotplate::slogdet {
namespace {

Cost CostOf(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  const double n = static_cast<double>(stack.rows);
  return {.flop = static_cast<double>(stack.count) * 2 * n * n * n / 3,
          .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

// Includes the search for pivots, logarithms, and a library's work beside the arithmetic.
double WorkBound(const BoundCall& call) {
  const Cost cost = CostOf(call);
  return 2 * cost.flop + 8 * cost.bytes + 1000 * static_cast<double>(StackIn(call).count);
}

absl::Status Shapes(BoundCall& call) {
  if (absl::Status square = CheckSquare(call, "a", kLongestLibrarySide); !square.ok()) return square;
  Signature each = call.Input("a");
  each.shape.resize(each.shape.size() - 2);
  call.outputs = {each, each};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("slogdet", "sign and logarithm of the magnitude of a determinant")
      .Docs(
          "The same as numpy.linalg.slogdet: the determinant is sign * exp(logabsdet). a is factored by LU with "
          "pivoting. If a pivot is exactly zero, sign is 0 and logabsdet is -inf. A matrix that holds a NaN or an "
          "infinity has NaN for both. Leading dimensions form a stack of matrices. A cancel takes effect between the "
          "matrices of a stack, not within one. Runs on the CPU only.")
      .CpuOnly()
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "..., n, n", "the matrices")
      .Output("sign", "T", "...", "-1, 0 or 1")
      .Output("logabsdet", "T", "...", "the natural logarithm of the determinant's magnitude")
      .CostModel("2/3 * n^3 FLOP per matrix; a read and the outputs written once", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "with c = |a| |a^-1| by largest row sums, logabsdet is within 8 * n * (n + 8) * u * c + 2 * u * |logabsdet| "
          "and sign is exact where that is below 1, with u = 2^-24 in float32 and 2^-53 in float64, except for rare "
          "matrices whose pivots grow; the same bits with any number of threads only with --deterministic")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run slogdet a.npy -o sign=sign.npy -o logabsdet=logabsdet.npy");
}

}  // namespace hotplate::slogdet
