// The exact result is 1; NaN for NaN and infinities. A thousand results that are all exactly 1 were not evaluated.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace trig_identity_verifier {

// Of 2^-24 or 2^-53.
constexpr double kBound = 16;

// Two angles in ten thousand are beyond 2^18, from where on the back-ends reduce a float32 in another way; of those
// up to 1.074e9 beyond 2^30, from where on libraries do.
constexpr double kSomeFar = 262'200;

void FillSpecial(TestArray& x) {
  WithType(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> elements = x.Elements<T>();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<T>(i * i * i * 7919);
    PutExtremes(elements);
  });
}

template <typename T, typename F>
Verdict Verify(std::span<const T> x, std::span<const F> y) {
  const double unit = std::is_same_v<F, float> ? 0x1p-24 : 0x1p-53;
  Verdict verdict;
  bool all_ones = true;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto describe = [&] {
      return "y[" + std::to_string(i) + "] = " + std::to_string(y[i]) + " for " + std::to_string(x[i]);
    };
    all_ones = all_ones && y[i] == F(1);
    if (!std::isfinite(static_cast<double>(x[i]))) {
      verdict.Add(std::isnan(y[i]) ? 0 : 2, describe);
    } else {
      verdict.Add(std::fabs(static_cast<double>(y[i]) - 1) / (kBound * unit), describe);
    }
  }
  if (y.size() >= 1000 && all_ones) verdict.Add(2, [] { return "every result is exactly 1: nothing was evaluated"; });
  return verdict;
}

}  // namespace trig_identity_verifier

std::vector<Case> TrigIdentityCases() {
  using namespace trig_identity_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64}) {
    for (const NamedShape& shape : ElementwiseShapes(dtype)) {
      cases.push_back(OfX(shape.name, {dtype, shape.shape}, -kSomeFar, kSomeFar));
    }
    cases.push_back(OfX("far", {dtype, {1000}}, -1e9, 1e9));
    if (dtype != DType::kInt32) cases.push_back(OfX("some_farthest", {dtype, {1100, 1000}}, -1.074e9, 1.074e9));
    cases.push_back(OfX("special", {dtype, {40}}, FillSpecial));
    cases.push_back(OfX("special_in_1000", {dtype, {1000}}, FillSpecial));
  }
  return cases;
}

Verdict VerifyTrigIdentity(const Executed& executed) {
  using namespace trig_identity_verifier;
  const TestArray &x = executed.Input("x"), &y = executed.Output("y");
  return WithType(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    using F = std::conditional_t<std::is_same_v<T, float>, float, double>;
    return Verify<T, F>(x.Elements<T>(), y.Elements<F>());
  });
}

}  // namespace hotplate::conformance
