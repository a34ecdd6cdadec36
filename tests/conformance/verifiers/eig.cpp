// Residuals of eigenvectors, in long double. For eigenvalues alone: their sum, and the determinants of z - a at points
// z far from all of them, by elimination.
#include <algorithm>
#include <complex>
#include <limits>
#include <numbers>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace eig_verifier {

using Number = std::complex<long double>;
using Numbers = std::vector<Number>;

// kVast: elements whose squares are infinite; kTiny: 0. kCycle: the eigenvalues are roots of 1. kJordan: all of them
// are the same, and there is one eigenvector.
enum class Kind { kRandom, kSymmetric, kTriangular, kJordan, kCycle, kIdentity, kZero, kVast, kTiny };

Case Square(const std::string& name, DType dtype, const Shape& shape, const std::string& compute,
            Kind kind = Kind::kRandom) {
  const auto inputs = [=](std::mt19937_64& random) {
    TestArray a({.dtype = dtype, .shape = shape});
    FillUniform(a, -1, 1, random);
    WithTypeOf<float, double, std::complex<float>, std::complex<double>>(dtype, [&](auto zero) {
      using T = decltype(zero);
      using Limits = std::numeric_limits<decltype(std::real(zero))>;
      const auto elements = a.Elements<T>();
      const auto n = static_cast<std::size_t>(shape.back());
      for (std::size_t at = 0; at < elements.size(); ++at) {
        const std::size_t i = at / n % n, j = at % n;
        T& element = elements[at];
        if (kind == Kind::kSymmetric && j < i) element = elements[at - i * n - j + j * n + i];
        if (kind == Kind::kTriangular && j < i) element = 0;
        if (kind == Kind::kJordan) element = i == j ? 3 : j == i + 1 ? 1 : 0;
        if (kind == Kind::kCycle) element = j == (i + 1) % n ? 1 : 0;
        if (kind == Kind::kIdentity) element = i == j ? 1 : 0;
        if (kind == Kind::kZero) element = 0;
        if (kind == Kind::kVast) element *= Limits::max() / 1024;
        if (kind == Kind::kTiny) element *= Limits::min() * 1024 / Limits::epsilon();
      }
    });
    return std::map<std::string, TestArray>{{"a", std::move(a)}};
  };
  return {.name = std::string(Name(dtype)) + "_" + compute + "_" + name,
          .params = {{"compute", compute}},
          .inputs = inputs};
}

// One matrix of a call, by rows, and what came back for it; v is empty if no vectors were asked for.
struct Decomposed {
  std::size_t index, n;
  Numbers a, w, v;
  bool real;         // a's elements are real numbers
  long double norm;  // Frobenius norm of a
  long double unit;  // the spec's bound for a norm of 1

  std::function<std::string()> Off(const std::string& what, std::size_t i, long double error, long double bound) const {
    return Describe(what, index, i, 0, error, bound);
  }
};

template <typename T>
Numbers NumbersOf(const TestArray& array, std::size_t index, std::size_t count) {
  const auto elements = array.Elements<T>().subspan(index * count, count);
  Numbers numbers;
  for (const T& element : elements) numbers.emplace_back(std::real(element), std::imag(element));
  return numbers;
}

// The determinant of 1 - a / z, by elimination with partial pivoting.
Number Determinant(const Numbers& a, std::size_t n, Number z) {
  Numbers left(n * n);
  for (std::size_t at = 0; at < n * n; ++at) left[at] = (at / n == at % n ? 1.0L : 0.0L) - a[at] / z;
  Number product = 1;
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t pivot = step;
    for (std::size_t i = step + 1; i < n; ++i) {
      if (std::abs(left[i * n + step]) > std::abs(left[pivot * n + step])) pivot = i;
    }
    if (pivot != step) {
      product = -product;
      for (std::size_t j = step; j < n; ++j) std::swap(left[pivot * n + j], left[step * n + j]);
    }
    product *= left[step * n + step];
    for (std::size_t i = step + 1; i < n; ++i) {
      const Number factor = left[i * n + step] / left[step * n + step];
      for (std::size_t j = step + 1; j < n; ++j) left[i * n + j] -= factor * left[step * n + j];
    }
  }
  return product;
}

// A change of a by `unit` of its norm changes the trace by at most sqrt(n) times that. So it does, in proportion,
// with the determinant of z - a where z is at least twice a's norm.
void AddEigenvalues(Verdict& verdict, const Decomposed& one) {
  const long double bound = 1.1L * std::sqrt(static_cast<long double>(one.n)) * one.unit;
  Number sum = 0;
  for (std::size_t i = 0; i < one.n; ++i) sum += one.w[i] - one.a[i * one.n + i];
  verdict.Add(InBounds(std::abs(sum), bound * one.norm), one.Off("w's sum", 0, std::abs(sum), bound * one.norm));
  if (one.norm == 0) {
    for (std::size_t i = 0; i < one.n; ++i)
      verdict.Add(InBounds(std::abs(one.w[i]), 0), one.Off("w", i, std::abs(one.w[i]), 0));
    return;
  }
  constexpr int kPoints = 5;
  for (int point = 0; point < kPoints; ++point) {
    const Number z = std::polar(2 * one.norm, 2 * std::numbers::pi_v<long double> * (point + 0.3L) / kPoints);
    Number product = 1;
    for (const Number& value : one.w) product *= 1.0L - value / z;
    const long double error = std::abs(product / Determinant(one.a, one.n, z) - 1.0L);
    verdict.Add(InBounds(error, bound),
                one.Off("the determinant of z - a at point " + std::to_string(point), 0, error, bound));
  }
}

// Column i is of length 1, its largest component is real, and a makes w[i] times itself of it.
void AddVector(Verdict& verdict, const Decomposed& one, std::size_t i) {
  const std::size_t n = one.n;
  const auto v = [&](std::size_t row) { return one.v[row * n + i]; };
  long double squares = 0, largest = 0, largest_real = 0, residuals = 0;
  for (std::size_t row = 0; row < n; ++row) {
    squares += std::norm(v(row));
    largest = std::max(largest, std::abs(v(row)));
    if (v(row).imag() == 0) largest_real = std::max(largest_real, std::abs(v(row)));
    Number residual = -one.w[i] * v(row);
    for (std::size_t k = 0; k < n; ++k) residual += one.a[row * n + k] * v(k);
    residuals += std::norm(residual);
  }
  const long double length = std::fabs(std::sqrt(squares) - 1), residual = std::sqrt(residuals);
  verdict.Add(InBounds(length, one.unit), one.Off("the length of a column of v", i, length, one.unit));
  verdict.Add(InBounds(largest - largest_real, one.unit),
              one.Off("the real component of a column of v", i, largest - largest_real, one.unit));
  verdict.Add(InBounds(residual, one.unit * one.norm), one.Off("a v - v diag(w)", i, residual, one.unit * one.norm));
}

// The eigenvalues of a real matrix: conjugates side by side, the one with the positive imaginary part first, and their
// vectors too.
void AddPairs(Verdict& verdict, const Decomposed& one) {
  for (std::size_t i = 0; i < one.n; ++i) {
    const auto v = [&](std::size_t row, std::size_t column) { return one.v[row * one.n + column]; };
    bool paired = one.w[i].imag() == 0;
    if (!paired) paired = one.w[i].imag() > 0 && i + 1 < one.n && one.w[i + 1] == std::conj(one.w[i]);
    const bool single = one.w[i].imag() == 0;
    for (std::size_t row = 0; paired && row < one.n && !one.v.empty(); ++row) {
      paired = v(row, single ? i : i + 1) == std::conj(v(row, i));
    }
    verdict.Add(paired ? 0 : 2, [=] { return "no pair of conjugates at " + std::to_string(i); });
    if (!single) ++i;
  }
}

template <typename T>
Verdict Verify(const Executed& executed) {
  using Complex = decltype(std::complex(T{}));
  const TestArray &a = executed.Input("a"), &w = executed.Output("w"), &v = executed.Output("v");
  const Shape& shape = a.signature().shape;
  const bool vectors = executed.call.Choice("compute") == "vectors";
  Signature w_expected{.dtype = DTypeOf<Complex>(), .shape = shape}, v_expected = w_expected;
  w_expected.shape.pop_back();
  if (!vectors) v_expected.shape.back() = 0;
  Verdict verdict;
  if (w.signature() != w_expected || v.signature() != v_expected) {
    verdict.Add(2, [] { return std::string("w or v has another dtype or shape"); });
    return verdict;
  }
  const auto n = static_cast<std::size_t>(shape.back());
  for (std::size_t index = 0; n > 0 && index < CountOf(shape); ++index) {
    using Real = typename Complex::value_type;
    Decomposed one{.index = index,
                   .n = n,
                   .a = NumbersOf<T>(a, index, n * n),
                   .w = NumbersOf<Complex>(w, index, n),
                   .v = vectors ? NumbersOf<Complex>(v, index, n * n) : Numbers{},
                   .real = std::is_same_v<T, Real>,
                   .norm = 0,
                   .unit = 8 * static_cast<long double>(n + 4) * UnitRoundoff<Real>()};
    for (const Number& element : one.a) one.norm = std::hypot(one.norm, std::abs(element));
    AddEigenvalues(verdict, one);
    for (std::size_t i = 0; vectors && i < n; ++i) AddVector(verdict, one, i);
    if (one.real) AddPairs(verdict, one);
  }
  return verdict;
}

}  // namespace eig_verifier

std::vector<Case> EigCases() {
  using namespace eig_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128}) {
    for (const char* compute : {"vectors", "values"}) {
      cases.push_back(Square("empty", dtype, {0, 0}, compute));
      cases.push_back(Square("no_matrices", dtype, {0, 3, 3}, compute));
      cases.push_back(Square("one", dtype, {1, 1}, compute));
      cases.push_back(Square("two", dtype, {2, 2}, compute));
      cases.push_back(Square("n33", dtype, {33, 33}, compute));
      cases.push_back(Square("n100", dtype, {100, 100}, compute));
      cases.push_back(Square("stack", dtype, {2, 37, 37}, compute));
      cases.push_back(Square("stack_of_large", dtype, {2, 67, 67}, compute));
      cases.push_back(Square("stack_of_many", dtype, {43, 20, 20}, compute));
      cases.push_back(Square("stack_of_small", dtype, {2, 2, 13, 13}, compute));
      cases.push_back(Square("symmetric", dtype, {24, 24}, compute, Kind::kSymmetric));
      cases.push_back(Square("triangular", dtype, {24, 24}, compute, Kind::kTriangular));
      cases.push_back(Square("jordan", dtype, {6, 6}, compute, Kind::kJordan));
      cases.push_back(Square("cycle", dtype, {25, 25}, compute, Kind::kCycle));
      cases.push_back(Square("identity", dtype, {30, 30}, compute, Kind::kIdentity));
      cases.push_back(Square("zero", dtype, {9, 9}, compute, Kind::kZero));
      cases.push_back(Square("vast", dtype, {10, 10}, compute, Kind::kVast));
      cases.push_back(Square("tiny", dtype, {10, 10}, compute, Kind::kTiny));
    }
  }
  cases.push_back(Square("n150", DType::kFloat64, {150, 150}, "vectors"));
  return cases;
}

Verdict VerifyEig(const Executed& executed) {
  using namespace eig_verifier;
  return WithTypeOf<float, double, std::complex<float>, std::complex<double>>(
      executed.Input("a").signature().dtype, [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
