// Transforms from their definition in long double: lengths up to kDirect by the sum itself, others split at their
// smallest prime factor, with the sum for each prime.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace fft_verifier {

using Number = std::complex<long double>;
using Numbers = std::vector<Number>;

constexpr std::size_t kDirect = 60;

// exp(sign * 2 pi i k / n) for k < n
Numbers Roots(std::size_t n, int sign) {
  Numbers roots(n);
  for (std::size_t k = 0; k < n; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), static_cast<long double>(sign) * std::sin(angle)};
  }
  return roots;
}

// std::complex's product looks for infinities, which takes longer than the product.
Number Times(const Number& a, const Number& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Numbers Dft(const Numbers& x, int sign) {
  const std::size_t n = x.size();
  const Numbers roots = Roots(n, sign);
  std::size_t prime = 2;
  while (n % prime != 0 && prime * prime <= n) ++prime;
  Numbers y(n);
  if (n <= kDirect || n % prime != 0) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) y[k] += Times(x[j], roots[at]);
    }
    return y;
  }
  const std::size_t part = n / prime;
  for (std::size_t r = 0; r < prime; ++r) {
    Numbers every(part);
    for (std::size_t j = 0; j < part; ++j) every[j] = x[j * prime + r];
    const Numbers of_part = Dft(every, sign);
    for (std::size_t k = 0; k < n; ++k) y[k] += Times(of_part[k % part], roots[r * k % n]);
  }
  return y;
}

// Of `rows` x `columns` numbers, down the columns.
void DownColumns(Numbers& x, std::size_t rows, std::size_t columns, int sign) {
  for (std::size_t c = 0; c < columns && rows > 1; ++c) {
    Numbers column(rows);
    for (std::size_t r = 0; r < rows; ++r) column[r] = x[r * columns + c];
    column = Dft(column, sign);
    for (std::size_t r = 0; r < rows; ++r) x[r * columns + c] = column[r];
  }
}

// One transform: `x` is rows x (its columns), the result rows x `columns_out`.
struct Asked {
  std::string transform;
  std::size_t rows, columns_in, columns_out, columns;  // columns: of what is not halved
  long double factor;

  int sign() const { return transform == "fft" || transform == "rfft" ? -1 : 1; }

  // What of a column comes out as real numbers; the rest would take digits from it.
  void MakeSymmetric(Numbers& x, std::size_t column) const {
    const Numbers given = x;
    for (std::size_t r = 0; r < rows; ++r) {
      x[r * columns_in + column] =
          (given[r * columns_in + column] + std::conj(given[(rows - r) % rows * columns_in + column])) / 2.0L;
    }
  }

  Numbers Exact(Numbers x) const {
    if (transform == "irfft") {
      MakeSymmetric(x, 0);
      if (columns % 2 == 0) MakeSymmetric(x, columns / 2);
      DownColumns(x, rows, columns_in, sign());
    }
    Numbers y(rows * columns_out);
    for (std::size_t r = 0; r < rows; ++r) {
      Numbers row(columns);
      for (std::size_t c = 0; c < columns; ++c) {
        const bool mirrored = c >= columns_in;
        const Number& from = x[r * columns_in + (mirrored ? columns - c : c)];
        row[c] = mirrored ? std::conj(from) : from;
        if (transform == "irfft" && (c == 0 || 2 * c == columns)) row[c] = from.real();
      }
      row = Dft(row, sign());
      for (std::size_t c = 0; c < columns_out; ++c) y[r * columns_out + c] = row[c] * factor;
    }
    if (transform != "irfft") DownColumns(y, rows, columns_out, sign());
    return y;
  }
};

// Elements as numbers; `parts` is 2 for complex ones.
template <typename T>
Numbers Read(std::span<const T> elements, std::size_t parts, std::size_t begin, std::size_t count) {
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const T* const at = elements.data() + (begin + i) * parts;
    numbers[i] = {static_cast<long double>(at[0]), parts == 2 ? static_cast<long double>(at[1]) : 0};
  }
  return numbers;
}

bool IsFinite(const Number& number) { return std::isfinite(number.real()) && std::isfinite(number.imag()); }

template <typename T>
Verdict VerifyTransforms(const Executed& executed) {
  const TestArray &x = executed.Input("x"), &y = executed.Output("y");
  const Shape &in = x.signature().shape, &out = y.signature().shape;
  const std::size_t rank = in.size();
  Asked asked{.transform = executed.call.Choice("transform"),
              .rows = executed.call.Int("axes") == 2 ? static_cast<std::size_t>(in[rank - 2]) : 1,
              .columns_in = 0,
              .columns_out = static_cast<std::size_t>(out[rank - 1]),
              .columns = static_cast<std::size_t>(executed.call.Int("n")),
              .factor = 1};
  const auto given = static_cast<std::size_t>(in[rank - 1]);
  if (asked.columns == 0) asked.columns = asked.transform == "irfft" ? 2 * (given - 1) : given;
  asked.columns_in = asked.transform == "irfft" ? asked.columns / 2 + 1 : asked.columns;
  const long double points = static_cast<long double>(asked.rows * asked.columns);
  const std::string& norm = executed.call.Choice("norm");
  if (norm == "ortho") asked.factor = 1 / std::sqrt(points);
  if ((norm == "forward") == (asked.sign() < 0) && norm != "ortho") asked.factor = 1 / points;

  const std::size_t in_parts = IsComplex(x.signature().dtype) ? 2 : 1, out_parts = asked.transform == "irfft" ? 1 : 2;
  const std::size_t size_out = asked.rows * asked.columns_out;
  const long double unit = std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L;
  Verdict verdict;
  for (std::size_t i = 0; i < y.size() / size_out; ++i) {
    Numbers from(asked.rows * asked.columns_in);  // zeros where x has nothing
    for (std::size_t r = 0; r < asked.rows; ++r) {
      const Numbers row =
          Read(x.Elements<T>(), in_parts, (i * asked.rows + r) * given, std::min(given, asked.columns_in));
      std::copy(row.begin(), row.end(), from.begin() + static_cast<std::ptrdiff_t>(r * asked.columns_in));
    }
    const Numbers got = Read(y.Elements<T>(), out_parts, i * size_out, size_out);
    const auto describe = [&](std::size_t k, const std::string& expected) {
      return [&, k, expected] {
        return "element " + std::to_string(k) + " of transform " + std::to_string(i) + " is " +
               std::to_string(got[k].real()) + " + " + std::to_string(got[k].imag()) + "i instead of " + expected;
      };
    };
    if (!std::all_of(from.begin(), from.end(), IsFinite)) {  // the first is a sum of all
      for (std::size_t k = 0; k < (out_parts == 2 ? size_out : 1); ++k) {
        verdict.Add(IsFinite(got[k]) ? 2 : 0, describe(k, "something that is not finite"));
      }
      continue;
    }
    const Numbers exact = asked.Exact(from);
    long double largest = 0;
    for (const Number& number : exact) largest = std::max(largest, std::abs(number));
    const long double bound =
        4 * (1 + std::log2(points)) * unit * largest + static_cast<long double>(std::numeric_limits<T>::denorm_min());
    for (std::size_t k = 0; k < size_out; ++k) {
      const Number expected = out_parts == 2 ? exact[k] : exact[k].real();
      verdict.Add(static_cast<double>(std::abs(got[k] - expected) / bound),
                  describe(k, std::to_string(expected.real()) + " + " + std::to_string(expected.imag()) + "i"));
    }
  }
  return verdict;
}

struct Kind {
  const char* transform;
  std::int64_t axes;
  DType dtype;
};

Case Transformed(const std::string& name, const Kind& kind, const Shape& shape) {
  const std::string twice = kind.axes == 2 ? "2" : "";
  return {.name = std::string(Name(kind.dtype)) + "_" + kind.transform + twice + "_" + name,
          .params = {{"transform", std::string(kind.transform)}, {"axes", kind.axes}},
          .inputs = [=](std::mt19937_64& random) {
            TestArray x({.dtype = kind.dtype, .shape = shape});
            FillUniform(x, -1, 1, random);
            return std::map<std::string, TestArray>{{"x", std::move(x)}};
          }};
}

// A NaN in the second line of twenty, an infinity in the last, the others as they are.
Case WithNonFinite(const Kind& kind) {
  Case one = Transformed("not_finite", kind, {20, 12});
  one.inputs = [inputs = one.inputs, dtype = kind.dtype](std::mt19937_64& random) {
    std::map<std::string, TestArray> arrays = inputs(random);
    TestArray& x = arrays.at("x");
    WithType(RealPart(dtype), [&](auto zero) {
      using T = decltype(zero);
      const auto parts = x.Elements<T>();
      const std::size_t line = parts.size() / 20;
      if constexpr (std::is_floating_point_v<T>) {
        parts[line + line / 2] = std::numeric_limits<T>::quiet_NaN();
        parts[19 * line + 2] = -std::numeric_limits<T>::infinity();
      }
    });
    return arrays;
  };
  return one;
}

// Columns 0 and 4 of 8 have no symmetric part, and are far larger than the others.
Case Unsymmetric(const Kind& kind) {
  constexpr std::size_t kRows = 12, kHalf = 5;
  Case one = Transformed("unsymmetric", kind, {20, kRows, kHalf});
  one.inputs = [inputs = one.inputs, dtype = kind.dtype](std::mt19937_64& random) {
    std::map<std::string, TestArray> arrays = inputs(random);
    WithTypeOf<float, double>(RealPart(dtype), [&](auto zero) {
      using T = decltype(zero);
      const auto parts = arrays.at("x").Elements<T>();
      for (std::size_t i = 0; i < parts.size() / 2; ++i) {
        const std::size_t row = i / kHalf % kRows, mirror = (kRows - row) % kRows;
        if (i % kHalf % (kHalf - 1) != 0 || row > mirror) continue;
        const std::size_t j = i + (mirror - row) * kHalf;
        parts[2 * i] = row == mirror ? T(0) : parts[2 * i] * T(1e20);
        parts[2 * i + 1] *= T(1e20);
        parts[2 * j] = -parts[2 * i], parts[2 * j + 1] = parts[2 * i + 1];
      }
    });
    return arrays;
  };
  return one;
}

}  // namespace fft_verifier

std::vector<Case> FftCases() {
  using namespace fft_verifier;
  std::vector<Kind> kinds;
  for (const std::int64_t axes : {1, 2}) {
    for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
      for (const char* transform : {"fft", "ifft", "irfft"}) kinds.push_back({transform, axes, dtype});
    }
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      for (const char* transform : {"fft", "ifft", "rfft"}) kinds.push_back({transform, axes, dtype});
    }
  }
  std::vector<Case> cases;
  for (const Kind& kind : kinds) {
    const auto add = [&](const std::string& name, const Shape& shape) {
      cases.push_back(Transformed(name, kind, shape));
    };
    const bool real = std::string(kind.transform) == "irfft";
    const auto also = [&](const std::string& name, const ParamValue& value) {
      cases.back().params[name] = value;
      return &cases.back();
    };
    if (kind.axes == 2) {
      add("one", {1, 2});
      add("row", {1, 9});
      add("column", {6, 1, 2});
      add("no_batch", {0, 3, 4});
      add("stack", {2, 3, 7, 11});
      add("even", {16, 33});
      add("prime_rows", {2, 53, 20});
      add("wide", {3, 130});
      add("norm", {4, 6, 10});
      also("norm", std::string("ortho"));
      if (real) {
        add("odd", {5, 7, 6});
        also("n", std::int64_t{11});
        cases.push_back(Unsymmetric(kind));
      }
      add("cut", {3, 5, 9});
      also("n", std::int64_t{6});
      add("filled_up", {3, 5, 9});
      also("n", std::int64_t{22});
      continue;
    }
    if (!real) add("one", {1});
    add("n2", {2});
    add("lines_of_3", {5, 3});
    add("lines_of_4", {37, 4});
    add("no_lines", {0, 5});
    add("stack", {2, 3, 30});
    add("n105", {105});
    add("powers", {19, 65});
    add("prime", {3, 127});
    add("larger_prime", {1009});
    add("n1024", {2, 1024});
    add("many", {700, 50});
    add("ortho", {3, 24});
    also("norm", std::string("ortho"));
    add("forward", {3, 25});
    also("norm", std::string("forward"));
    cases.push_back(WithNonFinite(kind));
    add("cut", {9, 40});
    also("n", std::int64_t{13});
    add("cut_to_one", {5, 8});
    also("n", std::int64_t{1});
    add("filled_up", {9, 13});
    also("n", std::int64_t{45});
    add("filled_up_no_lines", {0, 13});
    also("n", std::int64_t{45});
    if (real) {
      add("to_one", {4, 1});
      also("n", std::int64_t{1});
      add("odd", {10, 14});
      also("n", std::int64_t{27});
      add("odd_prime", {9, 64});
      also("n", std::int64_t{127});
    }
  }
  return cases;
}

Verdict VerifyFft(const Executed& executed) {
  using namespace fft_verifier;
  return RealPart(executed.Input("x").signature().dtype) == DType::kFloat32 ? VerifyTransforms<float>(executed)
                                                                            : VerifyTransforms<double>(executed);
}

}  // namespace hotplate::conformance
