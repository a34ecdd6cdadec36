// One element of vector_add, for both back-ends.
#pragma once

#include <cstdint>

#include "kernels/call/host_device.h"

namespace hotplate::vector_add {

// Integers wrap around, as NumPy's do.
struct Add {
  HOTPLATE_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
  HOTPLATE_HOST_DEVICE double operator()(double a, double b) const { return a + b; }
  HOTPLATE_HOST_DEVICE std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
  HOTPLATE_HOST_DEVICE std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};

}  // namespace hotplate::vector_add
