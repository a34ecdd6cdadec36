#include "kernels/catalogue/histogram/histogram.h"

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/families/made_array.h"
#include "kernels/spec/refused_param.h"
#include "kernels/spec/spec.h"

namespace hotplate::histogram {
namespace {

absl::Status Shapes(BoundCall& call) {
  const double low = call.Float("low"), high = call.Float("high");
  if (call.Choice("range") == "data") {
    for (const char* name : {"low", "high"}) {
      if (call.Float(name) != 0)
        return RefusedParam(call, name, "it applies only with --range given; range is " + call.Choice("range"));
    }
  } else {
    if (high < low) return RefusedParam(call, "high", "it must not be below low, " + ToString(call.Param("low")));
    const double largest = call.Input("x").dtype == DType::kFloat32
                               ? static_cast<double>(std::numeric_limits<float>::max())
                               : std::numeric_limits<double>::max() / 2;
    for (const auto& [name, edge] : {std::pair("low", low), std::pair("high", high)}) {
      if (std::fabs(edge) <= largest) continue;
      return RefusedParam(
          call, name,
          "the edges of the bins are " + std::string(Name(call.outputs[1].dtype)) + ", which does not reach so far");
    }
  }
  call.outputs[0].shape = {call.Int("bins")};
  call.outputs[1].shape = {call.Int("bins") + 1};
  return absl::OkStatus();
}

double Elements(const BoundCall& call) { return static_cast<double>(*ElementCount(call.Input("x").shape)); }

// x is read once, and once more where its range is to be found.
Cost CostOf(const BoundCall& call) {
  const double passes = call.Choice("range") == "data" ? 2 : 1;
  return {.flop = 4 * Elements(call),
          .bytes = passes * static_cast<double>(call.InputBytes()) + static_cast<double>(call.OutputBytes())};
}

double WorkBound(const BoundCall& call) { return 100 * Elements(call) + 200 * static_cast<double>(call.Int("bins")); }

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("histogram", "counts of elements in bins of equal width")
      .Docs(
          "numpy.histogram with a number of bins. Each bin includes its left edge; only the last includes its right "
          "edge. Elements outside the range, and NaN, are not counted. The edges span from the smallest to the largest "
          "element, or from low to high with --range given. If both ends are equal, the range is widened by 0.5 on "
          "either side; without elements it is 0 to 1. If the range comes from the data, a NaN or infinity fails the "
          "job (NumPy raises ValueError). Integers are converted to float64. On a GPU a job cannot be cancelled while "
          "it counts.")
      .Type("T", {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64})
      .Param({.name = "bins",
              .type = ParamType::kInt,
              .default_value = std::int64_t{10},
              .minimum = 1,
              .maximum = 16'777'216,
              .docs = "number of bins"})
      .Param({.name = "range",
              .type = ParamType::kChoice,
              .default_value = std::string("data"),
              .choices = {"data", "given"},
              .docs = "data: from the smallest to the largest element; given: from low to high"})
      .Param(NumberParam("low", 0.0, "the first edge, with --range given"))
      .Param(NumberParam("high", 0.0, "the last edge, with --range given"))
      .Input("x", "T", "...", "the elements, of any shape")
      .Output("counts", "int64", "bins", "elements in each bin")
      .Output("edges", "float(T)", "bins_and_one", "the edges of the bins, ascending")
      .CostModel("4 * n FLOP; reads x once, or twice if the range comes from the data", CostOf)
      .WorkBound(WorkBound)
      .Numerics(
          "counts are exact for the returned edges; the edges have the bits of NumPy 1.24: linspace in float64, "
          "rounded to their dtype; deterministic")
      .Shapes(Shapes)
      .Example("hotplate run histogram x.npy --bins 100 -o counts=counts.npy -o edges=edges.npy");
}

}  // namespace hotplate::histogram
