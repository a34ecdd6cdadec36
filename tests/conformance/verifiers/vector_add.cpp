// Elements by the definition of NumPy's broadcasting. Integers must be equal modulo 2^bits; floats within half a unit
// in the last place of the exact sum.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/conformance/broadcasting.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace vector_add_verifier {

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

// Lines long and short, of one input or the other repeated; axes that are one to walk along, and that are not.
struct ShapePair {
  const char* name;
  Shape a, b;
};
const ShapePair kBroadcasts[] = {
    {"column_and_vector", {37, 1}, {29}},
    {"vector_and_column", {29}, {37, 1}},
    {"scalar_and_matrix", {}, {5, 7}},
    {"vector_and_scalar", {1001}, {}},
    {"one_and_scalar", {1, 1}, {}},
    {"row_to_each", {11, 3}, {3}},
    {"matrix_to_each", {2, 3, 4}, {3, 4}},
    {"middle_of_each", {4, 1, 5}, {4, 3, 5}},
    {"both_in_turn", {3, 1, 5, 1}, {4, 1, 6}},
    {"eight_axes", {2, 1, 2, 1, 3, 1, 2, 1}, {1, 3, 1, 2, 1, 2, 1, 2}},
    {"nothing", {1, 3}, {0, 1}},
    {"nothing_of_one", {1}, {0}},
    {"threads", {301, 1}, {1003}},
};

Case Sum(const std::string& name, DType dtype, const Shape& a_shape, const Shape& b_shape) {
  return {.name = std::string(Name(dtype)) + "_" + name, .params = {}, .inputs = [=](std::mt19937_64& random) {
            TestArray a({dtype, a_shape}), b({dtype, b_shape});
            FillUniform(a, -1e6, 1e6, random);
            FillUniform(b, -1, 1, random);
            return std::map<std::string, TestArray>{{"a", std::move(a)}, {"b", std::move(b)}};
          }};
}

template <typename T>
double Error(T a, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    const __int128 difference = static_cast<__int128>(a) + b - c;
    const __int128 modulus = static_cast<__int128>(1) << (8 * sizeof(T));
    return difference % modulus == 0 ? 0 : std::numeric_limits<double>::infinity();
  } else {
    // In double a sum of two floats is exact, or so near that it stays on the same side of what lies between two
    // floats.
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, __float128>;
    const Wide exact = static_cast<Wide>(a) + static_cast<Wide>(b);
    if (std::isnan(a) || std::isnan(b) || (std::isinf(a) && a == -b)) return std::isnan(c) ? 0 : 2;
    if (std::isinf(a) || std::isinf(b)) return c == a + b ? 0 : 2;
    // Everything from half a unit beyond the largest number on rounds to infinity.
    const T largest = std::numeric_limits<T>::max();
    if (std::isinf(c)) {
      const Wide half = static_cast<Wide>(largest - std::nextafter(largest, T(0))) / 2;
      return (c > 0 ? exact : -exact) >= static_cast<Wide>(largest) + half ? 0 : 2;
    }
    const T magnitude = std::fabs(c);
    const T unit =
        magnitude == largest ? largest - std::nextafter(largest, T(0)) : std::nextafter(magnitude, largest) - magnitude;
    const Wide error = exact > c ? exact - c : c - exact;
    return static_cast<double>(error / (static_cast<Wide>(unit) / 2));
  }
}

}  // namespace vector_add_verifier

std::vector<Case> VectorAddCases() {
  using namespace vector_add_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}) {
    for (const NamedShape& shape : ElementwiseShapes(dtype)) {
      cases.push_back(Sum(shape.name, dtype, shape.shape, shape.shape));
    }
    for (const ShapePair& pair : kBroadcasts) cases.push_back(Sum(pair.name, dtype, pair.a, pair.b));
    cases.push_back({.name = std::string(Name(dtype)) + "_extremes", .params = {}, .inputs = [dtype](std::mt19937_64&) {
                       return Extremes(dtype);
                     }});
  }
  cases.push_back(Sum("broadcast_larger_than_caches", DType::kFloat32, {4099, 1}, {2053}));
  return cases;
}

Verdict VerifyVectorAdd(const Executed& executed) {
  using namespace vector_add_verifier;
  const TestArray &a = executed.Input("a"), &b = executed.Input("b"), &c = executed.Output("c");
  Verdict verdict;
  WithType(a.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto x = a.Elements<T>(), y = b.Elements<T>(), z = c.Elements<T>();
    const Shape &left = a.signature().shape, &right = b.signature().shape, &out = c.signature().shape;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const T p = x[left == out ? i : BroadcastPlace(left, out, i)],
              q = y[right == out ? i : BroadcastPlace(right, out, i)];
      verdict.Add(Error(p, q, z[i]), [&] {
        return "c[" + std::to_string(i) + "] = " + std::to_string(z[i]) + " for " + std::to_string(p) + " + " +
               std::to_string(q);
      });
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
