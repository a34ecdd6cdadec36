// The accumulators on both back-ends: float64 for floats, 64 bits that wrap around for integers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/call/call.h"

namespace hotplate::groupby_sum {

template <typename V>
using Sum = std::conditional_t<std::is_floating_point_v<V>, double, std::uint64_t>;

// An element of sums.
template <typename V>
using Result = std::conditional_t<std::is_floating_point_v<V>, V, std::int64_t>;

inline void SayGroups(const Call& call, std::uint64_t groups) {
  for (const char* const output : {"unique_keys", "sums", "counts"}) call.SetSize(output, groups);
}

}  // namespace hotplate::groupby_sum
