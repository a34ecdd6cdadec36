#include "kernels/catalogue/argsort/argsort.h"
#include "kernels/catalogue/sort_by_key/indexed_cpu.h"
#include "kernels/devices/device.h"
#include "kernels/families/reduced_shape.h"

namespace hotplate::argsort {
namespace {

// Elements along the axis.
template <typename T>
struct Line {
  const T* x;
  std::int64_t* y;
  std::size_t stride;

  T At(std::size_t i) const { return x[i * stride]; }
  void Take(sort::Order<T>, sort::BitsOf<T>, std::size_t from, std::size_t to) const {
    y[to * stride] = static_cast<std::int64_t>(from);
  }
};

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const auto x = call.Input<T>("x");
  if (x.empty()) return Outcome::Ok();
  std::int64_t* const y = call.Output<std::int64_t>("y").data();
  const Extent extent = ExtentOf(call.InputArray("x"), call.Choice("axis"));
  const std::size_t n = extent.count, inner = extent.inner;
  const auto line_at = [=, x = x.data()](std::size_t line) {
    const std::size_t first = line / inner * n * inner + line % inner;
    return Line<T>{x + first, y + first, inner};
  };
  const sort::Order<T> order{call.Bool("descending")};
  return sort_by_key::SortIndexed(extent.outputs(), n, order, line_at, call.scratch(), context) ? Outcome::Ok()
                                                                                                : Outcome::Cancelled();
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& x = call.Input("x");
  const std::size_t elements = *ElementCount(x.shape);
  if (elements == 0) return {};
  return {.scratch_bytes = sort_by_key::IndexedBytes(x.dtype, ExtentOf(x.shape, call.Choice("axis")).count, elements)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return sort::ForSorted("argsort", call.InputType("x"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::argsort
