#include <algorithm>

#include "kernels/catalogue/searchsorted/searchsorted.h"
#include "kernels/catalogue/sort/sort_order.h"
#include "kernels/devices/cpu/cpu_context.h"

namespace hotplate::searchsorted {
namespace {

constexpr std::size_t kAtOnce = std::size_t{1} << 14;

template <typename T>
bool IsBefore(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const auto v = call.Input<T>("v"), x = call.Input<T>("x");
  const auto y = call.Output<std::int64_t>("y");
  const bool right = call.Choice("side") == "right";
  if (x.empty()) return Outcome::Ok();
  const bool whole = context.ParallelChunks(x.size(), kAtOnce, [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto place = right ? std::upper_bound(v.begin(), v.end(), x[i], IsBefore<T>)
                               : std::lower_bound(v.begin(), v.end(), x[i], IsBefore<T>);
      y[i] = place - v.begin();
    }
  });
  return whole ? Outcome::Ok() : Outcome::Cancelled();
}

}  // namespace

Outcome RunCpu(const Call& call, CpuContext& context) {
  return sort::ForSorted("searchsorted", call.InputType("x"), [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::searchsorted
