#include "kernels/catalogue/arange/arange.h"

#include <cmath>
#include <limits>

#include "kernels/families/made_array.h"
#include "kernels/spec/refused_param.h"
#include "kernels/spec/spec.h"

namespace hotplate::arange {
namespace {

// NumPy's count, in float64; negative, or too large for any array, if there is none.
double CountOf(double start, double stop, double step) {
  const double distance = stop - start, steps = distance / step;
  if (steps == 0 && distance != 0) return std::signbit(steps) ? 0 : 1;  // too small for a float64
  return std::ceil(steps);
}

absl::Status Shapes(BoundCall& call) {
  const double start = call.Float("start"), stop = call.Float("stop"), step = call.Float("step");
  ChooseDType(call, {"start", "stop", "step"});
  const DType dtype = call.outputs.front().dtype;
  if (step == 0) return RefusedParam(call, "step", "it must not be 0");
  const double count = std::max(0.0, CountOf(start, stop, step));
  constexpr double kMost = static_cast<double>(kMaxArrayBytes);
  if (!(count * static_cast<double>(SizeOf(dtype)) <= kMost)) {
    return RefusedParam(call, "stop",
                        "from start " + ToString(ParamValue(start)) + " in steps of " + ToString(ParamValue(step)) +
                            " the array would exceed the limit of " + std::to_string(kMaxArrayBytes) + " bytes");
  }
  const double last = count > 0 ? start + (count - 1) * step : start;
  for (const char* name : {"start", "step"}) {
    const double value = call.Float(name);
    if (IsInteger(dtype) && !(std::floor(value) == value && std::fabs(value) <= kExactIntegers)) {
      return RefusedParam(call, name, std::string(Name(dtype)) + " needs a whole number of at most 2^53");
    }
  }
  for (const auto& [name, end] : {std::pair("start", start), std::pair("stop", last)}) {
    if (IsInteger(dtype) && (!HoldsInteger(dtype, end) || std::fabs(end) > kExactIntegers)) {
      return RefusedParam(call, name,
                          "an element would be " + ToString(ParamValue(end)) + ", which is beyond " +
                              (dtype == DType::kInt32 ? "int32" : "2^53, the largest exact integer"));
    }
    if (dtype == DType::kFloat32 && std::fabs(end) > static_cast<double>(std::numeric_limits<float>::max())) {
      return RefusedParam(call, name, "float32 does not hold it; take float64");
    }
  }
  call.outputs.front().shape = {static_cast<std::int64_t>(count)};
  return absl::OkStatus();
}

Cost CostOf(const BoundCall& call) {
  return {.flop = 2 * ElementsOf(call), .bytes = static_cast<double>(call.OutputBytes())};
}

double WorkBound(const BoundCall& call) { return 4 * ElementsOf(call); }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("arange", "start, start + step, start + 2 * step, ... up to but not including stop")
      .Docs(
          "numpy.arange, computed on the device. As in NumPy, the array has ceil((stop - start) / step) elements, or "
          "none if that is negative. With a fractional step the last element may be stop; prefer linspace there. As in "
          "NumPy, the dtype follows the numbers as you write them: 10 is an integer, 10.0 is not. An integer dtype "
          "needs whole numbers.")
      .Param(NumberParam("start", std::int64_t{0}, "the first element"))
      .Param(NumberParam("stop", {}, "end of the range, excluded"))
      .Param(NumberParam("step", std::int64_t{1}, "distance between elements; not 0"))
      .Param(DTypeParam("auto: int64 if start, stop and step are integers, else float64", "auto"))
      .Output("out", "dtype", "n")
      .CostModel("2 * n FLOP, n * sizeof(dtype) bytes: bound by memory bandwidth", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "the same bits as NumPy with that dtype: the first two elements are rounded to it, each other element is "
          "start plus a multiple of their difference; deterministic")
      .Shapes(Shapes)
      .Example("hotplate run arange --stop 1000000 -o x.npy");
}

}  // namespace hotplate::arange
