// Edges bit for bit by NumPy's rule, a rounding at a time; counts by looking each element up among the edges that came
// with them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace histogram_verifier {

using Params = std::map<std::string, ParamValue>;

double Stored(double value) {
  volatile double stored = value;
  return stored;
}

template <typename T, typename F>
Verdict Verify(std::span<const T> x, std::span<const std::int64_t> counts, std::span<const F> edges, double low,
               double high, bool given) {
  Verdict verdict;
  if (!given && x.empty()) {
    low = 0, high = 1;
  } else if (!given) {
    low = static_cast<double>(*std::min_element(x.begin(), x.end()));
    high = static_cast<double>(*std::max_element(x.begin(), x.end()));
  }
  if (low == high) low -= 0.5, high += 0.5;
  const double step = Stored(Stored(high - low) / static_cast<double>(counts.size()));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const double inner = Stored(Stored(static_cast<double>(i) * step) + low);
    const F expected = static_cast<F>(i + 1 == edges.size() ? high : inner);
    verdict.Add(std::memcmp(&edges[i], &expected, sizeof expected) == 0 ? 0 : 2, [&] {
      return "edges[" + std::to_string(i) + "] = " + std::to_string(edges[i]) + " instead of " +
             std::to_string(expected);
    });
  }
  std::vector<std::int64_t> expected(counts.size());
  for (const T element : x) {
    const F value = static_cast<F>(element);
    if (!(value >= edges.front()) || !(value <= edges.back())) continue;
    const auto after = static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin());
    ++expected[std::min(after, counts.size()) - 1];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    verdict.Add(counts[i] == expected[i] ? 0 : 2, [&] {
      return "counts[" + std::to_string(i) + "] = " + std::to_string(counts[i]) + " instead of " +
             std::to_string(expected[i]);
    });
  }
  return verdict;
}

}  // namespace histogram_verifier

std::vector<Case> HistogramCases() {
  using namespace histogram_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64}) {
    const auto filled = [&](const std::string& name, const Shape& shape, Params params, double range,
                            const std::function<void(TestArray&)>& change = {}) {
      cases.push_back({.name = std::string(Name(dtype)) + "_" + name,
                       .params = std::move(params),
                       .inputs = [=](std::mt19937_64& random) {
                         TestArray x({.dtype = dtype, .shape = shape});
                         FillUniform(x, -range, range, random);
                         if (change) change(x);
                         return std::map<std::string, TestArray>{{"x", std::move(x)}};
                       }});
    };
    const auto bins = [](std::int64_t count) { return Params{{"bins", count}}; };
    const auto given = [](std::int64_t count, double low, double high) {
      return Params{{"bins", count}, {"range", std::string("given")}, {"low", low}, {"high", high}};
    };
    for (const std::int64_t n : {0, 1, 2, 33, 1000, 70'001}) filled("n" + std::to_string(n), {n}, {}, 100);
    filled("cube", {7, 11, 13}, bins(7), 20);
    filled("one_bin", {500}, bins(1), 100);
    filled("all_the_same", {500}, bins(9), 0);
    filled("whole_numbers", {70'001}, bins(40), 20.5, [](TestArray& x) {
      WithType(x.signature().dtype, [&](auto zero) {
        using T = decltype(zero);
        for (T& element : x.Elements<T>()) element = static_cast<T>(std::floor(static_cast<double>(element)));
      });
    });
    filled("more_bins_than_elements", {100}, bins(5000), 1000);
    filled("many_bins", {70'001}, bins(70'000), 1e6);
    filled("empty_given", {0}, given(5, -2, 3), 1);
    filled("given", {40'001}, given(30, -10, 10), 100);
    filled("given_tenths", {40'001}, given(10, 0.1, 1.1), 2);
    filled("given_point", {1000}, given(4, 3, 3), 6);
    filled("given_outside", {1000}, given(4, 300, 400), 6);
    if (!IsFloating(dtype)) continue;
    const auto special = [](TestArray& x) {
      WithType(x.signature().dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::span<T> all = x.Elements<T>();
        all[0] = static_cast<T>(std::nan("")), all[5] = static_cast<T>(HUGE_VAL), all[6] = static_cast<T>(-HUGE_VAL);
        all[7] = static_cast<T>(-0.0), all[8] = T(1), all[9] = T(2), all[10] = T(-2);
      });
    };
    filled("not_finite_given", {1000}, given(8, -2, 2), 3, special);
    filled("tiny", {1000}, bins(50), 1e-38);
    filled("given_tiny", {1000}, given(4, 1e-310, 2e-310), 3e-310);
    filled("largest_step", {1000}, bins(3), 3e38);
    filled("edges_that_coincide", {1000}, bins(1000), 1, [](TestArray& x) {
      WithType(x.signature().dtype, [&](auto zero) {
        using T = decltype(zero);
        for (T& element : x.Elements<T>()) {
          element = element > 0 ? T(1) + std::numeric_limits<T>::epsilon() * std::floor(T(8) * element) : T(1);
        }
      });
    });
  }
  return cases;
}

Verdict VerifyHistogram(const Executed& executed) {
  using namespace histogram_verifier;
  const TestArray& x = executed.Input("x");
  const auto counts = executed.Output("counts").Elements<std::int64_t>();
  return WithType(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    using F = std::conditional_t<std::is_same_v<T, float>, float, double>;
    return Verify<T, F>(x.Elements<T>(), counts, executed.Output("edges").Elements<F>(), executed.call.Float("low"),
                        executed.call.Float("high"), executed.call.Choice("range") == "given");
  });
}

}  // namespace hotplate::conformance
