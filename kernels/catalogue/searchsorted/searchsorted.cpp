#include "kernels/catalogue/searchsorted/searchsorted.h"

#include <bit>

#include "kernels/catalogue/sort/sort_rows.h"

namespace hotplate::searchsorted {
namespace {

double Elements(const BoundCall& call) { return static_cast<double>(*ElementCount(call.Input("x").shape)); }

Cost CostOf(const BoundCall& call) {
  return {.flop = 0, .bytes = static_cast<double>(call.InputBytes() + call.OutputBytes())};
}

// Each step may cost a miss of all caches.
double WorkBound(const BoundCall& call) {
  const double steps = std::bit_width(static_cast<std::uint64_t>(call.Input("v").shape[0])) + 1;
  return 1000 + 100 * steps * Elements(call);
}

}  // namespace

KernelSpecBuilder Spec() {
  return KernelSpecBuilder("searchsorted", "where elements of x would be put into the sorted vector v")
      .Docs(
          "The same as numpy.searchsorted(v, x, side): the first place (left) or the last (right) where an element can "
          "be inserted so that v stays sorted. v must be ascending, with NaN last, as sort leaves it; this is not "
          "checked, and the places in another v mean nothing. NaN in x belongs behind all numbers. Runs on the CPU "
          "only.")
      .CpuOnly()
      .Type("T", sort::SortedTypes())
      .Param({.name = "side",
              .type = ParamType::kChoice,
              .default_value = std::string("left"),
              .choices = {"left", "right"},
              .docs = "where v has equal elements: before or behind them"})
      .Input("v", "T", "n", "ascending")
      .Input("x", "T", "...", "what to look for")
      .Output("y", "int64", "...", "places from 0 to n")
      .CostModel("0 FLOP; reads v and x and writes y, 8 bytes to an element of x", CostOf)
      .WorkBound(WorkBound)
      .Numerics("exact")
      .Example("hotplate run searchsorted sorted.npy x.npy -o places.npy");
}

}  // namespace hotplate::searchsorted
