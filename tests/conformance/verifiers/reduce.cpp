// Reductions straight from their definitions, element by element: integers in 128 bits, floats in __float128.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "tests/conformance/lines.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace reduce_verifier {

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64};
constexpr const char* kOperations[] = {"sum", "prod", "min", "max", "argmin", "argmax", "mean", "std"};

using Quad = __float128;

Quad Absolute(Quad x) { return x < 0 ? -x : x; }

struct Bounds {
  Quad unit, summed;
};
template <typename T>
constexpr Bounds BoundsOf() {
  if (std::is_same_v<T, float>) return {0x1p-24, 0x1p-53};
  return {0x1p-53, 0x1p-100};
}

double Ratio(Quad error, Quad bound) {
  if (error == 0) return 0;
  return bound == 0 ? 2 : static_cast<double>(error / bound);
}

// Of what an infinity or NaN makes of the result, as NumPy has it.
template <typename Out>
double Special(long double expected, Out got) {
  if (std::isnan(expected)) return std::isnan(got) ? 0 : 2;
  return static_cast<long double>(got) == expected ? 0 : 2;
}

template <typename T, typename At>
double SumError(const std::string& operation, std::size_t n, std::int64_t ddof, const At& at, auto got) {
  using Out = decltype(got);
  if constexpr (std::is_integral_v<Out>) {
    unsigned __int128 sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<unsigned __int128>(static_cast<__int128>(at(i)));
    return static_cast<std::uint64_t>(sum) == static_cast<std::uint64_t>(got) ? 0 : 2;
  } else {
    const auto [unit, summed] = BoundsOf<T>();
    Quad sum = 0, magnitude = 0;
    long double special = 0;  // NaN or infinite if an element is
    for (std::size_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(at(i));
      if (!std::isfinite(x)) {
        special += x;
        continue;
      }
      sum += x, magnitude += Absolute(x);
    }
    if (operation == "std" && !std::isfinite(special)) special = std::numeric_limits<long double>::quiet_NaN();
    if (special != 0) return Special(special, got);
    const Quad count = static_cast<Quad>(n);
    if (operation == "sum") {
      // Everything from half a unit beyond the largest number on rounds to infinity.
      if (std::isinf(got)) return Absolute(sum) > std::numeric_limits<Out>::max() && (sum > 0) == (got > 0) ? 0 : 2;
      return Ratio(Absolute(got - sum), 2 * unit * Absolute(sum) + count * summed * magnitude);
    }
    if (n == 0) return std::isnan(got) ? 0 : 2;
    const Quad mean = sum / count;
    if (operation == "mean") {
      return Ratio(Absolute(got - mean), 2 * unit * Absolute(mean) + summed * magnitude);
    }
    Quad squares = 0, furthest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      squares += (at(i) - mean) * (at(i) - mean);
      furthest = std::max(furthest, Absolute(at(i) - mean));
    }
    const long double divisor = std::max(0.0L, static_cast<long double>(n) - static_cast<long double>(ddof));
    if (divisor == 0) return squares == 0 ? (std::isnan(got) ? 0 : 2) : Special(HUGE_VALL, got);
    const long double deviation = std::sqrt(static_cast<long double>(squares / divisor));
    // Whatever T is, squares are those of float64.
    if (squares > std::numeric_limits<double>::max()) return Special(HUGE_VALL, got);
    const bool lost = furthest * furthest < std::numeric_limits<double>::min();
    return Ratio(Absolute(got - deviation), 4 * unit * (deviation + Absolute(mean)) + (lost ? deviation : 0));
  }
}

template <typename T, typename At>
double ProductError(std::size_t n, const At& at, auto got) {
  using Out = decltype(got);
  if constexpr (std::is_integral_v<Out>) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < n; ++i) product *= static_cast<std::uint64_t>(static_cast<std::int64_t>(at(i)));
    return product == static_cast<std::uint64_t>(got) ? 0 : 2;
  } else {
    long double product = 1;  // of far wider range, and the cases stay within it
    for (std::size_t i = 0; i < n; ++i) product *= static_cast<long double>(at(i));
    if (!std::isfinite(product)) return Special(product, got);
    if (std::isinf(got)) return std::fabs(product) > std::numeric_limits<Out>::max() ? 0 : 2;
    const long double unit = std::is_same_v<Out, float> ? 0x1p-24L : 0x1p-53L;
    const long double bound = (static_cast<long double>(n) * 0x1p-52L + unit) * std::fabs(product);
    return Ratio(std::fabs(static_cast<long double>(got) - product),
                 bound + static_cast<long double>(std::numeric_limits<Out>::denorm_min()));
  }
}

template <typename T, typename At>
std::size_t ExtremePlace(bool largest, std::size_t n, const At& at) {
  std::size_t place = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(at(i))) return i;
    }
    if (largest ? at(i) > at(place) : at(i) < at(place)) place = i;
  }
  return place;
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const BoundCall& call = executed.call;
  const TestArray &x = executed.Input("x"), &y = executed.Output("y");
  const std::string& operation = call.Choice("operation");
  const Lines lines(x.signature().shape, call.Choice("axis"));
  const auto elements = x.Elements<T>();
  Verdict verdict;
  if (y.size() != lines.outputs) verdict.Add(2, [] { return std::string("another number of results"); });
  WithType(y.signature().dtype, [&](auto zero) {
    using Out = decltype(zero);
    const auto results = y.Elements<Out>();
    for (std::size_t output = 0; output < std::min(results.size(), lines.outputs); ++output) {
      const Out got = results[output];
      const auto at = [&](std::size_t i) { return elements[lines.At(output, i)]; };
      double error = 0;
      if (operation == "sum" || operation == "mean" || operation == "std") {
        error = SumError<T>(operation, lines.count, call.Int("ddof"), at, got);
      } else if (operation == "prod") {
        error = ProductError<T>(lines.count, at, got);
      } else {
        const bool largest = operation == "max" || operation == "argmax";
        const std::size_t place = ExtremePlace<T>(largest, lines.count, at);
        if (operation == "argmin" || operation == "argmax") {
          error = static_cast<std::size_t>(got) == place ? 0 : 2;
        } else if (!(static_cast<Out>(at(place)) == got ||
                     (std::isnan(static_cast<double>(at(place))) && got != got))) {
          error = 2;
        }
      }
      verdict.Add(error, [&] {
        return "y[" + std::to_string(output) + "] of " + std::to_string(lines.outputs) + " = " + std::to_string(got);
      });
    }
  });
  return verdict;
}

// Products stay within float32's range.
template <typename T>
void Fill(TestArray& x, const std::string& operation, std::mt19937_64& random) {
  if (operation == "prod") {
    FillUniform(x, 0.75, 1.3, random);
    for (T& element : x.Elements<T>()) {
      if (std::is_integral_v<T>) element = static_cast<T>(random() % 9) - 4;
    }
  } else if (operation == "std" && random() % 2 == 0) {
    FillUniform(x, 1e6, 1e6 + 3, random);  // far from 0, close to each other
  } else if (operation[0] == 'a') {
    FillUniform(x, -40, 40, random);
    for (T& element : x.Elements<T>()) element = static_cast<T>(static_cast<int>(element));  // with many equal ones
  } else {
    FillUniform(x, -1e6, 1e6, random);
  }
}

Case Reduction(const std::string& name, DType dtype, const Shape& shape, const std::string& operation,
               std::map<std::string, ParamValue> params) {
  params.emplace("operation", operation);
  return {.name = std::string(Name(dtype)) + "_" + operation + "_" + name,
          .params = std::move(params),
          .inputs = [=](std::mt19937_64& random) {
            TestArray x({.dtype = dtype, .shape = shape});
            WithType(dtype, [&](auto zero) { Fill<decltype(zero)>(x, operation, random); });
            return std::map<std::string, TestArray>{{"x", std::move(x)}};
          }};
}

// Some lines with one special number or two, among others.
template <typename T>
void FillSpecial(std::span<T> x) {
  constexpr T kSpecial[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                            -std::numeric_limits<T>::infinity(), T(-0.0), T(3)};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(static_cast<int>(i * 7919 % 101) - 50) / 8;
  // The rows of [12, 70]: the first has none.
  for (std::size_t row = 1; row < 12; ++row) {
    x[row * 70 + row * 5] = kSpecial[row % 5];
    if (row > 5) x[row * 70 + 40 + row] = kSpecial[row * 3 % 5];
  }
}

}  // namespace reduce_verifier

std::vector<Case> ReduceCases() {
  using namespace reduce_verifier;
  std::vector<Case> cases;
  const std::map<std::string, ParamValue> all;
  const auto along = [](const char* axis) { return std::map<std::string, ParamValue>{{"axis", std::string(axis)}}; };
  for (const DType dtype : kDTypes) {
    for (const std::string operation : kOperations) {
      const auto add = [&](const std::string& name, const Shape& shape, std::map<std::string, ParamValue> params) {
        cases.push_back(Reduction(name, dtype, shape, operation, std::move(params)));
      };
      add("scalar", {}, all);
      add("one", {1}, all);
      add("n33", {33}, all);
      add("n1000_kept", {1000}, {{"keepdims", true}});
      add("n5000", {5000}, all);
      add("r3_first", {7, 11, 13}, along("0"));
      add("r3_middle_kept", {7, 11, 13}, {{"axis", std::string("1")}, {"keepdims", true}});
      add("r3_last", {7, 11, 13}, along("-1"));
      add("r3_all", {7, 11, 13}, all);
      add("few_columns", {3001, 3}, along("0"));
      add("wide", {130, 700}, along("0"));
      add("long_rows", {3, 2077}, along("1"));
      add("no_outputs", {0, 4}, along("1"));
      if (operation == "sum" || operation == "prod" || operation == "mean" || operation == "std") {
        add("empty", {0}, all);
        add("empty_axis", {3, 0, 2}, along("1"));
      }
      // Longer products leave every range.
      if (operation != "prod" && (dtype == DType::kFloat32 || operation == "sum")) {
        add("n300001", {300'001}, all);
        add("tall", {70'001, 5}, along("-2"));
        add("two_wide", {2, 300, 601}, along("1"));
      }
      if (operation == "std") add("ddof", {50, 3}, {{"axis", std::string("0")}, {"ddof", std::int64_t{1}}});
      if (operation == "std") add("ddof_too_large", {5, 3}, {{"axis", std::string("0")}, {"ddof", std::int64_t{7}}});
      if (!IsFloating(dtype)) continue;
      for (const char* axis : {"0", "1", "all"}) {
        Case special = Reduction(std::string("special_") + axis, dtype, {12, 70}, operation, along(axis));
        special.inputs = [dtype](std::mt19937_64&) {
          TestArray x({.dtype = dtype, .shape = {12, 70}});
          if (dtype == DType::kFloat32) FillSpecial(x.Elements<float>());
          if (dtype == DType::kFloat64) FillSpecial(x.Elements<double>());
          return std::map<std::string, TestArray>{{"x", std::move(x)}};
        };
        cases.push_back(std::move(special));
      }
    }
    if (dtype == DType::kFloat64) {
      Case range = Reduction("squares_out_of_range", dtype, {6, 2}, "std", along("1"));
      range.inputs = [dtype](std::mt19937_64&) {
        TestArray x({.dtype = dtype, .shape = {6, 2}});
        std::ranges::copy(std::initializer_list<double>{1e200, -1e200, 1e150, -1e150, 1e-150, -1e-150, 1e-160, -1e-160,
                                                        1e-200, -1e-200, 1, 1},
                          x.Elements<double>().begin());
        return std::map<std::string, TestArray>{{"x", std::move(x)}};
      };
      cases.push_back(std::move(range));
    }
    // What rounding would lose: large numbers that cancel, and the largest that there are.
    if (IsFloating(dtype)) {
      Case cancelling = Reduction("cancelling", dtype, {3001}, "sum", all);
      cancelling.inputs = [dtype](std::mt19937_64&) {
        TestArray x({.dtype = dtype, .shape = {3001}});
        WithType(dtype, [&](auto zero) {
          using T = decltype(zero);
          const auto elements = x.Elements<T>();
          for (std::size_t i = 0; i < 3001; ++i) {
            const std::size_t pair = i / 2;
            elements[i] = i == 3000 ? T(0.375) : (i % 2 == 0 ? T(1) : T(-1)) * static_cast<T>(pair * 1e15);
          }
        });
        return std::map<std::string, TestArray>{{"x", std::move(x)}};
      };
      cases.push_back(std::move(cancelling));
    } else {
      Case wrapping = Reduction("wrapping", dtype, {70, 40}, "sum", along("0"));
      wrapping.inputs = [dtype](std::mt19937_64& random) {
        TestArray x({.dtype = dtype, .shape = {70, 40}});
        WithType(dtype, [&](auto zero) {
          using T = decltype(zero);
          for (T& element : x.Elements<T>()) element = static_cast<T>(random());
        });
        return std::map<std::string, TestArray>{{"x", std::move(x)}};
      };
      cases.push_back(wrapping);
      for (const char* operation : {"prod", "min", "argmax", "mean"}) {
        Case other = wrapping;
        other.name = std::string(Name(dtype)) + "_" + operation + "_any_bits";
        other.params["operation"] = std::string(operation);
        cases.push_back(std::move(other));
      }
    }
  }
  return cases;
}

Verdict VerifyReduce(const Executed& executed) {
  using namespace reduce_verifier;
  return WithType(executed.Input("x").signature().dtype, [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
