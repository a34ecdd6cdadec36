#include "kernels/catalogue/eig/eig.h"

#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::eig {
namespace {

bool WithVectors(const BoundCall& call) { return call.Choice("compute") == "vectors"; }

// A complex product and sum are four real products and four sums.
Cost CostOf(const BoundCall& call) {
  const MatrixStack stack = StackIn(call);
  const double n = static_cast<double>(stack.rows), each = IsComplex(call.Input("a").dtype) ? 4 : 1;
  return {.flop = static_cast<double>(stack.count) * n * n * n * each * (WithVectors(call) ? 79.0 / 3 : 10),
          .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

absl::Status Shapes(BoundCall& call) {
  // LAPACK counts its workspace in 32 bits, up to 257 elements for each row: no array holds a matrix of so many rows.
  if (absl::Status square = CheckSquare(call, "a", kLongestLibrarySide); !square.ok()) return square;
  const Signature& a = call.Input("a");
  Signature w{.dtype = ComplexOf(a.dtype), .shape = a.shape}, v = w;
  w.shape.pop_back();
  if (!WithVectors(call)) v.shape.back() = 0;
  call.outputs = {w, v};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("eig", "eigenvalues w and right eigenvectors v of a square matrix, a v = v diag(w)")
      .Docs(
          "For matrices that need not be symmetric; eigh is faster for those that are. w and v are complex even where "
          "all eigenvalues are real, as the Array API standard has it; numpy.linalg.eig returns real ones there. w is "
          "in no particular order. Of a real matrix the complex eigenvalues come in conjugate pairs, the one with the "
          "positive imaginary part first. Column i of v is the eigenvector of w[i], with length 1 and with its largest "
          "component real. The columns are not orthogonal in general, and a matrix that cannot be diagonalised has "
          "columns that are parallel up to rounding. With compute=values no vectors are computed, and v is [..., n, "
          "0]. Leading dimensions form a stack of matrices. NaN, infinity or an iteration that does not converge fails "
          "the job. A cancel takes effect between the matrices of a stack, not within one. Runs on the CPU only.")
      .CpuOnly()
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128})
      .Param({.name = "compute",
              .type = ParamType::kChoice,
              .default_value = std::string("vectors"),
              .choices = {"vectors", "values"},
              .docs = "vectors: eigenvalues and eigenvectors; values: eigenvalues only"})
      .Input("a", "T", "..., n, n", "the matrices")
      .Output("w", "complex(T)", "..., n", "the eigenvalues")
      .Output("v", "complex(T)", "..., n, n", "the eigenvectors, in columns")
      .CostModel(
          "per matrix: 79/3 * n^3 FLOP with vectors, 10 * n^3 without, four times as many of complex numbers; every "
          "input and output moved once",
          CostOf)
      .Numerics(
          "w are the eigenvalues of a matrix that differs from a by at most 8 * (n + 4) * u * |a|; in each column, |a "
          "v - v diag(w)| is at most as much, and the length differs from 1 by at most 8 * (n + 4) * u; with |a| the "
          "Frobenius norm, u = 2^-24 in float32 and complex64, 2^-53 in float64 and complex128. An eigenvalue may "
          "differ by more, since those of some matrices change greatly with their elements. LAPACK balances a first: "
          "a matrix whose rows and columns differ by many orders of magnitude may lose digits. The same bits with any "
          "number of threads only with --deterministic")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run eig a.npy -o w=w.npy -o v=v.npy");
}

}  // namespace hotplate::eig
