#include "kernels/catalogue/solve/solve.h"

#include "kernels/base/status.h"
#include "kernels/catalogue/solve/systems.h"
#include "kernels/families/square_matrices.h"
#include "kernels/spec/spec.h"

namespace hotplate::solve {
namespace {

Systems Asked(const BoundCall& call) {
  return SystemsOf(call.Input("a").shape, call.Input("b").shape, call.outputs.front().shape);
}

Cost CostOf(const BoundCall& call) {
  const Systems systems = Asked(call);
  if (systems.empty()) return {};
  const double n = static_cast<double>(systems.stack.rows), k = static_cast<double>(systems.k);
  return {.flop = static_cast<double>(systems.factorings()) * 2 * n * n * n / 3 +
                  static_cast<double>(systems.count) * 2 * n * n * k,
          .bytes = static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

// Includes the search for pivots, and a library's work beside the arithmetic.
double WorkBound(const BoundCall& call) {
  const Cost cost = CostOf(call);
  return 2 * cost.flop + 8 * cost.bytes + 1000 * static_cast<double>(Asked(call).count);
}

absl::Status Shapes(BoundCall& call) {
  if (absl::Status square = CheckSquare(call, "a", kLongestLibrarySide); !square.ok()) return square;
  const Shape &a = call.Input("a").shape, &b = call.Input("b").shape;
  // A vector, or matrices whose columns are the right-hand sides.
  const bool vector = b.size() == 1;
  std::optional<Shape> x;
  if (vector) {
    x = Shape(a.begin(), a.end() - 2);
  } else if (b.size() >= 2) {
    x = BroadcastShape(BatchOf(a), BatchOf(b));
  }
  if (!x || b[b.size() - (vector ? 1 : 2)] != a.back()) {
    return InvalidField("inputs.b", "solve: b is " + ToString(b) + " and does not fit a, " + ToString(a) +
                                        "; for a [..., n, n], b must be [n] or [..., n, k], with sizes in \"...\" "
                                        "that are equal or 1, aligned at the right");
  }
  if (b.back() > kLongestLibrarySide) {
    return InvalidField("inputs.b", "solve: b is " + ToString(b) + "; an axis may have at most " +
                                        std::to_string(kLongestLibrarySide) + " elements");
  }
  x->push_back(a.back());
  if (!vector) x->push_back(b.back());
  call.outputs = {{.dtype = call.Input("a").dtype, .shape = *std::move(x)}};
  return absl::OkStatus();
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("solve", "x with a x = b, for one or many right-hand sides")
      .Docs(
          "a is a general square matrix, factored by LU with pivoting. b is one right-hand side [n], or a matrix [n, "
          "k] with one in each column. Leading dimensions form a stack of systems; those of a and b follow NumPy "
          "broadcasting, so one a can serve a stack of b, or one b a stack of a. Neighbouring systems that share a "
          "matrix share its factors, within each thread or GPU block that solves several of them. A singular matrix "
          "fails the job; the message gives the pivot that is exactly zero. A matrix that is singular except for "
          "rounding does not fail; its x is as large as its inverse. NaN and infinities are not checked; they "
          "propagate as in arithmetic. On a GPU, cuSOLVER may refuse 2^31 elements or more (n above 46340); the CPU "
          "accepts them. A cancel takes effect between the systems of a stack, not within one; on a GPU, only while "
          "they are being submitted, and those of up to 32 unknowns are submitted all at once.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "broadcast ..., n, n", "the matrices")
      .Input("b", "T", "broadcast ..., n, k", "right-hand sides: [n] or [..., n, k]")
      .Output("x", "T", "..., n, k", "the solutions; [..., n] if b is [n]")
      .CostModel("2/3 * n^3 FLOP per factored matrix, 2 * n^2 * k per system; every input and output moved once",
                 CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "in each column, max |b - a x| at most 8 * (n + 8) * u * (largest row sum of |a|) * max |x|, with u = 2^-24 "
          "in float32 and 2^-53 in float64, except for rare matrices whose pivots grow; deterministic on one GPU with "
          "the cuSOLVER of CUDA 12.2 or later; on the CPU only with --deterministic, since otherwise the bits depend "
          "on the number of threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run solve a.npy b.npy -o x.npy");
}

}  // namespace hotplate::solve
