// The midpoint rule's exact sum in long double. Here, unlike in the kernel, the sine may be factored:
// sin(x + y) is the imaginary part of exp(ix) exp(iy), so that two sums of n terms give the sum of n * n.
#include <algorithm>
#include <cmath>
#include <complex>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace integrate2d_verifier {

using Complex = std::complex<long double>;

// The spec's, of the rectangle's area.
constexpr long double kBound = 1e-6L;

// The sum of exp(ix) over the midpoints of n cells.
Complex SumOfRotations(std::int64_t n, long double low, long double high) {
  const long double width = (high - low) / static_cast<long double>(n);
  Complex sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const long double x = low + (static_cast<long double>(i) + 0.5L) * width;
    sum += Complex(std::cos(x), std::sin(x));
  }
  return sum * width;
}

}  // namespace integrate2d_verifier

std::vector<Case> Integrate2dCases() {
  using namespace integrate2d_verifier;
  const auto none = [](std::mt19937_64&) { return std::map<std::string, TestArray>{}; };
  std::vector<Case> cases;
  for (const char* variant : {"naive", "shared", "fast"}) {
    for (const std::int64_t n : {1, 2, 33, 1000, 2500}) {
      cases.push_back({.name = std::string(variant) + "_n" + std::to_string(n),
                       .params = {{"n", n}, {"variant", std::string(variant)}},
                       .inputs = none});
    }
    cases.push_back({.name = std::string(variant) + "_quarter",
                     .params = {{"n", std::int64_t{1234}},
                                {"variant", std::string(variant)},
                                {"x_max", 1.5},
                                {"y_min", -0.25},
                                {"y_max", 0.5}},
                     .inputs = none});
    cases.push_back({.name = std::string(variant) + "_far_away",
                     .params = {{"n", std::int64_t{500}},
                                {"variant", std::string(variant)},
                                {"x_min", 1e5},
                                {"x_max", 1e5 + 2},
                                {"y_min", -7e4},
                                {"y_max", -7e4 + 1.5}},
                     .inputs = none});
  }
  cases.push_back({.name = "empty_rectangle", .params = {{"x_max", 0.0}, {"n", std::int64_t{100}}}, .inputs = none});
  cases.push_back(
      {.name = "reversed", .params = {{"x_max", -1.0}, {"y_max", 1.0}, {"n", std::int64_t{300}}}, .inputs = none});
  return cases;
}

Verdict VerifyIntegrate2d(const Executed& executed) {
  using namespace integrate2d_verifier;
  const BoundCall& call = executed.call;
  const long double a = call.Float("x_min"), b = call.Float("x_max"), c = call.Float("y_min"), d = call.Float("y_max");
  const long double value = executed.Output("value").Elements<double>()[0];
  const long double error = executed.Output("error").Elements<double>()[0];

  const long double area = std::fabs((b - a) * (d - c));
  const long double expected = (SumOfRotations(call.Int("n"), a, b) * SumOfRotations(call.Int("n"), c, d)).imag();
  Verdict verdict;
  verdict.Add(static_cast<double>(std::fabs(value - expected) / (kBound * area + 1e-300L)),
              [&] { return "value = " + std::to_string(value) + " instead of " + std::to_string(expected); });

  const long double exact = std::sin(b + c) - std::sin(a + c) - std::sin(b + d) + std::sin(a + d);
  // float64 at the size of the coordinates.
  const long double size = std::max({1.0L, std::fabs(a), std::fabs(b), std::fabs(c), std::fabs(d)});
  verdict.Add(static_cast<double>(std::fabs(error - std::fabs(value - exact)) / (32 * 0x1p-53L * size)), [&] {
    return "error = " + std::to_string(error) + " instead of " + std::to_string(std::fabs(value - exact));
  });
  return verdict;
}

}  // namespace hotplate::conformance
