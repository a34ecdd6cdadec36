// float16 without a type for it: values are float32, rounded to float16's grid, and uint16 bits in memory. All of it is
// arithmetic that GCC vectorises. Rounds to nearest, ties to even, through subnormal numbers to infinity; NaN stays
// NaN.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace hotplate::expression {

// Adding a number whose last digit is that of the grid, and taking it away again, rounds. From 65520 on the result is
// infinite, whatever that sum is; NaN remains in it. Conditions are on bits: GCC makes branches of those on floats.
inline float RoundToHalf(float x) {
  constexpr std::uint32_t kLeast = std::bit_cast<std::uint32_t>(0x1p-14F), kInfinite = 0x7f80'0000;
  constexpr std::uint32_t kOverflow = std::bit_cast<std::uint32_t>(65520.0F);
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fff'ffff;
  const float unit = std::bit_cast<float>(std::max(magnitude & kInfinite, kLeast) + (std::uint32_t{13} << 23));
  const float rounded = (std::bit_cast<float>(magnitude) + unit) - unit;
  const bool over = (magnitude >= kOverflow) & (magnitude <= kInfinite);
  return std::copysign(std::bit_cast<float>(over ? kInfinite : std::bit_cast<std::uint32_t>(rounded)), x);
}

// Not by way of float32, which would round twice.
inline float RoundToHalf(double x) {
  constexpr std::uint64_t kLeast = std::bit_cast<std::uint64_t>(0x1p-14), kInfinite = 0x7ff0'0000'0000'0000;
  constexpr std::uint64_t kOverflow = std::bit_cast<std::uint64_t>(65520.0);
  const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(x) & 0x7fff'ffff'ffff'ffff;
  const double unit = std::bit_cast<double>(std::max(magnitude & kInfinite, kLeast) + (std::uint64_t{42} << 52));
  const double rounded = (std::bit_cast<double>(magnitude) + unit) - unit;
  const bool over = (magnitude >= kOverflow) & (magnitude <= kInfinite);
  const double result = std::bit_cast<double>(over ? kInfinite : std::bit_cast<std::uint64_t>(rounded));
  return static_cast<float>(std::copysign(result, x));
}

// Takes a value on the grid.
inline std::uint16_t HalfBits(float x) {
  constexpr std::uint32_t kLeast = std::bit_cast<std::uint32_t>(0x1p-14F), kInfinite = 0x7f80'0000;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x), magnitude = bits & 0x7fff'ffff;
  const float small = std::bit_cast<float>(std::min(magnitude, kLeast));
  const std::uint32_t subnormal = static_cast<std::uint32_t>(static_cast<std::int32_t>(small * 0x1p24F));
  const std::uint32_t normal = (magnitude >> 13) - (112U << 10), special = 0x7c00 | ((magnitude >> 13) & 0x3ff);
  const std::uint32_t finite = magnitude < kLeast ? subnormal : normal;
  return static_cast<std::uint16_t>((magnitude >= kInfinite ? special : finite) | ((bits >> 16) & 0x8000));
}

inline float FromHalfBits(std::uint16_t half) {
  const std::uint32_t bits = half, exponent = bits & 0x7c00;
  const float scaled = std::bit_cast<float>((bits & 0x7fff) << 13) * 0x1p112F;  // right if it is finite
  const std::uint32_t infinite = exponent == 0x7c00 ? 0x7f80'0000 : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | infinite | ((bits & 0x8000) << 16));
}

}  // namespace hotplate::expression
