#include "kernels/full/full.h"

#include "kernels/made_array.h"
#include "kernels/refused_param.h"
#include "kernels/spec.h"

namespace hotplate::full {
namespace {

absl::Status Shapes(BoundCall& call) {
  ChooseDType(call, {"value"});
  const DType dtype = call.outputs.front().dtype;
  if (IsInteger(dtype) && !HoldsInteger(dtype, call.Float("value"))) {
    return RefusedParam(call, "value", "it must be a whole number that " + std::string(Name(dtype)) + " holds");
  }
  return ShapeBySizes(call);
}

Cost CostOf(const BoundCall& call) { return {.flop = 0, .bytes = static_cast<double>(call.OutputBytes())}; }

}  // namespace

KernelSpecBuilder Spec() {
  KernelSpecBuilder builder("full", "an array whose every element is the same value");
  TakeSizes(builder)
      .Param({.name = "value", .type = ParamType::kFloat, .default_value = 0.0, .docs = "every element"})
      .Param(DTypeParam("auto: int64 if the value is an integer (1), else float64 (1.0)", "auto"))
      .Output("out", "dtype", "..., n")
      .Docs(
          "numpy.full (zeros and ones with the values 0.0 and 1.0), made where it is used: nothing is uploaded. Of "
          "one, two or three axes: n, rows and batch. An integer dtype takes a whole number that it holds; float32 "
          "takes the nearest to the value, infinity beyond its largest. NaN and infinity cannot be given.")
      .CostModel("0 FLOP, n * sizeof(dtype) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(ElementsOf)
      .Numerics("exact; the same bits as NumPy")
      .Shapes(Shapes)
      .Example("hotplate run full --n 1000 --rows 1000 --value 1 --dtype float32 -o ones.npy");
  return builder;
}

}  // namespace hotplate::full
