// Places counted by comparing: the elements of v before x, and for the right side the equal ones.
#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace searchsorted_verifier {

constexpr DType kDTypes[] = {DType::kBool,   DType::kInt8,    DType::kInt16,  DType::kInt32,
                             DType::kInt64,  DType::kUInt8,   DType::kUInt16, DType::kUInt32,
                             DType::kUInt64, DType::kFloat32, DType::kFloat64};

// One of a few different values, extremes among them, and NaN if T has it.
template <typename T>
T Value(std::uint64_t random) {
  using Limits = std::numeric_limits<T>;
  switch (random % 11) {
    case 0:
      return Limits::max();
    case 1:
      return Limits::lowest();
    case 2:
      return std::is_floating_point_v<T> ? Limits::quiet_NaN() : T(1);
    case 3:
      return std::is_floating_point_v<T> ? -Limits::infinity() : T(0);
    case 4:
      return std::is_signed_v<T> ? static_cast<T>(-T(0)) : T(0);
    default:
      return static_cast<T>(static_cast<T>(random >> 8 & 63) - (std::is_signed_v<T> ? T(20) : T(0)));
  }
}

template <typename T>
bool IsNan(T x) {
  return x != x;
}

// Without the kernel's comparison: NaN is counted apart.
template <typename T>
std::int64_t PlaceOf(std::span<const T> v, T x, bool right) {
  std::int64_t place = 0;
  for (const T& element : v) {
    const bool less = IsNan(x) ? !IsNan(element) : element < x;
    const bool same = IsNan(x) ? IsNan(element) : element == x;
    if (less || (right && same)) ++place;
  }
  return place;
}

Case Search(const std::string& name, DType dtype, std::int64_t n, const Shape& shape, const std::string& side) {
  return {.name = std::string(Name(dtype)) + "_" + side + "_" + name,
          .params = {{"side", side}},
          .inputs = [=](std::mt19937_64& random) {
            TestArray v({dtype, {n}}), x({dtype, shape});
            WithReal(dtype, [&](auto zero) {
              using T = decltype(zero);
              const auto sorted = v.Elements<T>();
              for (T& element : sorted) element = Value<T>(random());
              std::sort(sorted.begin(), sorted.end(), [](T a, T b) { return IsNan(b) ? !IsNan(a) : a < b; });
              for (T& element : x.Elements<T>()) element = Value<T>(random());
            });
            return std::map<std::string, TestArray>{{"v", std::move(v)}, {"x", std::move(x)}};
          }};
}

}  // namespace searchsorted_verifier

std::vector<Case> SearchsortedCases() {
  using namespace searchsorted_verifier;
  std::vector<Case> cases;
  for (const DType dtype : kDTypes) {
    for (const char* side : {"left", "right"}) {
      cases.push_back(Search("scalar", dtype, 33, {}, side));
      cases.push_back(Search("in_nothing", dtype, 0, {5}, side));
      cases.push_back(Search("in_one", dtype, 1, {40}, side));
      cases.push_back(Search("r3", dtype, 100, {7, 11, 13}, side));
    }
  }
  cases.push_back(Search("long", DType::kFloat32, 129, {70'001}, "left"));
  cases.push_back(Search("long", DType::kFloat64, 129, {300, 301}, "right"));
  return cases;
}

Verdict VerifySearchsorted(const Executed& executed) {
  using namespace searchsorted_verifier;
  const auto y = executed.Output("y").Elements<std::int64_t>();
  Verdict verdict;
  if (executed.Output("y").signature().shape != executed.Input("x").signature().shape) {
    verdict.Add(2, [] { return std::string("y has another shape than x"); });
    return verdict;
  }
  WithReal(executed.Input("x").signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> v = executed.Input("v").Elements<T>(), x = executed.Input("x").Elements<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t expected = PlaceOf(v, x[i], executed.call.Choice("side") == "right");
      verdict.Add(y[i] == expected ? 0 : 2, [&] {
        return "y[" + std::to_string(i) + "] is " + std::to_string(y[i]) + " instead of " + std::to_string(expected);
      });
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
