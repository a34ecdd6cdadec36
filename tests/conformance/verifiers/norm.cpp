// Norms from their definitions in long double, whose range holds the square of every float64.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace norm_verifier {

// Magnitudes of one vector.
using Magnitudes = std::vector<long double>;

long double VectorNorm(const Magnitudes& x, const std::string& order, long double p) {
  if (order == "0") return static_cast<long double>(x.size()) - std::count(x.begin(), x.end(), 0);
  long double sum = 0, extreme = order == "-inf" ? HUGE_VALL : 0;
  for (const long double m : x) {
    if (std::isnan(m)) return m;
    sum += order == "1" ? m : order == "p" ? std::pow(m, p) : m * m;
    extreme = order == "-inf" ? std::min(extreme, m) : std::max(extreme, m);
  }
  if (order == "inf" || order == "-inf") return extreme;
  return order == "1" ? sum : order == "p" ? std::pow(sum, 1 / p) : std::sqrt(sum);
}

// The largest sum of a line, or the least; NaN if there is one.
long double ExtremeSum(const std::vector<Magnitudes>& lines, bool largest) {
  long double extreme = largest ? 0 : HUGE_VALL;
  for (const Magnitudes& line : lines) {
    const long double sum = VectorNorm(line, "1", 0);
    if (std::isnan(sum)) return sum;
    extreme = largest ? std::max(extreme, sum) : std::min(extreme, sum);
  }
  return extreme;
}

template <typename T>
class Norms {
 public:
  explicit Norms(const Executed& executed)
      : x_(executed.Input("x").Elements<T>()),
        shape_(executed.Input("x").signature().shape),
        order_(executed.call.Choice("ord")),
        axis_(executed.call.Choice("axis")),
        matrices_(axis_ == "matrices" || (axis_ == "all" && order_ != "auto" && shape_.size() == 2)),
        p_(static_cast<long double>(executed.call.Float("p"))) {
    if (order_ == "auto") order_ = matrices_ ? "fro" : "2";
  }

  bool of_matrices() const { return matrices_; }

  std::size_t count() const { return Lines().first; }
  std::size_t elements() const { return Lines().second; }

  long double Expected(std::size_t output) const {
    const std::size_t n = elements();
    if (!matrices_) {
      Magnitudes line;
      for (std::size_t i = 0; i < n; ++i)
        line.push_back(At(output / Stride() * Stride() * n + i * Stride() + output % Stride()));
      return VectorNorm(line, order_, p_);
    }
    const auto columns = static_cast<std::size_t>(shape_.back()), rows = static_cast<std::size_t>(*(shape_.end() - 2));
    const bool by_columns = order_ == "1" || order_ == "-1";
    std::vector<Magnitudes> lines(order_ == "fro" ? 1 : by_columns ? columns : rows);
    for (std::size_t i = 0; i < n; ++i) {
      lines[order_ == "fro" ? 0 : by_columns ? i % columns : i / columns].push_back(At(output * n + i));
    }
    return order_ == "fro" ? VectorNorm(lines[0], "2", 0) : ExtremeSum(lines, order_[0] != '-');
  }

 private:
  long double At(std::size_t i) const { return std::fabs(static_cast<long double>(x_[i])); }
  std::size_t Product(std::size_t begin, std::size_t end) const {
    std::size_t product = 1;
    for (std::size_t i = begin; i < end; ++i) product *= static_cast<std::size_t>(shape_[i]);
    return product;
  }
  std::size_t Axis() const {
    const int rank = static_cast<int>(shape_.size());
    return static_cast<std::size_t>((std::stoi(axis_) + rank) % rank);
  }
  std::size_t Stride() const { return axis_ == "all" ? 1 : Product(Axis() + 1, shape_.size()); }
  // How many norms, and of how many elements each.
  std::pair<std::size_t, std::size_t> Lines() const {
    const std::size_t rank = shape_.size();
    if (matrices_) return {Product(0, rank - 2), Product(rank - 2, rank)};
    if (axis_ == "all") return {1, Product(0, rank)};
    return {Product(0, Axis()) * Stride(), static_cast<std::size_t>(shape_[Axis()])};
  }

  const std::span<const T> x_;
  const Shape shape_;
  std::string order_;
  const std::string axis_;
  const bool matrices_;
  const long double p_;
};

template <typename T>
Verdict VerifyNorms(const Executed& executed) {
  using F = std::conditional_t<std::is_same_v<T, float>, float, double>;
  const Norms<T> norms(executed);
  const auto results = executed.Output("y").Elements<F>();
  const std::string& order = executed.call.Choice("ord");
  const bool exact = !norms.of_matrices() && (order == "inf" || order == "-inf" || order == "0");
  Verdict verdict;
  if (results.size() != norms.count()) verdict.Add(2, [] { return std::string("another number of results"); });
  for (std::size_t i = 0; i < std::min(results.size(), norms.count()); ++i) {
    const long double expected = norms.Expected(i), got = results[i];
    const auto describe = [&] {
      return "y[" + std::to_string(i) + "] = " + std::to_string(got) + " instead of " + std::to_string(expected);
    };
    const long double n = static_cast<long double>(norms.elements());
    long double relative = std::is_same_v<F, float> ? 4 * 0x1p-24L : (640 + n / 512) * 0x1p-53L;
    if (order == "p" && !std::is_same_v<F, float>)
      relative *= 1 + 1 / static_cast<long double>(executed.call.Float("p"));
    if (std::isnan(expected)) {
      verdict.Add(std::isnan(got) ? 0 : 2, describe);
    } else if (expected > std::numeric_limits<F>::max() * (1 + relative)) {
      verdict.Add(std::isinf(got) ? 0 : 2, describe);
    } else if (exact || expected == 0) {
      verdict.Add(got == static_cast<F>(expected) ? 0 : 2, describe);
    } else {
      // What is too small to be normal is a multiple of the smallest number.
      const long double bound = relative * expected + static_cast<long double>(std::numeric_limits<F>::denorm_min());
      verdict.Add(static_cast<double>(std::fabs(got - expected) / bound), describe);
    }
  }
  return verdict;
}

Case Norm(const std::string& name, DType dtype, const Shape& shape, const std::string& order, const std::string& axis,
          double range = 1000) {
  return {.name = std::string(Name(dtype)) + "_" + (order[0] == '-' ? "minus_" + order.substr(1) : order) + "_" + name,
          .params = {{"ord", order}, {"axis", axis}},
          .inputs = [=](std::mt19937_64& random) {
            TestArray x({.dtype = dtype, .shape = shape});
            FillUniform(x, -range, range, random);
            return std::map<std::string, TestArray>{{"x", std::move(x)}};
          }};
}

// Each line of [9, 40] of another size, to where squares overflow and where they vanish; then lines of specials.
template <typename T>
void FillRange(std::span<T> x) {
  constexpr int kTop = std::numeric_limits<T>::max_exponent - 8;
  const int bottom = std::is_same_v<T, float> ? -140 : -900;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const int row = static_cast<int>(i / 40);
    const int exponent = bottom + (kTop - bottom) * row / 6;
    x[i] = std::ldexp(static_cast<T>(static_cast<int>(i * 7919 % 101) - 50) / 8, exponent);
    if (row == 7) x[i] = static_cast<T>(i);
    if (row == 8) x[i] = i % 2 == 0 ? T(0) : T(-0.0);
  }
  x[7 * 40 + 3] = -std::numeric_limits<T>::infinity();
  x[6 * 40 + 39] = std::numeric_limits<T>::quiet_NaN();
}

// A low power counts what is far smaller than the largest, and of many makes what is far larger.
Case OfLowPower(const std::string& name, DType dtype, const Shape& shape, const std::vector<double>& repeated) {
  Case one = Norm("hundredth_" + name, dtype, shape, "p", "-1");
  one.params["p"] = 0.01;
  one.inputs = [=](std::mt19937_64&) {
    TestArray x({.dtype = dtype, .shape = shape});
    WithTypeOf<float, double>(dtype, [&](auto zero) {
      const auto elements = x.Elements<decltype(zero)>();
      for (std::size_t i = 0; i < elements.size(); ++i) {
        elements[i] = static_cast<decltype(zero)>(repeated[i % repeated.size()]);
      }
    });
    return std::map<std::string, TestArray>{{"x", std::move(x)}};
  };
  return one;
}

}  // namespace norm_verifier

std::vector<Case> NormCases() {
  using namespace norm_verifier;
  std::vector<Case> cases;
  cases.push_back(OfLowPower("many", DType::kFloat64, {2000}, {1e-300}));
  cases.push_back(OfLowPower("many_least", DType::kFloat64, {1'800'000}, {1e-320}));
  cases.push_back(OfLowPower("overflows", DType::kFloat64, {3, 2000}, {1.0}));
  cases.push_back(OfLowPower("far_apart", DType::kFloat64, {2, 7}, {1e300, -1e-300, 1e-300, 0, 1e-300, 1e-320, 1e200}));
  cases.push_back(OfLowPower("many", DType::kFloat32, {50, 6}, {1e-45}));
  cases.push_back(OfLowPower("far_apart", DType::kFloat32, {2, 2}, {1e38, 1e-45}));
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64}) {
    for (const std::string order : {"auto", "0", "1", "2", "inf", "-inf", "p"}) {
      const auto add = [&](const std::string& name, const Shape& shape, const std::string& axis) {
        cases.push_back(Norm(name, dtype, shape, order, axis));
      };
      if (order == "auto") add("scalar", {}, "all");
      add("one", {1}, "all");
      add("n33", {33}, "all");
      add("n1000", {1000}, "0");
      add("r3_first", {7, 11, 13}, "0");
      add("r3_middle", {7, 11, 13}, "-2");
      if (order == "auto") add("r3_all", {7, 11, 13}, "all");
      add("no_outputs", {0, 3}, "1");
      add("wide", {70, 700}, "0");
      if (order != "inf" && order != "-inf") add("empty", {0}, "all");
      if (order != "inf" && order != "-inf") add("empty_axis", {3, 0}, "1");
      if (dtype == DType::kFloat32 || order == "2") add("n150001", {150'001}, "all");
      if (!IsFloating(dtype)) continue;
      for (const char* axis : {"0", "1", "all"}) {
        if (axis == std::string("all") && order != "auto") continue;  // of matrices
        Case range = Norm(std::string("any_size_") + axis, dtype, {9, 40}, order, axis);
        range.inputs = [dtype](std::mt19937_64&) {
          TestArray x({.dtype = dtype, .shape = {9, 40}});
          if (dtype == DType::kFloat32) FillRange(x.Elements<float>());
          if (dtype == DType::kFloat64) FillRange(x.Elements<double>());
          return std::map<std::string, TestArray>{{"x", std::move(x)}};
        };
        cases.push_back(std::move(range));
      }
      if (order != "2") continue;
      // Rows whose squares sum to 0: of zeros alone, and in the second case of a number that is not 0, too.
      for (const double least : {0.0, 1e-200}) {
        Case zeros = Norm(least == 0 ? "rows_of_zeros" : "next_to_zeros", dtype, {4, 40}, order, "1");
        zeros.inputs = [dtype, least](std::mt19937_64& random) {
          TestArray x({.dtype = dtype, .shape = {4, 40}});
          FillUniform(x, -1, 1, random);
          const auto fill = [least](auto rows) {
            std::fill_n(rows.begin() + 40, 80, 0);
            rows[100] = static_cast<std::decay_t<decltype(rows[0])>>(least);
          };
          if (dtype == DType::kFloat32) fill(x.Elements<float>());
          if (dtype == DType::kFloat64) fill(x.Elements<double>());
          return std::map<std::string, TestArray>{{"x", std::move(x)}};
        };
        cases.push_back(std::move(zeros));
      }
    }
    for (const std::string order : {"auto", "fro", "1", "-1", "inf", "-inf"}) {
      cases.push_back(Norm("matrix", dtype, {33, 17}, order, "matrices"));
      cases.push_back(Norm("two_dimensions", dtype, {33, 17}, order, "all"));
      cases.push_back(Norm("matrices_kept", dtype, {2, 3, 20, 600}, order, "matrices"));
      cases.back().params["keepdims"] = true;
      cases.push_back(Norm("tall_matrix", dtype, {1500, 3}, order, "matrices"));
      cases.push_back(Norm("no_matrices", dtype, {0, 3, 4}, order, "matrices"));
      cases.push_back(Norm("thin", dtype, order.ends_with('1') ? Shape{0, 4} : Shape{4, 0}, order, "matrices"));
    }
    for (const double p : {0.01, 0.0999, 0.1, 0.5, 1.0, 2.0, 2.5, 7.0, 13.0, 40.0}) {
      Case power = Norm("of_" + std::to_string(std::lround(p * 10'000)), dtype, {5, 60}, "p", "1");
      power.params["p"] = p;
      cases.push_back(std::move(power));
    }
  }
  return cases;
}

Verdict VerifyNorm(const Executed& executed) {
  using namespace norm_verifier;
  return WithType(executed.Input("x").signature().dtype,
                  [&](auto zero) { return VerifyNorms<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
