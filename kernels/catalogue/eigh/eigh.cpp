#include "kernels/catalogue/eigh/eigh.h"

#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::eigh {
namespace {

// 2 n^2 + 6 n + 1 elements of LAPACK's workspace are counted in 32 bits.
constexpr std::int64_t kLargest = 32'766;

bool WithVectors(const BoundCall& call) { return call.Choice("compute") == "vectors"; }

Cost CostOf(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  const double n = static_cast<double>(stack.rows), count = static_cast<double>(stack.count);
  const double elements = n * n + n + (WithVectors(call) ? n * n : 0);
  return {.flop = count * n * n * n * (WithVectors(call) ? 9 : 4.0 / 3),
          .bytes = count * elements * static_cast<double>(SizeOf(call.Input("a").dtype))};
}

absl::Status Shapes(BoundCall& call) {
  if (absl::Status square = CheckSquare(call, "a", kLargest); !square.ok()) return square;
  const Signature& a = call.Input("a");
  Signature w = a, v = a;
  w.shape.pop_back();
  if (!WithVectors(call)) v.shape.back() = 0;
  call.outputs = {w, v};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("eigh", "eigenvalues w and eigenvectors v of a symmetric matrix, a v = v diag(w)")
      .Docs(
          "w is in ascending order; column i of v is the eigenvector of w[i], with length 1. Reads only the lower "
          "triangle of a, which is assumed to be symmetric. With compute=values no vectors are computed, and v is "
          "[..., n, 0]. Leading dimensions form a stack of matrices. The signs of eigenvectors, and the basis chosen "
          "for equal eigenvalues, depend on the back-end. NaN, infinity or an iteration that does not converge fails "
          "the job. A cancel takes effect between the matrices of a stack, not within one; on a GPU, only while they "
          "are being submitted, and those of up to 32 rows are submitted all at once.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Param({.name = "compute",
              .type = ParamType::kChoice,
              .default_value = std::string("vectors"),
              .choices = {"vectors", "values"},
              .docs = "vectors: eigenvalues and eigenvectors; values: eigenvalues only"})
      .Input("a", "T", "..., n, n", "the matrices; only their lower triangles are read")
      .Output("w", "T", "..., n", "the eigenvalues, ascending")
      .Output("v", "T", "..., n, n", "the eigenvectors, in columns")
      .CostModel("per matrix: 9 * n^3 FLOP with vectors, 4/3 * n^3 without; 2 * n^2 + n elements", CostOf)
      .Numerics(
          "max |a v - v diag(w)| and the error of an eigenvalue at most 8 * (n + 4) * u * max |w|; max |v^T v - 1| at "
          "most 8 * (n + 4) * u, with u = 2^-24 in float32 and 2^-53 in float64; deterministic on one GPU with the "
          "cuSOLVER of CUDA 12.2 or later; on the CPU only with --deterministic, since otherwise the bits depend on "
          "the number of threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run eigh a.npy -o w=w.npy -o v=v.npy");
}

}  // namespace hotplate::eigh
