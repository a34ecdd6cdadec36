// Against expm1 in long double, with the parameters rounded to the type that is computed in.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace selu_verifier {

// Of 2^-24 or 2^-53, relative.
constexpr double kBound = 12;

void FillSpecial(TestArray& x) {
  WithType(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> elements = x.Elements<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(10 - static_cast<int>(i));
    PutExtremes(elements);
    if constexpr (std::is_floating_point_v<T>) {
      elements[9] = T(-1e-20), elements[10] = T(-0x1p-23), elements[11] = T(-88), elements[12] = T(-104);
    }
  });
}

template <typename T, typename F>
Verdict Verify(std::span<const T> x, std::span<const F> y, double alpha_parameter, double lambda_parameter) {
  const long double alpha = static_cast<F>(alpha_parameter), lambda = static_cast<F>(lambda_parameter);
  const long double unit = std::is_same_v<F, float> ? 0x1p-24L : 0x1p-53L;
  const long double smallest = std::numeric_limits<F>::denorm_min(), largest = std::numeric_limits<F>::max();
  Verdict verdict;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const long double value = static_cast<F>(x[i]);
    const long double exact = lambda * (value > 0 ? value : alpha * std::expm1(value));
    const auto describe = [&] {
      return "y[" + std::to_string(i) + "] = " + std::to_string(y[i]) + " instead of " + std::to_string(exact) +
             " for " + std::to_string(x[i]);
    };
    if (std::isnan(exact)) {
      verdict.Add(std::isnan(y[i]) ? 0 : 2, describe);
    } else if (exact == 0) {  // long double has no underflow here: the sign of a zero is part of it
      verdict.Add(y[i] == 0 && std::signbit(y[i]) == std::signbit(exact) ? 0 : 2, describe);
    } else if (std::fabs(exact) > largest) {
      verdict.Add(std::isinf(y[i]) && (y[i] > 0) == (exact > 0) ? 0 : 2, describe);
    } else {
      // The inner product is rounded before lambda multiplies it, to a multiple of the smallest number if it is tiny.
      const long double bound = kBound * unit * std::fabs(exact) + 4 * smallest * std::max(1.0L, std::fabs(lambda));
      verdict.Add(static_cast<double>(std::fabs(y[i] - exact) / bound), describe);
    }
  }
  return verdict;
}

}  // namespace selu_verifier

std::vector<Case> SeluCases() {
  using namespace selu_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64}) {
    const auto random_case = [&](const std::string& name, const Shape& shape, std::map<std::string, ParamValue> params,
                                 double range = 12) {
      cases.push_back(OfX(name, {dtype, shape}, -range, range, std::move(params)));
    };
    const auto special_case = [&](const std::string& name, std::map<std::string, ParamValue> params) {
      cases.push_back(OfX(name, {dtype, {40}}, FillSpecial, std::move(params)));
    };
    for (const NamedShape& shape : ElementwiseShapes(dtype)) random_case(shape.name, shape.shape, {});
    random_case("other_parameters", {777}, {{"alpha", -0.25}, {"lambda", 3.5}});
    random_case("alpha_0", {100}, {{"alpha", 0.0}});
    random_case("x_up_to_1000", {3001}, {}, 1000);  // some beyond where exp underflows
    random_case("large_x", {3001}, {}, WithType(dtype, [](auto zero) {
                  return 0.45 * static_cast<double>(std::numeric_limits<decltype(zero)>::max());
                }));
    special_case("special", {});
    // The largest parameters that are taken, and the smallest that what is computed in can hold.
    const double largest = std::numeric_limits<float>::max();
    const double smallest = dtype == DType::kFloat32 ? static_cast<double>(std::numeric_limits<float>::denorm_min())
                                                     : std::numeric_limits<double>::denorm_min();
    special_case("largest_alpha", {{"alpha", largest}});
    special_case("largest_alpha_small_lambda", {{"alpha", -largest}, {"lambda", 0.001}});
    special_case("largest_lambda", {{"lambda", largest}});
    special_case("largest_of_both", {{"alpha", largest}, {"lambda", -largest}});
    special_case("smallest_alpha", {{"alpha", smallest}});
    special_case("smallest_lambda", {{"lambda", smallest}});
    special_case("lambda_0", {{"lambda", 0.0}});
    special_case("negative_zeros", {{"alpha", -0.0}, {"lambda", -0.0}});
    special_case("negative_alpha", {{"alpha", -1.0}});
    random_case("largest_alpha_random_x", {1000}, {{"alpha", largest}, {"lambda", 0.5}});
  }
  return cases;
}

Verdict VerifySelu(const Executed& executed) {
  using namespace selu_verifier;
  const TestArray &x = executed.Input("x"), &y = executed.Output("y");
  return WithType(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    using F = std::conditional_t<std::is_same_v<T, float>, float, double>;
    return Verify<T, F>(x.Elements<T>(), y.Elements<F>(), executed.call.Float("alpha"), executed.call.Float("lambda"));
  });
}

}  // namespace hotplate::conformance
