// Follows each orbit in long double together with a bound on how far a float64 orbit may have strayed from it. A count
// must be one at which some orbit within that bound may leave; where the bound stays small there is only one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace mandelbrot_verifier {

using Real = long double;

// Rounding errors in float64, generously: of one step relative to |z|^2 + |c|, and of a coordinate.
constexpr Real kStepError = 8 * 0x1p-53L;

struct Range {
  std::int64_t least, most;
};

Range PossibleCounts(Real c_real, Real c_imaginary, Real c_error, std::int64_t max_iterations) {
  // Exact in float64 too: |z| is 2 before the first step, and that is not below 2.
  if (c_real == -2 && c_imaginary == 0) return {0, 0};
  const Real c = std::hypot(c_real, c_imaginary);
  Real x = c_real, y = c_imaginary, strayed = c_error;
  Range range{-1, max_iterations};
  for (std::int64_t i = 0; i < max_iterations; ++i) {
    const Real size = std::hypot(x, y), comparison = size * kStepError;
    if (range.least < 0 && (size + strayed + comparison >= 2 || strayed > 1)) range.least = i;
    if (size - strayed - comparison >= 2) {
      range.most = i;
      break;
    }
    if (strayed > 1) break;  // any later count is possible; the least was set when this orbit could first leave
    strayed = 2 * size * strayed + strayed * strayed + kStepError * (size * size + c) + c_error;
    const Real next = x * x - y * y + c_real;
    y = 2 * x * y + c_imaginary;
    x = next;
  }
  if (range.least < 0) range.least = max_iterations;
  return range;
}

Real Coordinate(std::int64_t index, std::int64_t resolution, double low, double high) {
  if (resolution == 1) return low;
  return low + (static_cast<Real>(high) - low) * static_cast<Real>(index) / static_cast<Real>(resolution - 1);
}

}  // namespace mandelbrot_verifier

std::vector<Case> MandelbrotCases() {
  using namespace mandelbrot_verifier;
  const auto none = [](std::mt19937_64&) { return std::map<std::string, TestArray>{}; };
  const auto size = [](std::int64_t resolution, std::int64_t iterations) {
    return std::map<std::string, ParamValue>{{"resolution", resolution}, {"max_iterations", iterations}};
  };
  std::vector<Case> cases;
  for (const std::int64_t resolution : {1, 2, 33, 100, 401}) {
    cases.push_back({.name = "whole_" + std::to_string(resolution), .params = size(resolution, 200), .inputs = none});
  }
  cases.push_back({.name = "one_iteration", .params = size(50, 1), .inputs = none});
  cases.push_back({.name = "odd_limit", .params = size(60, 77), .inputs = none});
  std::map<std::string, ParamValue> inside = size(40, 20'000);
  inside.insert({{"x_min", -0.1}, {"x_max", 0.1}, {"y_min", -0.1}, {"y_max", 0.1}});
  cases.push_back({.name = "inside_many_iterations", .params = inside, .inputs = none});
  std::map<std::string, ParamValue> wide = size(65, 50);
  wide.insert({{"x_min", -1000.0}, {"x_max", 900.0}, {"y_min", -1e6}, {"y_max", 1e6}});
  cases.push_back({.name = "far_outside", .params = wide, .inputs = none});
  std::map<std::string, ParamValue> zoom = size(129, 500);
  zoom.insert({{"x_min", -0.7463}, {"x_max", -0.7413}, {"y_min", 0.1102}, {"y_max", 0.1152}});
  cases.push_back({.name = "seahorses", .params = zoom, .inputs = none});
  return cases;
}

Verdict VerifyMandelbrot(const Executed& executed) {
  using namespace mandelbrot_verifier;
  const BoundCall& call = executed.call;
  const std::int64_t resolution = call.Int("resolution"), limit = call.Int("max_iterations");
  const double x_min = call.Float("x_min"), x_max = call.Float("x_max");
  const double y_min = call.Float("y_min"), y_max = call.Float("y_max");
  const auto counts = executed.Output("counts").Elements<std::int32_t>();
  const Real c_error =
      4 * 0x1p-53L * std::max({std::fabs(x_min), std::fabs(x_max), std::fabs(y_min), std::fabs(y_max)});

  Verdict verdict;
  std::size_t undecided = 0;
  for (std::int64_t row = 0; row < resolution; ++row) {
    for (std::int64_t column = 0; column < resolution; ++column) {
      const Range range = PossibleCounts(Coordinate(column, resolution, x_min, x_max),
                                         Coordinate(row, resolution, y_min, y_max), c_error, limit);
      undecided += range.least != range.most;
      const std::int64_t count = counts[static_cast<std::size_t>(row * resolution + column)];
      verdict.Add(count < range.least || count > range.most ? 2 : 0, [&] {
        return "counts[" + std::to_string(row) + ", " + std::to_string(column) + "] = " + std::to_string(count) +
               ", not in " + std::to_string(range.least) + " to " + std::to_string(range.most);
      });
    }
  }
  // The suite's pictures are chosen so that rounding matters for few points; else this check would check nothing.
  if (counts.size() > 1000 && undecided > counts.size() / 20) {
    verdict.Add(2, [&] { return std::to_string(undecided) + " points are undecided"; });
  }
  return verdict;
}

}  // namespace hotplate::conformance
