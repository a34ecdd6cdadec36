#include "kernels/catalogue/linspace/linspace.h"

#include "kernels/families/made_array.h"
#include "kernels/spec/refused_param.h"
#include "kernels/spec/spec.h"

namespace hotplate::linspace {
namespace {

absl::Status Shapes(BoundCall& call) {
  const DType dtype = call.outputs.front().dtype;
  // Every element lies between the two, apart from the rounding of a float64.
  const bool narrow = dtype == DType::kInt32;
  const double least = narrow ? -0x1p31 : -0x1p62, most = narrow ? 0x1p31 - 1 : 0x1p62;
  for (const char* name : {"start", "stop"}) {
    const double value = call.Float(name);
    if (IsInteger(dtype) && !(least <= value && value <= most)) {
      return RefusedParam(
          call, name,
          narrow ? "with int32 it must be from -2147483648 to 2147483647" : "with int64 it must be from -2^62 to 2^62");
    }
  }
  call.outputs.front().shape = {call.Int("num")};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 2 * ElementsOf(call), .bytes = static_cast<double>(call.OutputBytes())};
}

double WorkBound(const BoundCall& call) { return 8 * ElementsOf(call); }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("linspace", "num evenly spaced numbers from start to stop")
      .Docs(
          "numpy.linspace, computed on the device. stop is the last element unless include_stop (NumPy's endpoint) is "
          "off. Elements are computed in float64, then rounded to the dtype; for integers, down, as in NumPy.")
      .Param(NumberParam("start", 0.0, "the first element"))
      .Param(NumberParam("stop", {}, "the last element, or the excluded end"))
      .Param({.name = "num",
              .type = ParamType::kInt,
              .default_value = std::int64_t{50},
              .minimum = 0,
              .maximum = static_cast<double>(kMaxArrayBytes),
              .docs = "number of elements"})
      .Param({.name = "include_stop",
              .type = ParamType::kBool,
              .default_value = true,
              .docs = "include stop as the last element"})
      .Param(DTypeParam("dtype of the elements"))
      .Output("out", "dtype", "num")
      .CostModel("2 * num FLOP, num * sizeof(dtype) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "the same bits as NumPy with that dtype; if stop - start overflows float64, so do the elements, as in NumPy; "
          "deterministic")
      .Shapes(Shapes)
      .Example("hotplate run linspace --stop 6.283185307179586 --num 1000 -o x.npy");
}

}  // namespace hotplate::linspace
