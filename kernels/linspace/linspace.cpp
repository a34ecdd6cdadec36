#include "kernels/linspace/linspace.h"

#include <cmath>

#include "kernels/made_array.h"
#include "kernels/spec.h"

namespace hotplate::linspace {
namespace {

absl::Status Shapes(BoundCall& call) {
  const DType dtype = call.outputs.front().dtype;
  // Every element lies between the two, but for the rounding of a float64.
  const double most = dtype == DType::kInt32 ? 0x1p31 - 1 : 0x1p62;
  for (const char* name : {"start", "stop"}) {
    if (IsInteger(dtype) && !(std::fabs(call.Float(name)) <= most)) {
      return RefusedParam(call, name,
                          std::string(Name(dtype)) + (dtype == DType::kInt32 ? " holds at most 2147483647 either way"
                                                                             : " is made up to 2^62 either way"));
    }
  }
  call.outputs.front().shape = {call.Int("num")};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 2 * ElementsOf(call), .bytes = static_cast<double>(call.OutputBytes())};
}

double WorkBound(const BoundCall& call) { return 8 * ElementsOf(call); }

ParamSpec Number(const char* name, std::optional<ParamValue> default_value, const char* docs) {
  return {.name = name,
          .type = ParamType::kFloat,
          .default_value = std::move(default_value),
          .minimum = {},
          .maximum = {},
          .choices = {},
          .docs = docs};
}

}  // namespace

KernelSpec Spec() {
  return KernelSpecBuilder("linspace", "num evenly spaced numbers from start to stop")
      .Docs(
          "numpy.linspace, made where it is used. stop is the last element unless include_stop (NumPy's endpoint) is "
          "off. Computed in float64 "
          "and then rounded to the dtype, down for integers, as NumPy does.")
      .Param(Number("start", 0.0, "the first element"))
      .Param(Number("stop", {}, "the last element, or where a next one would be"))
      .Param({.name = "num",
              .type = ParamType::kInt,
              .default_value = std::int64_t{50},
              .minimum = 0,
              .maximum = static_cast<double>(kMaxArrayBytes),
              .choices = {},
              .docs = "how many"})
      .Param({.name = "include_stop",
              .type = ParamType::kBool,
              .default_value = true,
              .minimum = {},
              .maximum = {},
              .choices = {},
              .docs = "stop is the last element"})
      .Param(DTypeParam("type of the elements"))
      .Output("out", "dtype", "num")
      .CostModel("2 * num FLOP, num * sizeof(dtype) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "the same bits as NumPy with that dtype; where stop - start is beyond float64, so are the elements, as "
          "there; deterministic")
      .Shapes(Shapes)
      .Example("hotplate run linspace --stop 6.283185307179586 --num 1000 -o x.npy")
      .Build();
}

}  // namespace hotplate::linspace
