#include "kernels/cholesky/cholesky.h"

#include "kernels/matrix_stack.h"
#include "kernels/spec.h"
#include "kernels/square_matrices.h"

namespace hotplate::cholesky {
namespace {

MatrixStack StackIn(const BoundCall& call) {
  const Shape& shape = call.Input("a").shape;
  return StackOf(shape.data(), shape.size());
}

Cost CostOf(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  const double n = static_cast<double>(stack.rows), count = static_cast<double>(stack.count);
  return {.flop = count * n * n * n / 3,
          .bytes = 2 * count * n * n * static_cast<double>(SizeOf(call.Input("a").dtype))};
}

// With square roots and divisions, and what a library does beside the arithmetic.
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
          "l is lower triangular, with zeros above the diagonal. Only a's lower triangle is read: a is taken to be "
          "symmetric. Leading dimensions are a stack of matrices, each factored by itself. A matrix that is not "
          "positive definite ends the job as FAILED, with the order of the first leading minor that is not; so does "
          "one that holds a NaN or an infinity. A GPU's library may refuse 2^31 elements and more (n above 46340), "
          "which the CPU takes. Can be interrupted between the matrices of a stack (on a GPU: while "
          "they are handed to it, those of up to 32 rows all at once), not within one.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "..., n, n", "the matrices; their lower triangles")
      .Output("l", "T", "..., n, n", "the factors")
      .CostModel("n^3 / 3 FLOP and 2 * n^2 elements for each matrix", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "|a - l l^T| at most 2 * (n + 2) * u * (|l| |l^T|) on and below the diagonal, u = 2^-24 in float32 and "
          "2^-53 in float64; deterministic on one device (a GPU: by the cuSOLVER of CUDA 12.2 or later), on the CPU "
          "only with --deterministic: else the bits depend on the number of threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run cholesky a.npy -o l.npy");
}

}  // namespace hotplate::cholesky
