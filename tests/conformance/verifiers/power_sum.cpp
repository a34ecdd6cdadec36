// Integers modulo 2^bits, floats against the powers in long double.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace power_sum_verifier {

void FillSpecial(TestArray& x) {
  WithType(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> elements = x.Elements<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(static_cast<int>(i) - 10);
    PutExtremes(elements);
    if constexpr (std::is_floating_point_v<T>) {
      elements[9] = T(-0.5), elements[14] = T(-1), elements[15] = std::sqrt(std::numeric_limits<T>::max()) / 2;
      elements[16] = -elements[15];
    }
  });
}

template <typename T>
double PowerSumError(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const unsigned __int128 wide = static_cast<unsigned __int128>(static_cast<__int128>(x));
    return static_cast<T>(wide + wide * wide + wide * wide * wide) == y ? 0 : 2;
  } else {
    if (std::isnan(x)) return std::isnan(y) ? 0 : 2;
    constexpr T kLargest = std::numeric_limits<T>::max();
    const long double value = x, square = value * value, cube = square * value;
    if (std::isinf(x) || square > kLargest) return x > 0 ? (y == HUGE_VAL ? 0 : 2) : (std::isnan(y) ? 0 : 2);
    if (std::fabs(cube) > kLargest) return y == (x > 0 ? HUGE_VAL : -HUGE_VAL) ? 0 : 2;
    const long double unit = std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L;
    const long double bound = 4 * unit * (std::fabs(value) + square + std::fabs(cube)) +
                              4 * static_cast<long double>(std::numeric_limits<T>::denorm_min());
    return static_cast<double>(std::fabs(y - (value + square + cube)) / bound);
  }
}

}  // namespace power_sum_verifier

std::vector<Case> PowerSumCases() {
  using namespace power_sum_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64}) {
    for (const NamedShape& shape : ElementwiseShapes(dtype)) {
      cases.push_back(OfX(shape.name, {dtype, shape.shape}, -1e4, 1e4));
    }
    cases.push_back(OfX("special", {dtype, {24}}, FillSpecial));
  }
  // The course's: x = 0 … 9 in int64.
  cases.push_back({.name = "ten", .params = {}, .inputs = [](std::mt19937_64&) {
                     TestArray x({.dtype = DType::kInt64, .shape = {10}});
                     for (std::size_t i = 0; i < 10; ++i) x.Elements<std::int64_t>()[i] = static_cast<std::int64_t>(i);
                     return std::map<std::string, TestArray>{{"x", std::move(x)}};
                   }});
  return cases;
}

Verdict VerifyPowerSum(const Executed& executed) {
  using namespace power_sum_verifier;
  const TestArray &x = executed.Input("x"), &y = executed.Output("y");
  Verdict verdict;
  WithType(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto in = x.Elements<T>(), out = y.Elements<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      verdict.Add(PowerSumError(in[i], out[i]), [&] {
        return "y[" + std::to_string(i) + "] = " + std::to_string(out[i]) + " for " + std::to_string(in[i]);
      });
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
