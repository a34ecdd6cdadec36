// NumPy's broadcasting straight from its definition, for verifiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hotplate::conformance {

// In an input that is broadcast to the output's sizes, the element that belongs to the output's element `index`: along
// an axis where the input has one, that one.
inline std::size_t BroadcastPlace(std::span<const std::int64_t> input, std::span<const std::int64_t> output,
                                  std::size_t index) {
  std::size_t place = 0, step = 1;
  const std::size_t missing = output.size() - input.size();
  for (std::size_t axis = output.size(); axis-- > missing;) {
    const auto size = static_cast<std::size_t>(output[axis]), own = static_cast<std::size_t>(input[axis - missing]);
    if (own != 1) place += index % size * step;
    index /= size;
    step *= own;
  }
  return place;
}

}  // namespace hotplate::conformance
