#include "kernels/catalogue/full/full.h"

#include "kernels/families/made_array.h"
#include "kernels/spec/refused_param.h"
#include "kernels/spec/spec.h"

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
  KernelSpecBuilder builder("full", "an array filled with one value");
  TakeSizes(builder)
      .Param({.name = "value", .type = ParamType::kFloat, .default_value = 0.0, .docs = "value of every element"})
      .Param(DTypeParam("auto: int64 if the value is an integer (1), else float64 (1.0)", "auto"))
      .Output("out", "dtype", "..., n")
      .Docs(
          "numpy.full, computed on the device: nothing is uploaded. The value 0.0 gives numpy.zeros, 1.0 gives "
          "numpy.ones. The array has one, two or three axes: n, rows and batch. An integer dtype needs a whole number "
          "in its range. float32 takes the nearest number to the value, or infinity beyond its largest. NaN and "
          "infinity are not accepted.")
      .CostModel("0 FLOP, n * sizeof(dtype) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(ElementsOf)
      .Numerics("exact; the same bits as NumPy")
      .Shapes(Shapes)
      .Example("hotplate run full --n 1000 --rows 1000 --value 1 --dtype float32 -o ones.npy");
  return builder;
}

}  // namespace hotplate::full
