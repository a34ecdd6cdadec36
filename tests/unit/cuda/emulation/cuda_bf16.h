// In the place of NVIDIA's: the first half of a float, to which a float is rounded, to nearest, at a tie to even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(float x) {
    const auto whole = std::bit_cast<std::uint32_t>(x);
    bits = static_cast<std::uint16_t>(std::isnan(x) ? 0x7fff : (whole + 0x7fff + (whole >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

  std::uint16_t bits;
};
