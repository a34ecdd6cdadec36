// Sums in __float128 and 128 bits, products in long double, along each line from its beginning; a complex number is
// two.
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "tests/conformance/lines.h"
#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace scan_verifier {

using Quad = __float128;

constexpr DType kDTypes[] = {DType::kInt32,   DType::kInt64,   DType::kUInt32,    DType::kUInt64,
                             DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128};

template <typename Body>
auto WithPart(DType dtype, const Body& body) {
  return WithTypeOf<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double>(RealPart(dtype), body);
}

// x along the axis, and y, whose lines may be one longer. A complex number has two parts.
struct ScannedLines {
  Lines x;
  std::size_t parts;
  bool initial;

  explicit ScannedLines(const BoundCall& call)
      : x(call.inputs.front().shape, call.Choice("axis")),
        parts(IsComplex(call.inputs.front().dtype) ? 2 : 1),
        initial(call.Bool("include_initial")) {}
  std::size_t results() const { return x.count + (initial ? 1 : 0); }
  std::size_t XAt(std::size_t line, std::size_t i, std::size_t part) const { return x.At(line, i) * parts + part; }
  std::size_t YAt(std::size_t line, std::size_t i, std::size_t part) const {
    return x.At(line, i, results()) * parts + part;
  }
};

// Whether both are NaN, or the same infinity.
bool SameSpecial(long double expected, long double got) {
  return std::isnan(expected) ? std::isnan(got) : expected == got;
}

// A float that rounding took beyond the largest one.
template <typename T>
bool Overflows(long double expected, T got) {
  return std::isinf(got) && std::fabs(expected) > static_cast<long double>(std::numeric_limits<T>::max()) &&
         std::signbit(expected) == std::signbit(got);
}

// The errors of one part of one line of sums.
template <typename T>
void VerifySums(const ScannedLines& lines, std::size_t line, std::size_t part, std::span<const T> x,
                std::span<const T> y, const auto& add) {
  std::uint64_t wrapped = 0;
  Quad sum = 0, magnitude = 0;
  long double special = 0;
  for (std::size_t i = 0; i < lines.results(); ++i) {
    if (!lines.initial || i > 0) {
      const std::size_t from = i - (lines.initial ? 1 : 0);
      const T element = x[lines.XAt(line, from, part)];
      if constexpr (std::is_integral_v<T>) {
        wrapped += static_cast<std::uint64_t>(element);
      } else if (!std::isfinite(element)) {
        special += static_cast<long double>(element);
      } else {
        sum += static_cast<Quad>(element), magnitude += static_cast<Quad>(std::fabs(element));
      }
    }
    const T got = y[lines.YAt(line, i, part)];
    if constexpr (std::is_integral_v<T>) {
      add(got == static_cast<T>(wrapped) ? 0 : 2, i, got);
    } else if (special != 0) {
      add(SameSpecial(special, static_cast<long double>(got)) ? 0 : 2, i, got);
    } else if (std::isinf(got)) {
      add(Overflows(static_cast<long double>(sum), got) ? 0 : 2, i, got);
    } else {
      const Quad exact = sum < 0 ? -sum : sum, error = static_cast<Quad>(got) - sum;
      const Quad bound = static_cast<Quad>(i + 1) * 0x1p-52 * magnitude + UnitRoundoff<T>() * exact;
      add(InBounds(static_cast<long double>(error < 0 ? -error : error), static_cast<long double>(bound)), i, got);
    }
  }
}

template <typename T>
void VerifyProducts(const ScannedLines& lines, std::size_t line, std::span<const T> x, std::span<const T> y,
                    const auto& add) {
  std::uint64_t wrapped = 1;
  std::complex<long double> product = 1;
  for (std::size_t i = 0; i < lines.results(); ++i) {
    if (!lines.initial || i > 0) {
      const std::size_t from = i - (lines.initial ? 1 : 0);
      const T element = x[lines.XAt(line, from, 0)];
      if constexpr (std::is_integral_v<T>) {
        wrapped *= static_cast<std::uint64_t>(element);
      } else if (lines.parts == 1) {
        product = product.real() * static_cast<long double>(element);
      } else {
        product *= std::complex<long double>(element, x[lines.XAt(line, from, 1)]);
      }
    }
    const T got = y[lines.YAt(line, i, 0)];
    if constexpr (std::is_integral_v<T>) {
      add(got == static_cast<T>(wrapped) ? 0 : 2, i, got);
    } else {
      const long double n = static_cast<long double>(i + 1), least = std::numeric_limits<T>::denorm_min();
      if (lines.parts == 1 && !std::isfinite(product.real())) {
        add(SameSpecial(product.real(), static_cast<long double>(got)) ? 0 : 2, i, got);
      } else if (lines.parts == 1 && std::isinf(got)) {
        add(Overflows(product.real(), got) ? 0 : 2, i, got);
      } else {
        const long double im = lines.parts == 1 ? 0 : static_cast<long double>(y[lines.YAt(line, i, 1)]);
        const long double error = std::abs(std::complex<long double>(static_cast<long double>(got), im) - product);
        const long double unit = n * (lines.parts == 1 ? 0x1p-52L : 0x1p-50L) + UnitRoundoff<T>();
        add(InBounds(error, unit * std::abs(product) + least), i, got);
      }
    }
  }
}

// Sums that cancel, integers that wrap around; products that stay near 1.
void Fill(TestArray& x, bool product, std::mt19937_64& random) {
  WithPart(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto elements = x.Elements<T>();
    if constexpr (std::is_integral_v<T>) {
      for (T& element : elements) element = static_cast<T>(product ? random() | 1 : random());
    } else {
      const double spread = IsComplex(x.signature().dtype) ? 0.7 : 0;  // of two parts, of about 1 together
      for (T& element : elements) {
        const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
        element = static_cast<T>(product ? (spread > 0 ? spread - 0.02 + 0.04 * unit : 0.9 + 0.2 * unit)
                                         : (unit - 0.5) * 2e6);
      }
    }
  });
}

Case Scan(const std::string& name, DType dtype, const Shape& shape, const std::string& operation,
          std::map<std::string, ParamValue> params) {
  params.emplace("operation", operation);
  return {.name = std::string(Name(dtype)) + "_" + operation + "_" + name,
          .params = std::move(params),
          .inputs = [=](std::mt19937_64& random) {
            TestArray x({.dtype = dtype, .shape = shape});
            Fill(x, operation == "prod", random);
            return std::map<std::string, TestArray>{{"x", std::move(x)}};
          }};
}

// Some rows with a special number or two among others.
template <typename T>
void FillSpecial(std::span<T> x, std::size_t row) {
  constexpr T kSpecial[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                            -std::numeric_limits<T>::infinity(), T(0), T(-3)};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(1 + static_cast<double>(i % 7) / 64);
  for (std::size_t first = row, i = 1; first < x.size(); first += row, ++i) {
    x[first + i % row] = kSpecial[i % 5];
    if (i > 5) x[first + (i + row / 2) % row] = kSpecial[i * 3 % 5];
  }
}

}  // namespace scan_verifier

std::vector<Case> ScanCases() {
  using namespace scan_verifier;
  std::vector<Case> cases;
  const std::map<std::string, ParamValue> none;
  const auto along = [](const char* axis, bool initial = false) {
    return std::map<std::string, ParamValue>{{"axis", std::string(axis)}, {"include_initial", initial}};
  };
  for (const DType dtype : kDTypes) {
    for (const std::string operation : {"sum", "prod"}) {
      const auto add = [&](const std::string& name, const Shape& shape, std::map<std::string, ParamValue> params) {
        cases.push_back(Scan(name, dtype, shape, operation, std::move(params)));
      };
      add("scalar", {}, none);
      add("n33_initial", {33}, along("all", true));
      add("n255", {255}, none);
      add("n257", {257}, along("-1"));
      add("rows", {5, 3, 130}, along("-1", true));
      add("middle", {3, 700, 5}, along("1"));
      add("middle_initial", {3, 70, 67}, along("-2", true));
      add("first", {513, 4}, along("0"));
      add("flattened", {7, 11, 13}, none);
      if (operation == "sum" || dtype == DType::kInt32) add("n100001", {100'001}, none);
      // Long columns; of a million elements so many threads' worth.
      if (operation == "sum" && (dtype == DType::kFloat64 || dtype == DType::kUInt64)) {
        add("long_columns", {70'001, 3}, along("0", true));
      }
      if (operation == "sum" && dtype == DType::kFloat32) add("many_lines", {70'001, 9}, along("1", true));
      if (dtype != DType::kFloat32 && dtype != DType::kFloat64) continue;
      Case special = Scan("special", dtype, {20, 600}, operation, along("1"));
      special.inputs = [dtype](std::mt19937_64&) {
        TestArray x({.dtype = dtype, .shape = {20, 600}});
        if (dtype == DType::kFloat32) FillSpecial(x.Elements<float>(), 600);
        if (dtype == DType::kFloat64) FillSpecial(x.Elements<double>(), 600);
        return std::map<std::string, TestArray>{{"x", std::move(x)}};
      };
      cases.push_back(std::move(special));
    }
  }
  return cases;
}

Verdict VerifyScan(const Executed& executed) {
  using namespace scan_verifier;
  const TestArray &x = executed.Input("x"), &y = executed.Output("y");
  const ScannedLines lines(executed.call);
  Verdict verdict;
  const std::size_t count = lines.x.outputs;
  if (y.size() != count * lines.results() || y.signature().dtype != x.signature().dtype) {
    verdict.Add(2, [] { return std::string("another number of results, or another dtype"); });
    return verdict;
  }
  WithPart(x.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> elements = x.Elements<T>(), results = y.Elements<T>();
    for (std::size_t line = 0; line < count; ++line) {
      const auto add = [&](double error, std::size_t i, T got) {
        verdict.Add(error, [&] {
          return "line " + std::to_string(line) + ": result " + std::to_string(i) + " is " + std::to_string(got);
        });
      };
      if (executed.call.Choice("operation") == "prod") {
        VerifyProducts(lines, line, elements, results, add);
        continue;
      }
      for (std::size_t part = 0; part < lines.parts; ++part) VerifySums(lines, line, part, elements, results, add);
    }
  });
  return verdict;
}

}  // namespace hotplate::conformance
