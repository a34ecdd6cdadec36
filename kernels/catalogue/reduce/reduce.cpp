#include "kernels/catalogue/reduce/reduce.h"

#include "kernels/base/status.h"
#include "kernels/families/reduced_shape.h"
#include "kernels/spec/refused_param.h"

namespace hotplate::reduce {
namespace {

bool IsSum(const std::string& operation) { return operation == "sum" || operation == "prod"; }
bool IsPlace(const std::string& operation) { return operation == "argmin" || operation == "argmax"; }
bool IsExtreme(const std::string& operation) { return operation == "min" || operation == "max"; }

DType ResultType(const std::string& operation, DType dtype) {
  if (IsPlace(operation)) return DType::kInt64;
  if (IsExtreme(operation) || IsFloating(dtype)) return dtype;
  return IsSum(operation) ? DType::kInt64 : DType::kFloat64;
}

absl::Status Shapes(BoundCall& call) {
  const Signature& x = call.Input("x");
  const std::string &operation = call.Choice("operation"), &axis = call.Choice("axis");
  if (operation != "std" && call.Int("ddof") != 0) {
    return RefusedParam(call, "ddof", "it applies only with --operation std; operation is " + operation);
  }
  absl::StatusOr<Shape> shape = ReducedShape(*call.spec, x.shape, axis, call.Bool("keepdims"));
  if (!shape.ok()) return shape.status();
  const bool nothing = ExtentOf(x.shape, axis).count == 0;
  if (nothing && (IsPlace(operation) || (IsExtreme(operation) && ElementCount(*shape).value_or(0) != 0))) {
    return InvalidField("inputs.x", "reduce: x is " + ToString(x.shape) + "; " + operation +
                                        " needs at least one element" +
                                        (axis == "all" ? std::string() : " along axis " + axis));
  }
  call.outputs = {{.dtype = ResultType(operation, x.dtype), .shape = *std::move(shape)}};
  return absl::OkStatus();
}

double Elements(const BoundCall& call) { return static_cast<double>(*ElementCount(call.Input("x").shape)); }

Cost CostOf(const BoundCall& call) {
  const bool deviation = call.Choice("operation") == "std";
  return {
      .flop = (deviation ? 4 : 1) * Elements(call),
      .bytes = (deviation ? 2 : 1) * static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

// The cost of each element, and the fixed cost of an output.
double WorkBound(const BoundCall& call) {
  return 20 * Elements(call) + 500 * static_cast<double>(*ElementCount(call.outputs.front().shape));
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("reduce",
                           "sum, prod, min, max, argmin, argmax, mean or std, along one axis or over all elements")
      .Docs(
          "The same as NumPy's functions of these names. Integers are summed and multiplied in int64 and wrap around; "
          "mean and std of integers are float64; min and max keep the dtype; argmin and argmax return the first "
          "position as int64, in the flattened array if there is no axis. A NaN makes the result NaN; argmin and "
          "argmax return the position of the first NaN. For no elements the sum is 0, the product is 1, mean and std "
          "are NaN, and the others are refused. On a GPU a running job cannot be cancelled.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Param({.name = "operation",
              .type = ParamType::kChoice,
              .default_value = std::string("sum"),
              .choices = {"sum", "prod", "min", "max", "argmin", "argmax", "mean", "std"},
              .docs = "the reduction"})
      .Param(AxisParam("the axis to reduce; all: every axis"))
      .Param(KeepdimsParam())
      .Param({.name = "ddof",
              .type = ParamType::kInt,
              .default_value = std::int64_t{0},
              .minimum = 0,
              .maximum = 1e9,
              .docs = "with --operation std: the divisor is the number of elements minus this; 1 for a sample"})
      .Input("x", "T", "...", "")
      .Output("y", "T", "...",
              "x without the axis, or with size 1 there; int64 or float64 if the operation requires it")
      .CostModel("n FLOP (std: 4 * n); x and y moved once (std reads x twice): bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "float64 is summed in two float64, float32 in one. With u = 2^-53, w = 2^-100 for float64 and integers and u "
          "= 2^-24, w = 2^-53 for float32, sum and mean are within 2 * u * |exact| + n * w * (sum or mean of |x|), and "
          "std is within 4 * u * (std + |mean|), unless a sum of elements or squares leaves the range of float64, as "
          "it would in NumPy: std is infinite if elements are more than about 1e154 from their mean, and inexact or 0 "
          "if all are less than about 1e-154 from it. For mean and std, int64 is rounded to float64 first. A product "
          "of floats is computed in float64, within a relative n * 2^-52 plus one rounding of the exact one, unless a "
          "partial product overflows or underflows. min, max, argmin, argmax and integers are exact; among zeros of "
          "both signs, min and max may return either. The same bits with any number of threads; deterministic on one "
          "device")
      .Shapes(Shapes)
      .Example("hotplate run reduce x.npy --operation mean --axis 0 -o y.npy");
}

}  // namespace hotplate::reduce
