// Bit for bit against NumPy's rule, a rounding at a time; and against start + i * step in long double, since a rule
// that is misunderstood is kept to as well.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace arange_verifier {

struct Numbers {
  const char* name;
  double start, stop, step;
};

// No compiler fuses what goes through memory.
template <typename T>
T Rounded(T value) {
  volatile T stored = value;
  return stored;
}

template <typename T>
void VerifyElements(std::span<const T> out, double start, double step, Verdict& verdict) {
  const auto describe = [&](std::size_t i, long double expected) {
    return "out[" + std::to_string(i) + "] = " + std::to_string(out[i]) + " instead of " + std::to_string(expected);
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const long double exact = static_cast<long double>(start) + static_cast<long double>(i) * step;
    if constexpr (std::is_integral_v<T>) {
      verdict.Add(static_cast<long double>(out[i]) == exact ? 0 : 2, [&] { return describe(i, exact); });
    } else {
      const T first = static_cast<T>(start), second = static_cast<T>(Rounded(start + step));
      const T difference = Rounded(second - first);
      const T later = Rounded(first + Rounded(static_cast<T>(i) * difference));
      const T expected = i == 0 ? first : i == 1 ? second : later;
      verdict.Add(std::memcmp(&out[i], &expected, sizeof expected) == 0 ? 0 : 2, [&] { return describe(i, expected); });
      // The difference of the first two is off by a rounding of the larger, and is multiplied.
      const long double unit = std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L;
      const long double bound =
          unit * (4 * static_cast<long double>(i) + 4) *
          (std::fabs(static_cast<long double>(start)) + std::fabs(static_cast<long double>(step)));
      if (bound > 0) {
        verdict.Add(static_cast<double>(std::fabs(out[i] - exact) / bound), [&] { return describe(i, exact); });
      }
    }
  }
}

}  // namespace arange_verifier

std::vector<Case> ArangeCases() {
  using namespace arange_verifier;
  std::vector<Case> cases;
  const auto add = [&](const std::string& dtype, const Numbers& numbers) {
    cases.push_back(
        {.name = dtype + "_" + numbers.name,
         .params = {{"dtype", dtype}, {"start", numbers.start}, {"stop", numbers.stop}, {"step", numbers.step}},
         .inputs = [](std::mt19937_64&) { return std::map<std::string, TestArray>{}; }});
  };
  for (const std::string dtype : {"float32", "float64", "int32", "int64"}) {
    for (const Numbers& numbers : {Numbers{"empty", 0, 0, 1},
                                   {"backwards", 0, 10, -1},
                                   {"one", 5, 6, 3},
                                   {"two", 5, 11, 3},
                                   {"n33", 0, 33, 1},
                                   {"down", 100, -900, -1},
                                   {"from_minus", -1000, 3001, 7},
                                   {"n65537", 3, 65'540, 1},
                                   {"last_not_reached", 0, 10, 4}}) {
      add(dtype, numbers);
    }
  }
  for (const std::string dtype : {"float32", "float64"}) {
    for (const Numbers& numbers : {Numbers{"tenths", 0, 1, 0.1},
                                   {"thirds", -2, 700, 1.0 / 3},
                                   {"minus_zero", -0.0, 3, 1},
                                   {"large_and_small", 1e6, 1e6 + 50, 0.03},
                                   {"n70001", 0, 7000.05, 0.1},
                                   {"tiny", 0, 1e-30, 1.7e-33}}) {
      add(dtype, numbers);
    }
  }
  // Steps that vanish beside where they begin: every element is the first.
  add("float64", {"vanishing", 1e17, 1e17 + 64, 1});
  add("float64", {"underflow", 0, 5e-324, 1e10});
  add("float64", {"negative_underflow", 0, -5e-324, 1e10});
  add("float64", {"wide", -8e307, 8e307, 1.5e306});
  add("int32", {"whole_range", -2147483648.0, 2147483647.0, 1e6});
  add("int32", {"last_is_largest", 2147483000.0, 2147483648.0, 1});
  cases.push_back({.name = "of_integers",
                   .params = {{"start", std::int64_t{-7}}, {"stop", std::int64_t{5000}}, {"step", std::int64_t{3}}},
                   .inputs = [](std::mt19937_64&) { return std::map<std::string, TestArray>{}; }});
  add("int64", {"wide", -0x1p53, 0x1p53, 0x1p44});
  add("int64", {"larger_than_caches", 1, 4'200'124, 1});
  return cases;
}

Verdict VerifyArange(const Executed& executed) {
  using namespace arange_verifier;
  const TestArray& out = executed.Output("out");
  const double start = executed.call.Float("start"), stop = executed.call.Float("stop");
  const double step = executed.call.Float("step");
  const double steps = std::ceil((stop - start) / step);
  std::int64_t count = steps > 0 ? static_cast<std::int64_t>(steps) : 0;
  if (stop == 5e-324) count = 1;  // of NumPy 1.24, where it underflows
  Verdict verdict;
  bool integers = true;
  for (const char* name : {"start", "stop", "step"}) {
    integers = integers && std::holds_alternative<std::int64_t>(executed.call.Param(name));
  }
  const std::string chosen = executed.call.Choice("dtype"), by_numbers = integers ? "int64" : "float64";
  verdict.Add(Name(out.signature().dtype) == (chosen == "auto" ? by_numbers : chosen) ? 0 : 2,
              [] { return "another dtype"; });
  verdict.Add(out.signature().shape == Shape{count} ? 0 : 2, [&] { return "it is " + ToString(out.signature()); });
  WithType(out.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    VerifyElements<T>(out.Elements<T>(), start, step, verdict);
  });
  return verdict;
}

}  // namespace hotplate::conformance
