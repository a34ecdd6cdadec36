#include "kernels/norm/norm.h"

#include "kernels/norm/norm_steps.h"
#include "kernels/reduced_shape.h"
#include "kernels/refused_param.h"
#include "kernels/status.h"

namespace hotplate::norm {
namespace {

constexpr double kUsualPower = 3;

bool IsExtreme(const std::string& order) { return order == "inf" || order == "-inf"; }

absl::Status Shapes(BoundCall& call) {
  const Signature& x = call.Input("x");
  const std::string &order = call.Choice("ord"), &axis = call.Choice("axis");
  const bool keepdims = call.Bool("keepdims"), matrices = axis == "matrices";
  if (matrices && x.shape.size() < 2) {
    return InvalidField("inputs.x", "norm: x is " + ToString(x.shape) +
                                        ", which has no matrices; axis matrices needs at least 2 dimensions");
  }
  if (matrices && order != "fro" && order != "1" && order != "inf") {
    return InvalidField("params.ord", "norm: ord is " + order + ", and of matrices there are fro, 1 and inf" +
                                          (order == "2" ? "; the 2-norm is the largest of svd's values" : ""));
  }
  if (!matrices && order == "fro") {
    return InvalidField("params.ord",
                        "norm: ord is fro, which is a norm of matrices; set axis to matrices, or ord to 2");
  }
  if (order != "p" && call.Float("p") != kUsualPower) {
    return RefusedParam(call, "p", "it is for --ord p, and ord is " + order);
  }
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
    return InvalidField("inputs.x",
                        "norm: x is " + ToString(x.shape) + ", and there is no norm " + order + " of no elements");
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

// Beside each element, what an output takes however few elements it has.
double WorkBound(const BoundCall& call) {
  const Steps steps = StepsOf(call);
  return 150 * Elements(call) + 500 * static_cast<double>(steps.first.outputs() + steps.second.outputs());
}

ParamSpec Axis() {
  ParamSpec axis =
      AxisParam("the axis of the vectors; all: x flattened; matrices: of the matrices in the last two axes");
  axis.choices.push_back("matrices");
  return axis;
}

}  // namespace

Steps StepsOf(const BoundCall& call) {
  const Shape& x = call.Input("x").shape;
  return StepsOf(x.data(), static_cast<int>(x.size()), call.Choice("ord"), call.Float("p"), call.Choice("axis"));
}

KernelSpec Spec() {
  return KernelSpecBuilder("norm", "norms of vectors (1, 2, inf, -inf, p) along an axis, and of matrices (fro, 1, inf)")
      .Docs(
          "What numpy.linalg.norm returns. ord 1: the sum of magnitudes (of matrices, the largest of a column); 2, and "
          "fro of matrices: the root of the sum of squares; inf: the largest magnitude (of matrices, the largest sum "
          "of a row's); -inf: the smallest; p: the p-th root of the sum of the p-th powers. No square and no power "
          "overflows, only the result may. Integers are computed in float64. A NaN makes the result NaN. Of no "
          "elements the norm is 0, where NumPy has one. On a GPU it cannot be interrupted once it runs.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Param({.name = "ord",
              .type = ParamType::kChoice,
              .default_value = std::string("2"),
              .choices = {"1", "2", "inf", "-inf", "p", "fro"},
              .docs = "which norm"})
      .Param({.name = "p",
              .type = ParamType::kFloat,
              .default_value = kUsualPower,
              .minimum = 0.01,
              .maximum = 1000,
              .docs = "the power, with --ord p"})
      .Param(Axis())
      .Param(KeepdimsParam())
      .Input("x", "T", "...", "")
      .Output("y", "float(T)", "...", "x without the axis or the last two, or with them of size 1")
      .CostModel(
          "2 * n FLOP (ord p: 50 * n), x and y moved once (ord p with p from 0.1 on reads x twice): bound by memory "
          "bandwidth",
          CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "of n elements, relative error at most 4 * 2^-24 in float32, which is computed in float64; in float64 (640 + "
          "n / 512) * 2^-53 on the CPU and (64 + n) * 2^-53 on a GPU, mostly far less; with ord p that times 1 + 1/p "
          "(beside the rounding of a result too small to be normal); "
          "inf and -inf are exact. In float64 with ord 2 and fro, elements below 1e-280 may count as 0. The same bits "
          "whatever the number of threads; deterministic on one device")
      .Shapes(Shapes)
      .Example("hotplate run norm x.npy --ord inf --axis 0 -o y.npy")
      .Build();
}

}  // namespace hotplate::norm
