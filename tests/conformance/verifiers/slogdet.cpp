// The determinant by elimination with complete pivoting in long double, and the inverse for the condition number.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace slogdet_verifier {

enum class Kind { kRandom, kZeroColumn, kNan, kInfinity, kTiny, kVast, kPermutation };

Case Determinant(const std::string& name, DType dtype, const Shape& shape, Kind kind = Kind::kRandom) {
  return OfMatrices(name, dtype, shape, {}, [=](auto elements, std::size_t n) {
    using T = typename decltype(elements)::value_type;
    for (std::size_t at = 0; kind != Kind::kRandom && at < elements.size(); ++at) {
      const std::size_t row = at / n % n, column = at % n;
      if (kind == Kind::kZeroColumn && column == n / 2) elements[at] = 0;
      if (kind == Kind::kTiny) elements[at] *= T(1e-30);
      if (kind == Kind::kVast) elements[at] *= T(1e30);
      if (kind == Kind::kPermutation) elements[at] = column == (row + 1) % n ? (row == 0 ? -2 : 1) : 0;
    }
    if (kind == Kind::kNan) elements[1] = std::numeric_limits<T>::quiet_NaN();
    if (kind == Kind::kInfinity) elements[elements.size() - 1] = std::numeric_limits<T>::infinity();
  });
}

long double LargestRowSum(const Matrix& a) {
  long double largest = 0;
  for (std::size_t i = 0; i < a.rows(); ++i) {
    long double sum = 0;
    for (std::size_t j = 0; j < a.columns(); ++j) sum += std::fabs(a(i, j));
    largest = std::max(largest, sum);
  }
  return largest;
}

struct Determined {
  int sign = 1;
  long double log = 0, inverse = 0;  // the inverse's largest row sum
};

// By Gauss and Jordan, with the largest element that is left as the pivot.
Determined Determine(Matrix a) {
  const std::size_t n = a.rows();
  Determined result;
  Matrix inverse(n, n);
  for (std::size_t i = 0; i < n; ++i) inverse(i, i) = 1;
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t row = step, column = step;
    for (std::size_t i = step; i < n; ++i) {
      for (std::size_t j = step; j < n; ++j) {
        if (std::fabs(a(i, j)) > std::fabs(a(row, column))) row = i, column = j;
      }
    }
    if (a(row, column) == 0) return {.sign = 0, .log = -HUGE_VALL, .inverse = HUGE_VALL};
    // Columns of a that change places are rows of the inverse, in another order; the row sums stay.
    for (std::size_t j = 0; j < n; ++j) std::swap(a(row, j), a(step, j)), std::swap(inverse(row, j), inverse(step, j));
    for (std::size_t i = 0; i < n; ++i) std::swap(a(i, column), a(i, step));
    if ((row != step) != (column != step)) result.sign = -result.sign;
    const long double pivot = a(step, step);
    if (pivot < 0) result.sign = -result.sign;
    result.log += std::log(std::fabs(pivot));
    for (std::size_t j = 0; j < n; ++j) a(step, j) /= pivot, inverse(step, j) /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      const long double factor = a(i, step);
      if (i == step || factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) a(i, j) -= factor * a(step, j), inverse(i, j) -= factor * inverse(step, j);
    }
  }
  result.inverse = LargestRowSum(inverse);
  return result;
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray& a = executed.Input("a");
  const Shape& shape = a.signature().shape;
  const auto n = static_cast<std::size_t>(shape.back());
  const auto signs = executed.Output("sign").Elements<T>(), logs = executed.Output("logabsdet").Elements<T>();
  Verdict verdict;
  if (signs.size() != CountOf(shape) || logs.size() != signs.size()) {
    verdict.Add(2, [] { return std::string("another number of determinants"); });
    return verdict;
  }
  for (std::size_t index = 0; index < signs.size(); ++index) {
    const Matrix matrix = Matrix::Of(a.Elements<T>(), index, n, n);
    bool finite = true;
    for (std::size_t i = 0; i < n * n; ++i) finite = finite && std::isfinite(matrix(i / n, i % n));
    const auto say = [&, index] {
      return "matrix " + std::to_string(index) + ": sign " + std::to_string(signs[index]) + ", logabsdet " +
             std::to_string(logs[index]);
    };
    if (!finite) {
      verdict.Add(std::isnan(signs[index]) && std::isnan(logs[index]) ? 0 : 2, say);
      continue;
    }
    const Determined expected = Determine(matrix);
    if (expected.sign == 0) {
      verdict.Add(signs[index] == 0 && logs[index] == -std::numeric_limits<T>::infinity() ? 0 : 2, say);
      continue;
    }
    const long double by_condition = n == 0 ? 0
                                            : 8 * static_cast<long double>(n) * static_cast<long double>(n + 8) *
                                                  UnitRoundoff<T>() * LargestRowSum(matrix) * expected.inverse;
    const long double bound = by_condition + 2 * UnitRoundoff<T>() * std::fabs(expected.log);
    verdict.Add(InBounds(std::fabs(logs[index] - expected.log), bound), say);
    verdict.Add(std::fabs(signs[index]) == 1 && (signs[index] == expected.sign || bound >= 1) ? 0 : 2, say);
  }
  return verdict;
}

}  // namespace slogdet_verifier

std::vector<Case> SlogdetCases() {
  using namespace slogdet_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    cases.push_back(Determinant("empty", dtype, {0, 0}));
    cases.push_back(Determinant("empty_stack", dtype, {3, 0, 0}));
    cases.push_back(Determinant("no_matrices", dtype, {0, 5, 5}));
    cases.push_back(Determinant("one", dtype, {1, 1}));
    cases.push_back(Determinant("two", dtype, {2, 2}));
    cases.push_back(Determinant("n33", dtype, {33, 33}));
    cases.push_back(Determinant("n130", dtype, {130, 130}));
    cases.push_back(Determinant("stack", dtype, {2, 3, 37, 37}));
    cases.push_back(Determinant("stack_of_many", dtype, {143, 12, 12}));
    cases.push_back(Determinant("zero_column", dtype, {2, 9, 9}, Kind::kZeroColumn));
    cases.push_back(Determinant("nan", dtype, {3, 8, 8}, Kind::kNan));
    cases.push_back(Determinant("infinity", dtype, {3, 8, 8}, Kind::kInfinity));
    cases.push_back(Determinant("tiny", dtype, {20, 20}, Kind::kTiny));
    cases.push_back(Determinant("vast", dtype, {20, 20}, Kind::kVast));
    cases.push_back(Determinant("permutation", dtype, {2, 8, 8}, Kind::kPermutation));
    cases.push_back(Determinant("odd_permutation", dtype, {7, 7}, Kind::kPermutation));
  }
  return cases;
}

Verdict VerifySlogdet(const Executed& executed) {
  using namespace slogdet_verifier;
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
