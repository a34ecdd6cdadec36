// Integers must be equal modulo 2^bits; floats within half a unit in the last place of the exact sum.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace {

std::map<std::string, TestArray> Extremes(DType dtype) {
  TestArray a({.dtype = dtype, .shape = {8}}), b = a.Copy();
  WithType(dtype, [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    const std::span<T> x = a.Elements<T>(), y = b.Elements<T>();
    const T big = Limits::max(), small = Limits::lowest();
    const T special = std::is_floating_point_v<T> ? Limits::quiet_NaN() : T(5);
    const T infinite = std::is_floating_point_v<T> ? Limits::infinity() : T(-9);
    const T left[] = {big, small, big, special, infinite, infinite, T(1), Limits::min()};
    const T right[] = {big, small, T(1), T(1), T(1), static_cast<T>(-infinite), special, small};
    for (std::size_t i = 0; i < 8; ++i) x[i] = left[i], y[i] = right[i];
  });
  return {{"a", std::move(a)}, {"b", std::move(b)}};
}

template <typename T>
double Error(T a, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    const __int128 difference = static_cast<__int128>(a) + b - c;
    const __int128 modulus = static_cast<__int128>(1) << (8 * sizeof(T));
    return difference % modulus == 0 ? 0 : std::numeric_limits<double>::infinity();
  } else {
    const __float128 exact = static_cast<__float128>(a) + static_cast<__float128>(b);
    if (std::isnan(a) || std::isnan(b) || (std::isinf(a) && a == -b)) return std::isnan(c) ? 0 : 2;
    if (std::isinf(a) || std::isinf(b)) return c == a + b ? 0 : 2;
    // Everything from half a unit beyond the largest number on rounds to infinity.
    const T largest = std::numeric_limits<T>::max();
    if (std::isinf(c)) {
      const __float128 half = static_cast<__float128>(largest - std::nextafter(largest, T(0))) / 2;
      return (c > 0 ? exact : -exact) >= static_cast<__float128>(largest) + half ? 0 : 2;
    }
    const T magnitude = std::fabs(c);
    const T unit =
        magnitude == largest ? largest - std::nextafter(largest, T(0)) : std::nextafter(magnitude, largest) - magnitude;
    const __float128 error = exact > c ? exact - c : c - exact;
    return static_cast<double>(error / (static_cast<__float128>(unit) / 2));
  }
}

}  // namespace

std::vector<Case> VectorAddCases() {
  std::vector<Case> cases;
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}) {
    for (const NamedShape& shape : ElementwiseShapes(dtype)) {
      cases.push_back({.name = std::string(Name(dtype)) + "_" + shape.name,
                       .params = {},
                       .inputs = [signature = Signature{dtype, shape.shape}](std::mt19937_64& random) {
                         TestArray a(signature), b(signature);
                         FillUniform(a, -1e6, 1e6, random);
                         FillUniform(b, -1, 1, random);
                         return std::map<std::string, TestArray>{{"a", std::move(a)}, {"b", std::move(b)}};
                       }});
    }
    cases.push_back({.name = std::string(Name(dtype)) + "_extremes", .params = {}, .inputs = [dtype](std::mt19937_64&) {
                       return Extremes(dtype);
                     }});
  }
  return cases;
}

Verdict VerifyVectorAdd(const Executed& executed) {
  const TestArray &a = executed.Input("a"), &b = executed.Input("b"), &c = executed.Output("c");
  Verdict verdict;
  WithType(a.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto x = a.Elements<T>(), y = b.Elements<T>(), z = c.Elements<T>();
    for (std::size_t i = 0; i < z.size(); ++i) {
      verdict.Add(Error(x[i], y[i], z[i]), [&] {
        return "c[" + std::to_string(i) + "] = " + std::to_string(z[i]) + " for " + std::to_string(x[i]) + " + " +
               std::to_string(y[i]);
      });
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
