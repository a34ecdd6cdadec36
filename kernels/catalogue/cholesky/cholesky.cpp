#include "kernels/catalogue/cholesky/cholesky.h"

#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::cholesky {
namespace {

Cost CostOf(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  const double n = static_cast<double>(stack.rows), count = static_cast<double>(stack.count);
  return {.flop = count * n * n * n / 3,
          .bytes = 2 * count * n * n * static_cast<double>(SizeOf(call.Input("a").dtype))};
}

// Includes square roots, divisions, and a library's work beside the arithmetic.
double WorkBound(const BoundCall& call) {
  const Cost cost = CostOf(call);
  return 2 * cost.flop + 8 * cost.bytes + 1000 * static_cast<double>(StackIn(call).count);
}

absl::Status Shapes(BoundCall& call) {
  if (absl::Status square = CheckSquare(call, "a", kLongestLibrarySide); !square.ok()) return square;
  call.outputs = {call.Input("a")};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("cholesky", "a = l l^T, the Cholesky factor of a symmetric positive definite matrix")
      .Docs(
          "l is lower triangular, with zeros above the diagonal. Reads only the lower triangle of a, which is assumed "
          "to be symmetric. Leading dimensions form a stack of matrices, each factored separately. A matrix that is "
          "not positive definite fails the job; the message gives the order of the first leading minor that is not "
          "positive definite. NaN and infinity also fail the job. On a GPU, cuSOLVER may refuse matrices of 2^31 "
          "elements or more (n above 46340); the CPU accepts them. A cancel takes effect between the matrices of a "
          "stack, not within one; on a GPU, only while they are being submitted, and those of up to 32 rows are "
          "submitted all at once.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "..., n, n", "the matrices; only their lower triangles are read")
      .Output("l", "T", "..., n, n", "the lower triangular factors")
      .CostModel("n^3 / 3 FLOP per matrix; moves 2 * n^2 elements", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|a - l l^T| at most 2 * (n + 2) * u * (|l| |l^T|) on and below the diagonal, with u = 2^-24 in float32 and "
          "2^-53 in float64; deterministic on one GPU with the cuSOLVER of CUDA 12.2 or later; on the CPU only with "
          "--deterministic, since otherwise the bits depend on the number of threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run cholesky a.npy -o l.npy");
}

}  // namespace hotplate::cholesky
