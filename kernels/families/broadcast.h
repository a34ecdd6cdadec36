// NumPy's broadcasting of two inputs to one output: the elements of the inputs that belong to each element of the
// output. Standard library only; compiled by the host compiler and by nvcc, and used on both sides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/call/call.h"
#include "kernels/call/host_device.h"

namespace hotplate {

// The output's axes, the innermost first; at least one. Axes of size 1 are left out, and neighbours that both inputs
// step through as if they were one axis are merged. A line lies along the innermost axis: there each input's step is 1,
// or 0 if its one element is repeated, but not both are 0.
struct Broadcast {
  struct Axis {
    std::uint64_t size = 1, a_step = 1, b_step = 1;  // steps in elements
  };
  struct Place {
    std::uint64_t a = 0, b = 0;  // elements before it
  };

  int rank = 1;
  Axis axes[HOTPLATE_MAX_RANK];

  // Both inputs have the output's shape: an element has the same index in all three.
  bool IsPlain() const { return rank == 1 && axes[0].a_step == 1 && axes[0].b_step == 1; }

  // The place where a line begins, counted in the output's order. Index: the type that counts its elements.
  template <typename Index>
  HOTPLATE_HOST_DEVICE Place Line(Index line) const {
    Place place;
    for (int i = 1; i < rank; ++i) {
      const Index size = static_cast<Index>(axes[i].size);
      const Index outer = i + 1 < rank ? line / size : 0;  // the outermost one's is less than its size
      const Index at = line - outer * size;
      place.a += at * axes[i].a_step;
      place.b += at * axes[i].b_step;
      line = outer;
    }
    return place;
  }

  HOTPLATE_HOST_DEVICE Place Element(std::uint64_t index) const {
    const std::uint64_t line = index / axes[0].size, at = index % axes[0].size;
    const Place place = Line(line);
    return {.a = place.a + at * axes[0].a_step, .b = place.b + at * axes[0].b_step};
  }
};

// For sizes that broadcast to the output's, none of which is 0.
inline Broadcast BroadcastOf(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                             std::span<const std::int64_t> out) {
  // An input's size along an axis of the output, counted from the last; a missing axis counts as 1.
  const auto size_of = [](std::span<const std::int64_t> sizes, std::size_t from_last) {
    return from_last < sizes.size() ? static_cast<std::uint64_t>(sizes[sizes.size() - 1 - from_last]) : 1;
  };
  Broadcast broadcast;
  int found = 0;
  std::uint64_t a_elements = 1, b_elements = 1;  // within the axes further in
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t size = size_of(out, i), a_size = size_of(a, i), b_size = size_of(b, i);
    if (size == 1) continue;
    const Broadcast::Axis axis{
        .size = size, .a_step = a_size == 1 ? 0 : a_elements, .b_step = b_size == 1 ? 0 : b_elements};
    a_elements *= a_size;
    b_elements *= b_size;
    if (found > 0) {
      Broadcast::Axis& inner = broadcast.axes[found - 1];
      if (axis.a_step == inner.a_step * inner.size && axis.b_step == inner.b_step * inner.size) {
        inner.size *= size;
        continue;
      }
    }
    broadcast.axes[found++] = axis;
  }
  broadcast.rank = std::max(found, 1);
  return broadcast;
}

inline Broadcast BroadcastOf(const hotplate_array& a, const hotplate_array& b, const hotplate_array& out) {
  const auto sizes = [](const hotplate_array& array) {
    return std::span(array.shape, static_cast<std::size_t>(array.rank));
  };
  return BroadcastOf(sizes(a), sizes(b), sizes(out));
}

}  // namespace hotplate
