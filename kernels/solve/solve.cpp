#include "kernels/solve/solve.h"

#include "kernels/matrix_stack.h"
#include "kernels/spec.h"
#include "kernels/square_matrices.h"
#include "kernels/status.h"

namespace hotplate::solve {
namespace {

struct Sizes {
  double count, n, k;  // systems, unknowns, right-hand sides
};

Sizes SizesOf(const BoundCall& call) {
  const Shape &a = call.Input("a").shape, &b = call.Input("b").shape;
  const MatrixStack stack = StackOf(a.data(), a.size());
  return {static_cast<double>(stack.count), static_cast<double>(stack.rows),
          b.size() == 1 ? 1 : static_cast<double>(b.back())};
}

Cost CostOf(const BoundCall& call) {
  const auto [count, n, k] = SizesOf(call);
  return {.flop = count * (2 * n * n * n / 3 + 2 * n * n * k),
          .bytes = count * (n * n + 2 * n * k) * static_cast<double>(SizeOf(call.Input("a").dtype))};
}

// With the search for pivots, and what a library does beside the arithmetic.
double WorkBound(const BoundCall& call) {
  const Cost cost = CostOf(call);
  return 2 * cost.flop + 8 * cost.bytes + 1000 * SizesOf(call).count;
}

absl::Status Shapes(BoundCall& call) {
  if (absl::Status square = CheckSquare(call, "a", kLongestLibrarySide); !square.ok()) return square;
  const Shape &a = call.Input("a").shape, &b = call.Input("b").shape;
  // A vector, or matrices whose columns are the right-hand sides.
  const bool vector = b.size() == 1;
  const bool fits =
      vector ? a.size() == 2 && b[0] == a[0] : b.size() == a.size() && std::equal(a.begin(), a.end() - 1, b.begin());
  if (!fits) {
    return InvalidField("inputs.b", "solve: b is " + ToString(b) + ", which does not fit a " + ToString(a) +
                                        "; expected b [n] for one a [n, n], or a [..., n, n] and b [..., n, k]");
  }
  if (b.back() > kLongestLibrarySide) {
    return InvalidField(
        "inputs.b", "solve: b is " + ToString(b) + "; a side may have at most " + std::to_string(kLongestLibrarySide));
  }
  call.outputs = {call.Input("b")};
  return absl::OkStatus();
}

}  // namespace

KernelSpec Spec() {
  return KernelSpecBuilder("solve", "x with a x = b, for one or many right-hand sides")
      .Docs(
          "a is a general square matrix, factored by LU with pivoting. b is one right-hand side [n], or a matrix whose "
          "columns are several, [n, k]; leading dimensions are a stack of systems, the same in a and b. A singular "
          "matrix ends the job as FAILED, with the pivot that is exactly zero; a matrix that is singular but for "
          "rounding does not, and its x is as large as its inverse. NaN and infinities are not looked for: they spread "
          "as the arithmetic has it. Can be interrupted between the systems of a stack (on a GPU: while they are "
          "handed to it), not within one.")
      .Type("T", {DType::kFloat32, DType::kFloat64})
      .Input("a", "T", "..., n, n", "the matrices")
      .Input("b", "T", "..., n, k", "right-hand sides: [n], or [..., n, k]")
      .Output("x", "T", "..., n, k", "the solutions, of b's shape")
      .CostModel("2/3 * n^3 + 2 * n^2 * k FLOP and n^2 + 2 * n * k elements for each system", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "in each column, max |b - a x| at most 8 * (n + 8) * u * (|a| row sum's maximum * max |x|), u = 2^-24 in "
          "float32 and 2^-53 in float64, but for the rare matrices whose pivots grow; deterministic on one device with "
          "the same number of threads")
      .Shapes(Shapes)
      .Example("hotplate run solve a.npy b.npy -o x.npy")
      .Build();
}

}  // namespace hotplate::solve
