// Random numbers by their index, for both back-ends: Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
// numbers: as easy as 1, 2, 3", 2011), and the conversion of its words. Integer arithmetic, and floating-point
// operations that IEEE 754 defines to the last bit, compiled without contraction: the same bits everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <string_view>
#include <type_traits>

#include "kernels/call/for_type.h"
#include "kernels/call/host_device.h"

namespace hotplate::random {

struct Words {
  std::uint32_t w0, w1, w2, w3;
};

// The four words of a block. Its number is the counter's lower half, the upper half is 0; the seed is the key.
HOTPLATE_HOST_DEVICE inline Words Philox(std::uint64_t seed, std::uint32_t block_low, std::uint32_t block_high) {
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  Words c{block_low, block_high, 0, 0};
#ifndef __CUDACC__
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * c.w0, product1 = std::uint64_t{0xCD9E8D57} * c.w2;
    c = {static_cast<std::uint32_t>(product1 >> 32) ^ c.w1 ^ key0, static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ c.w3 ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9, key1 += 0xBB67AE85;  // of the golden ratio and of the root of 3
  }
  return c;
}

HOTPLATE_HOST_DEVICE inline std::uint64_t Joined(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

// The conversions of a block: kCount elements of type Element. Block b gives elements kCount * b to kCount * b + kCount
// - 1.

// Multiples of 2^-24 and of 2^-53 in [0, 1).
struct UniformFloat {
  using Element = float;
  static constexpr int kCount = 4;
  HOTPLATE_HOST_DEVICE void operator()(const Words& w, float* y) const {
    // As a signed integer, which every vector unit converts.
    y[0] = static_cast<float>(static_cast<std::int32_t>(w.w0 >> 8)) * 0x1p-24f;
    y[1] = static_cast<float>(static_cast<std::int32_t>(w.w1 >> 8)) * 0x1p-24f;
    y[2] = static_cast<float>(static_cast<std::int32_t>(w.w2 >> 8)) * 0x1p-24f;
    y[3] = static_cast<float>(static_cast<std::int32_t>(w.w3 >> 8)) * 0x1p-24f;
  }
};

// The upper 53 of 64 bits, as two integers that every vector unit converts. Exact.
HOTPLATE_HOST_DEVICE inline double Unit(std::uint32_t low, std::uint32_t high) {
  return static_cast<double>(static_cast<std::int32_t>(high >> 1)) * 0x1p-31 +
         static_cast<double>(static_cast<std::int32_t>((high & 1) << 21 | low >> 11)) * 0x1p-53;
}

struct UniformDouble {
  using Element = double;
  static constexpr int kCount = 2;
  HOTPLATE_HOST_DEVICE void operator()(const Words& w, double* y) const {
    y[0] = Unit(w.w0, w.w1);
    y[1] = Unit(w.w2, w.w3);
  }
};

// low + floor(r * range / 2^64), r 64 bits, range at most 2^32: no integer is preferred by more than a part of 2^32.
template <typename T>
struct Integers {
  using Element = T;
  static constexpr int kCount = 2;
  std::int64_t low;
  std::uint64_t range;

  HOTPLATE_HOST_DEVICE T Of(std::uint32_t word_low, std::uint32_t word_high) const {
    const std::uint64_t scaled = (word_high * range + (word_low * range >> 32)) >> 32;
    return static_cast<T>(static_cast<std::uint64_t>(low) + scaled);
  }
  HOTPLATE_HOST_DEVICE void operator()(const Words& w, T* y) const {
    y[0] = Of(w.w0, w.w1);
    y[1] = Of(w.w2, w.w3);
  }
};

// The upper half of a 128-bit product.
HOTPLATE_HOST_DEVICE inline std::uint64_t UpperProduct(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = static_cast<std::uint32_t>(a), a1 = a >> 32, b0 = static_cast<std::uint32_t>(b),
                      b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + static_cast<std::uint32_t>(middle);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

// The same with 128 bits and any range.
struct WideIntegers {
  using Element = std::int64_t;
  static constexpr int kCount = 1;
  std::int64_t low;
  std::uint64_t range;

  HOTPLATE_HOST_DEVICE void operator()(const Words& w, std::int64_t* y) const {
    const std::uint64_t upper = Joined(w.w2, w.w3), carried = UpperProduct(Joined(w.w0, w.w1), range);
    const std::uint64_t product = upper * range, sum = product + carried;
    const std::uint64_t scaled = UpperProduct(upper, range) + (sum < product ? 1 : 0);
    *y = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + scaled);
  }
};

// 1/n + z/(n + 2) + z^2/(n + 4) + ..., kMore terms after the first.
template <typename F, int n, int kMore>
HOTPLATE_HOST_DEVICE inline F Reciprocals(F z) {
  if constexpr (kMore == 0) {
    return F(1.0 / n);
  } else {
    return F(1.0 / n) + z * Reciprocals<F, n + 2, kMore - 1>(z);
  }
}

// -2 ln u for 0 < u <= 1. With u = 2^e m, m in [sqrt(1/2), sqrt(2)) and s = (m - 1) / (m + 1): ln m is the series
// 2 (s + s^3/3 + s^5/5 + ...).
template <typename F, typename Int, int kTerms, int kMantissaBits>
HOTPLATE_HOST_DEVICE inline F MinusTwiceLog(F u) {
  constexpr Int kBias = sizeof(F) == 4 ? 127 : 1023;
  constexpr Int kFraction = (Int{1} << kMantissaBits) - 1;
  constexpr Int kRootOfTwo = static_cast<Int>(std::int64_t{0x16a09e667f3bcd} >> (52 - kMantissaBits));
  Int bits;
  memcpy(&bits, &u, sizeof bits);
  const Int fraction = bits & kFraction;
  const Int up = (fraction | (kFraction + 1)) >= kRootOfTwo ? 1 : 0;
  const Int exponent = (bits >> kMantissaBits) - kBias + up;
  const Int mantissa = fraction | (kBias - up) << kMantissaBits;
  F m;
  memcpy(&m, &mantissa, sizeof m);
  const F s = (m - F(1)) / (m + F(1)), z = s * s;
  // The exponent's part in two summands, the first exact.
  constexpr F kLn2High = sizeof(F) == 4 ? F(0x1.62ep-1) : F(0x1.62e42fefap-1);
  constexpr F kLn2Low = sizeof(F) == 4 ? F(0x1.0bfbe8e7bcd5ep-15) : F(0x1.cf79abc9e3b3ap-40);
  const F e = static_cast<F>(static_cast<std::int32_t>(exponent));
  const F log = e * kLn2High + ((s + s) + ((s + s) * (z * Reciprocals<F, 3, kTerms - 1>(z)) + e * kLn2Low));
  return F(-2) * log;
}

// (pi / 2)^n / n!, the coefficients of sine and cosine by quarters of a turn.
template <int n>
inline constexpr double kQuarterPower = kQuarterPower<n - 1>*(std::numbers::pi / 2) / n;
template <>
inline constexpr double kQuarterPower<0> = 1;

// The series from the n-th coefficient on, every second with alternating signs, kMore terms after the first.
template <typename F, int n, int kMore>
HOTPLATE_HOST_DEVICE inline F Alternating(F z) {
  if constexpr (kMore == 0) {
    return F(kQuarterPower<n>);
  } else {
    return F(kQuarterPower<n>) - z * Alternating<F, n + 2, kMore - 1>(z);
  }
}

template <typename F>
struct SineCosine {
  F sine, cosine;
};

// Sine and cosine of quadrant + f quarters of a turn, -1/2 <= f <= 1/2.
template <typename F, int kTerms>
HOTPLATE_HOST_DEVICE inline SineCosine<F> OfQuarters(std::uint32_t quadrant, F f) {
  const F z = f * f;
  const F sine = f * Alternating<F, 1, kTerms>(z), cosine = Alternating<F, 0, kTerms>(z);
  const F first = (quadrant & 1) != 0 ? cosine : sine, second = (quadrant & 1) != 0 ? sine : cosine;
  return {(quadrant & 2) != 0 ? -first : first, ((quadrant + 1) & 2) != 0 ? -second : second};
}

// Box and Muller's transformation: sqrt(-2 ln u) times the cosine and the sine of an angle, for each pair of u and an
// angle. The rounding before the logarithm and the angle is part of the definition.
struct NormalFloat {
  using Element = float;
  static constexpr int kCount = 4;

  HOTPLATE_HOST_DEVICE static void Pair(std::uint32_t radius, std::uint32_t angle, float* y) {
    const float u = static_cast<float>(static_cast<std::int32_t>(radius >> 1)) * 0x1p-31f + 0x1p-32f;
    const std::uint32_t quadrant = (angle + 0x20000000) >> 30;
    const float f = static_cast<float>(static_cast<std::int32_t>(angle - (quadrant << 30))) * 0x1p-30f;
    const SineCosine<float> at = OfQuarters<float, 5>(quadrant, f);
    const float r = sqrtf(MinusTwiceLog<float, std::int32_t, 5, 23>(u));
    y[0] = r * at.cosine;
    y[1] = r * at.sine;
  }
  HOTPLATE_HOST_DEVICE void operator()(const Words& w, float* y) const {
    Pair(w.w0, w.w1, y);
    Pair(w.w2, w.w3, y + 2);
  }
};

struct NormalDouble {
  using Element = double;
  static constexpr int kCount = 2;

  HOTPLATE_HOST_DEVICE void operator()(const Words& w, double* y) const {
    const double u = Unit(w.w0, w.w1) + 0x1p-54;
    const std::uint32_t quadrant = (w.w3 + 0x20000000) >> 30;
    const double f = static_cast<double>(static_cast<std::int32_t>(w.w3 - (quadrant << 30))) * 0x1p-30 +
                     static_cast<double>(static_cast<std::int32_t>(w.w2 >> 1)) * 0x1p-61;
    const SineCosine<double> at = OfQuarters<double, 10>(quadrant, f);
    const double r = sqrt(MinusTwiceLog<double, std::int64_t, 10, 52>(u));
    y[0] = r * at.cosine;
    y[1] = r * at.sine;
  }
};

// Calls run(functor), which gives an Outcome, for the call's distribution and dtype.
template <typename Run>
Outcome WithDistribution(std::string_view distribution, DType dtype, std::int64_t low, std::int64_t high,
                         const Run& run) {
  if (distribution == "integers") {
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const bool wide = dtype == DType::kInt64 && range > std::uint64_t{1} << 32;
    if (wide) return run(WideIntegers{low, range});
    return ForType<std::int32_t, std::int64_t>("random", dtype, [&]<typename T>() {
      return run(Integers<T>{low, range});
    });
  }
  const bool uniform = distribution == "uniform";
  return ForType<float, double>("random", dtype, [&]<typename T>() {
    constexpr bool kFloat = std::is_same_v<T, float>;
    if (uniform) return run(std::conditional_t<kFloat, UniformFloat, UniformDouble>{});
    return run(std::conditional_t<kFloat, NormalFloat, NormalDouble>{});
  });
}

}  // namespace hotplate::random
