// Bit for bit against NumPy's rule, a rounding at a time; and against the exact numbers in long double, since a rule
// that is misunderstood is kept to as well.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace linspace_verifier {

struct Numbers {
  const char* name;
  double start, stop;
  std::int64_t num;
};

double Stored(double value) {
  volatile double stored = value;
  return stored;
}

// numpy.linspace's own steps, in float64.
std::vector<double> AsNumPy(double start, double stop, std::int64_t num, bool endpoint) {
  const std::int64_t parts = endpoint ? num - 1 : num;
  const double distance = Stored(stop - start), step = Stored(distance / static_cast<double>(parts));
  std::vector<double> all;
  for (std::int64_t i = 0; i < num; ++i) {
    double value = static_cast<double>(i);
    if (parts > 0 && step != 0) {
      value = Stored(value * step);
    } else {
      if (parts > 0) value = Stored(value / static_cast<double>(parts));
      value = Stored(value * distance);
    }
    all.push_back(Stored(value + start));
  }
  if (endpoint && num > 1) all.back() = stop;
  return all;
}

}  // namespace linspace_verifier

std::vector<Case> LinspaceCases() {
  using namespace linspace_verifier;
  std::vector<Case> cases;
  for (const std::string dtype : {"float32", "float64", "int32", "int64"}) {
    for (const bool endpoint : {true, false}) {
      const auto add = [&](const Numbers& numbers) {
        cases.push_back({.name = dtype + "_" + numbers.name + (endpoint ? "" : "_without_end"),
                         .params = {{"dtype", dtype},
                                    {"start", numbers.start},
                                    {"stop", numbers.stop},
                                    {"num", numbers.num},
                                    {"include_stop", endpoint}},
                         .inputs = [](std::mt19937_64&) { return std::map<std::string, TestArray>{}; }});
      };
      for (const Numbers& numbers : {Numbers{"empty", 0, 1, 0},
                                     {"one", 2.5, 7.25, 1},
                                     {"two", 2.5, 7.25, 2},
                                     {"three", -1, 1, 3},
                                     {"n33", -3.7, 11.1, 33},
                                     {"down", 1000, -1000.5, 1000},
                                     {"flat", 4.5, 4.5, 10},
                                     {"n70001", 0, 12345.678, 70'001},
                                     {"n1025", -2e9, 2e9, 1025}}) {
        add(numbers);
      }
      if (dtype == "int32") add({"whole_range", -2147483648.0, 2147483647.0, 1025});
      if (dtype == "float32" || dtype == "float64") {
        add({"minus_zero", -0.0, 5, 6});
        add({"step_underflows", 0, 5e-324, 8});
        add({"denormal", 0, 1e-310, 1001});
        add({"distance_overflows", -1e308, 1e308, 5});
        add({"of_one_overflows", -1e308, 1e308, 1});
        add({"pi", 0, 3.141592653589793, 4099});
      }
    }
  }
  return cases;
}

Verdict VerifyLinspace(const Executed& executed) {
  using namespace linspace_verifier;
  const BoundCall& call = executed.call;
  const TestArray& out = executed.Output("out");
  const double start = call.Float("start"), stop = call.Float("stop");
  const std::vector<double> expected = AsNumPy(start, stop, call.Int("num"), call.Bool("include_stop"));
  Verdict verdict;
  verdict.Add(out.signature().shape == Shape{call.Int("num")} ? 0 : 2,
              [&] { return "it is " + ToString(out.signature()); });
  WithType(out.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto elements = out.Elements<T>();
    const std::int64_t parts = call.Bool("include_stop") ? call.Int("num") - 1 : call.Int("num");
    for (std::size_t i = 0; i < elements.size(); ++i) {
      T value;
      if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(std::floor(expected[i]));
      } else {
        value = static_cast<T>(expected[i]);
      }
      const auto describe = [&] {
        return "out[" + std::to_string(i) + "] = " + std::to_string(elements[i]) + " instead of " +
               std::to_string(value);
      };
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(value)) {
          verdict.Add(std::isnan(elements[i]) ? 0 : 2, describe);
          continue;
        }
      }
      verdict.Add(std::memcmp(&elements[i], &value, sizeof value) == 0 ? 0 : 2, describe);
      const long double distance = static_cast<long double>(stop) - start;
      const long double place = parts > 0 ? static_cast<long double>(i) / static_cast<long double>(parts) : 0;
      const long double exact = start + place * distance;
      const long double largest =
          std::max(std::fabs(static_cast<long double>(start)), std::fabs(static_cast<long double>(stop)));
      if (largest > 1e307L || largest < 1e-300L) continue;
      const long double bound = std::is_integral_v<T> ? 1 : largest * (std::is_same_v<T, float> ? 0x1p-22L : 0x1p-51L);
      verdict.Add(static_cast<double>(std::fabs(elements[i] - exact) / bound), describe);
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
