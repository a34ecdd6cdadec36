#include "kernels/solve/solve.h"

#include "kernels/solve/systems.h"
#include "kernels/spec.h"
#include "kernels/square_matrices.h"
#include "kernels/status.h"

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

// With the search for pivots, and what a library does beside the arithmetic.
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
    return InvalidField("inputs.b", "solve: b is " + ToString(b) + ", which does not fit a " + ToString(a) +
                                        "; expected b [n] or [..., n, k] for a [..., n, n], and sizes in \"...\", "
                                        "counted from the last, that are the same or 1");
  }
  if (b.back() > kLongestLibrarySide) {
    return InvalidField(
        "inputs.b", "solve: b is " + ToString(b) + "; a side may have at most " + std::to_string(kLongestLibrarySide));
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
          "a is a general square matrix, factored by LU with pivoting. b is one right-hand side [n], or a matrix whose "
          "columns are several, [n, k]. Leading dimensions are a stack of systems: those of a and b follow NumPy "
          "broadcasting, so that one a may serve a stack of b, or one b a stack of a; neighbours that share a matrix "
          "have it factored once by each thread, or block of a GPU, that takes some of them. A singular matrix ends "
          "the job as FAILED, with the pivot that is exactly zero; a matrix that is singular but for "
          "rounding does not, and its x is as large as its inverse. NaN and infinities are not looked for: they spread "
          "as the arithmetic has it. A GPU's library may refuse 2^31 elements and more (n above 46340), "
          "which the CPU takes. Can be interrupted between the systems of a stack (on a GPU: while they are "
          "handed to it, those of up to 32 unknowns all at once), not within one.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "broadcast ..., n, n", "the matrices")
      .Input("b", "T", "broadcast ..., n, k", "right-hand sides: [n], or [..., n, k]")
      .Output("x", "T", "..., n, k", "the solutions; [..., n] for b [n]")
      .CostModel(
          "2/3 * n^3 FLOP for each matrix that is factored, 2 * n^2 * k for each system; every input and output once",
          CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "in each column, max |b - a x| at most 8 * (n + 8) * u * (|a| row sum's maximum * max |x|), u = 2^-24 in "
          "float32 and 2^-53 in float64, but for the rare matrices whose pivots grow; deterministic on one device (a "
          "GPU: by the cuSOLVER of CUDA 12.2 or later), on the CPU only with --deterministic: else the bits depend on "
          "the number of threads")
      .SameBits(Determinism::kOnRequest)
      .Shapes(Shapes)
      .Example("hotplate run solve a.npy b.npy -o x.npy");
}

}  // namespace hotplate::solve
