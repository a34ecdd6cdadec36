#include "kernels/catalogue/norm/norm.h"

#include "kernels/base/status.h"
#include "kernels/catalogue/norm/norm_steps.h"
#include "kernels/families/reduced_shape.h"
#include "kernels/spec/refused_param.h"

namespace hotplate::norm {
namespace {

constexpr double kUsualPower = 3;

bool IsExtreme(std::string_view order) { return order == "inf" || order == "-inf"; }

absl::Status CheckOrder(const BoundCall& call, bool matrices) {
  const Shape& x = call.Input("x").shape;
  const std::string &order = call.Choice("ord"), &axis = call.Choice("axis");
  if (axis == "matrices" && x.size() < 2) {
    return InvalidField("inputs.x", "norm: x is " + ToString(x) + "; axis=matrices needs at least 2 dimensions");
  }
  if (axis == "all" && order != "auto" && x.size() != 1 && x.size() != 2) {
    return RefusedParam(call, "ord",
                        "x is " + ToString(x) +
                            ", neither a vector nor a matrix; choose its vectors (--axis -1) or its matrices (--axis "
                            "matrices), or make x one-dimensional; without ord it is the 2-norm of all elements");
  }
  if (matrices && (order == "2" || order == "p" || order == "0")) {
    return RefusedParam(call, "ord",
                        std::string("for a matrix it must be fro, 1, -1, inf or -inf") +
                            (order == "2" ? " (its 2-norm is the largest of svd's values: svd --compute values)" : "") +
                            "; for the vectors in it, add --axis 0 or --axis 1");
  }
  if (!matrices && (order == "fro" || order == "-1")) {
    return RefusedParam(call, "ord",
                        order == "fro"
                            ? "only matrices have that norm; for vectors give 2"
                            : "only matrices have that norm; for vectors give 0, 1, 2, inf, -inf, or p with a power");
  }
  if (order != "p" && call.Float("p") != kUsualPower) {
    return RefusedParam(call, "p", "it applies only with --ord p; ord is " + order);
  }
  return absl::OkStatus();
}

absl::Status Shapes(BoundCall& call) {
  const Signature& x = call.Input("x");
  const std::string& axis = call.Choice("axis");
  const bool keepdims = call.Bool("keepdims");
  const bool matrices = IsOfMatrices(call.Choice("ord"), axis, static_cast<int>(x.shape.size()));
  const std::string_view order = OrderOf(call.Choice("ord"), matrices);
  if (absl::Status status = CheckOrder(call, matrices); !status.ok()) return status;
  Shape shape;
  if (matrices) {
    shape.assign(x.shape.begin(), x.shape.end() - 2);
    if (keepdims) shape.insert(shape.end(), 2, 1);
  } else {
    absl::StatusOr<Shape> reduced = ReducedShape(*call.spec, x.shape, axis, keepdims);
    if (!reduced.ok()) return reduced.status();
    shape = *std::move(reduced);
  }
  const Steps steps = StepsOf(call);
  const bool of_nothing =
      (matrices && steps.two ? steps.second : steps.first).count == 0 && (IsExtreme(order) || (matrices && steps.two));
  if (of_nothing && ElementCount(shape).value_or(0) != 0) {
    return InvalidField(
        "inputs.x", "norm: x is " + ToString(x.shape) + "; norm " + std::string(order) + " needs at least one element");
  }
  // A sum for each row or column: only where x has no elements there may be more of them than memory is counted for.
  if (steps.between() > kMaxArrayBytes / sizeof(double)) {
    return InvalidField("inputs.x", "norm: x is " + ToString(x.shape) + ", whose " + std::to_string(steps.between()) +
                                        " rows or columns have no elements; there may be at most " +
                                        std::to_string(kMaxArrayBytes / sizeof(double)));
  }
  call.outputs = {{.dtype = IsFloating(x.dtype) ? x.dtype : DType::kFloat64, .shape = std::move(shape)}};
  return absl::OkStatus();
}

double Elements(const BoundCall& call) { return static_cast<double>(*ElementCount(call.Input("x").shape)); }

Cost CostOf(const BoundCall& call) {
  const bool p = call.Choice("ord") == "p", twice = p && StepsOf(call).two;
  return {.flop = (p ? 50 : 2) * Elements(call),
          .bytes = (twice ? 2 : 1) * static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

// The cost of each element, and the fixed cost of an output.
double WorkBound(const BoundCall& call) {
  const Steps steps = StepsOf(call);
  return 150 * Elements(call) + 500 * static_cast<double>(steps.first.outputs() + steps.second.outputs());
}

ParamSpec Axis() {
  ParamSpec axis = AxisParam("the axis of the vectors; matrices: the matrices in the last two axes; all: x as it is");
  axis.choices.push_back("matrices");
  return axis;
}

}  // namespace

Steps StepsOf(const BoundCall& call) {
  const Shape& x = call.Input("x").shape;
  return StepsOf(x.data(), static_cast<int>(x.size()), call.Choice("ord"), call.Float("p"), call.Choice("axis"));
}

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("norm", "norms of vectors (0, 1, 2, inf, -inf, p) and of matrices (fro, 1, -1, inf, -inf)")
      .Docs(
          "The same as numpy.linalg.norm. Without ord and axis it is the square root of the sum of all squares. With "
          "ord alone, x must be a vector or a matrix; axis selects vectors, or matrices, within x. Norms of vectors: 1 "
          "is the sum of magnitudes, 2 the square root of the sum of squares, inf the largest magnitude, -inf the "
          "smallest, 0 the number of non-zero elements, p the p-th root of the sum of the p-th powers. Norms of "
          "matrices: fro is the square root of the sum of squares, 1 the largest column sum of magnitudes, -1 the "
          "smallest, inf and -inf the same for rows. The matrix norms 2, -2 and nuc are the largest, the smallest and "
          "the sum of the singular values that svd computes. No intermediate square or power overflows; only the "
          "result may. Integers are converted to float64. A NaN makes the result NaN, except with ord 0. The norm of "
          "no elements is 0 where NumPy defines one. On a GPU a running job cannot be cancelled.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Param({.name = "ord",
              .type = ParamType::kChoice,
              .default_value = std::string("auto"),
              .choices = {"auto", "0", "1", "-1", "2", "inf", "-inf", "p", "fro"},
              .docs = "which norm; auto: 2 for vectors, fro for matrices"})
      .Param({.name = "p",
              .type = ParamType::kFloat,
              .default_value = kUsualPower,
              .minimum = 0.01,
              .maximum = 1000,
              .docs = "the power, with --ord p"})
      .Param(Axis())
      .Param(KeepdimsParam())
      .Input("x", "T", "...", "")
      .Output("y", "float(T)", "...", "x without the reduced axes, or with size 1 there")
      .CostModel(
          "2 * n FLOP (ord p: 50 * n); x and y moved once (ord p with p of at least 0.1 reads x twice): bound by "
          "memory bandwidth",
          CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "for n elements, the relative error is at most 4 * 2^-24 in float32, which is computed in float64; in "
          "float64 (640 + n / 512) * 2^-53 on the CPU and (64 + n) * 2^-53 on a GPU, usually far less; with ord p 1 + "
          "1/p times as much (plus the rounding of a subnormal result). ord 0, and inf and -inf of vectors, are exact. "
          "In float64 with ord 2 and fro, elements below 1e-280 may count as 0. The same bits with any number of "
          "threads; deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run norm x.npy --ord inf --axis 0 -o y.npy");
}

}  // namespace hotplate::norm
