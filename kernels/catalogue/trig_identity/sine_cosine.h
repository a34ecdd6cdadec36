// Sine and cosine of one angle together, for both back-ends: one reduction to [-pi/4, pi/4] for both, two polynomials,
// then the quadrant's exchange and signs. CUDA's own functions take about twice the instructions, and more than a
// hundred for a float32 beyond 105 615; libmvec on the host handles one angle at a time from 10 000 on.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/call/host_device.h"

namespace hotplate::trig_identity {

template <typename F>
struct SineCosine {
  F sine, cosine;
};

// An angle as quadrant * pi/2 + rest; of the quadrant only the lowest two bits count.
template <typename F>
struct Reduced {
  F rest;
  std::uint32_t quadrant;
};

// Angles up to which the reductions hold: in float32, in float64, and the same for an angle that is a float64 itself.
inline constexpr float kNearFloat = 262'144, kFarFloat = 1'073'741'824;
inline constexpr double kFarDouble = 1'073'741'824;

// The lowest bits of a number to which 1.5 * 2^23 (2^52) was added hold the nearest integer.
inline constexpr float kRoundFloat = 12'582'912;
inline constexpr double kRoundDouble = 6'755'399'441'055'744;
inline constexpr double kTwoOverPi = 0.63661977236758138, kHalfPiHigh = 1.5707963267948966,
                        kHalfPiLow = 6.123233995736766e-17;

HOTPLATE_HOST_DEVICE inline std::uint32_t LowBits(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
HOTPLATE_HOST_DEVICE inline std::uint32_t LowBits(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return static_cast<std::uint32_t>(bits);
}

// |x| <= kNearFloat. The first product and difference are exact: x, the quadrants' number and the first half of pi/2
// are multiples of 2^-23 (or x is small), and their difference is below 1.
HOTPLATE_HOST_DEVICE inline Reduced<float> ReduceNear(float x) {
  constexpr float kTwoOverPiFloat = 0.636619747f, kHigh = 1.57079637f, kLow = -4.37113883e-8f;
  const float shifted = fmaf(x, kTwoOverPiFloat, kRoundFloat);
  const float quadrants = shifted - kRoundFloat;
  return {fmaf(-quadrants, kLow, fmaf(-quadrants, kHigh, x)), LowBits(shifted)};
}

// |x| <= kFarDouble. Exact in the same way; the second half of pi/2 is good for 2^-80 of a quadrant.
HOTPLATE_HOST_DEVICE inline Reduced<double> ReduceFar(double x) {
  const double shifted = fma(x, kTwoOverPi, kRoundDouble);
  const double quadrants = shifted - kRoundDouble;
  return {fma(-quadrants, kHalfPiLow, fma(-quadrants, kHalfPiHigh, x)), LowBits(shifted)};
}
// |x| <= kFarFloat
HOTPLATE_HOST_DEVICE inline Reduced<float> ReduceFar(float x) {
  const Reduced<double> reduced = ReduceFar(static_cast<double>(x));
  return {static_cast<float>(reduced.rest), reduced.quadrant};
}

// Minimax polynomials on [-pi/4, pi/4], and slightly beyond to allow for the reduction's error.
HOTPLATE_HOST_DEVICE inline SineCosine<float> InFirstQuadrant(float r) {
  const float q = r * r;
  float s = fmaf(-1.9503737e-4f, q, 8.33208673e-3f);
  s = fmaf(s, q, -0.166666538f);
  float c = fmaf(2.44100593e-5f, q, -1.38871197e-3f);
  c = fmaf(c, q, 4.16666418e-2f);
  c = fmaf(c, q, -0.5f);
  return {fmaf(r * q, s, r), fmaf(c, q, 1.0f)};
}
HOTPLATE_HOST_DEVICE inline SineCosine<double> InFirstQuadrant(double r) {
  const double q = r * r;
  double s = fma(1.5896909058315688e-10, q, -2.5050760240186985e-8);
  s = fma(s, q, 2.7557313707000869e-6);
  s = fma(s, q, -1.98412698298578e-4);
  s = fma(s, q, 8.3333333333224895e-3);
  s = fma(s, q, -0.16666666666666632);
  double c = fma(-1.1359934382722802e-11, q, 2.0875729283509614e-9);
  c = fma(c, q, -2.7557314401042612e-7);
  c = fma(c, q, 2.4801587289671557e-5);
  c = fma(c, q, -1.3888888888874474e-3);
  c = fma(c, q, 4.1666666666666602e-2);
  c = fma(c, q, -0.5);
  return {fma(r * q, s, r), fma(c, q, 1.0)};
}

template <typename F>
HOTPLATE_HOST_DEVICE inline SineCosine<F> Evaluate(const Reduced<F>& angle) {
  const SineCosine<F> first = InFirstQuadrant(angle.rest);
  const bool exchange = (angle.quadrant & 1) != 0;
  const F sine = exchange ? first.cosine : first.sine, cosine = exchange ? first.sine : first.cosine;
  return {(angle.quadrant & 2) != 0 ? -sine : sine, ((angle.quadrant + 1) & 2) != 0 ? -cosine : cosine};
}

template <typename F>
HOTPLATE_HOST_DEVICE inline F SumOfSquares(const SineCosine<F>& both) {
  return fma(both.cosine, both.cosine, both.sine * both.sine);
}
HOTPLATE_HOST_DEVICE inline float SumOfSquares(const SineCosine<float>& both) {
  return fmaf(both.cosine, both.cosine, both.sine * both.sine);
}

}  // namespace hotplate::trig_identity
