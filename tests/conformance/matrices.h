// What the verifiers of linear algebra share: long double matrices, stacks of them, and residuals.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/case.h"

namespace hotplate::conformance {

class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), elements_(rows * columns) {}

  // Matrix `index` of a stack [..., rows, columns].
  template <typename T>
  static Matrix Of(std::span<const T> stack, std::size_t index, std::size_t rows, std::size_t columns) {
    Matrix matrix(rows, columns);
    for (std::size_t i = 0; i < rows * columns; ++i) matrix.elements_[i] = stack[index * rows * columns + i];
    return matrix;
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  long double& operator()(std::size_t i, std::size_t j) { return elements_[i * columns_ + j]; }
  long double operator()(std::size_t i, std::size_t j) const { return elements_[i * columns_ + j]; }

 private:
  std::size_t rows_, columns_;
  std::vector<long double> elements_;
};

template <typename T>
constexpr long double UnitRoundoff() {
  return std::is_same_v<T, float> ? 0x1p-24L : 0x1p-53L;
}

// Matrices in a stack of this shape.
inline std::size_t CountOf(const Shape& shape) {
  std::size_t count = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) count *= static_cast<std::size_t>(shape[i]);
  return count;
}

// error / bound, where a bound of 0 wants none.
inline double InBounds(long double error, long double bound) {
  return bound == 0 ? (error == 0 ? 0 : 2) : static_cast<double>(error / bound);
}

inline std::function<std::string()> Describe(const std::string& what, std::size_t matrix, std::size_t i, std::size_t j,
                                             long double error, long double bound) {
  return [=] {
    char text[160];
    std::snprintf(text, sizeof text, "%s of matrix %zu at [%zu, %zu] is off by %Lg; the bound is %Lg", what.c_str(),
                  matrix, i, j, error, bound);
    return std::string(text);
  };
}

// A sum of products in long double. What a kernel makes of it is a NaN where it is one, the same infinity, or else off
// by at most (terms + 2) u of the products' magnitudes, or so much of them as is said.
class SumOfProducts {
 public:
  void Add(long double left, long double right) {
    sum_ += left * right;
    magnitude_ += std::fabs(left * right);
    ++terms_;
  }

  // `place`: what got is, for the message.
  template <typename T, typename Place>
  void Judge(Verdict& verdict, T got, const Place& place) const {
    Judge(verdict, got, static_cast<long double>(terms_ + 2) * UnitRoundoff<T>(), place);
  }
  template <typename T, typename Place>
  void Judge(Verdict& verdict, T got, long double relative, const Place& place) const {
    double error = 0;
    if (std::isnan(sum_) || std::isinf(sum_)) {
      error = got == sum_ || (std::isnan(sum_) && std::isnan(got)) ? 0 : 2;
    } else {
      error = InBounds(std::fabs(got - sum_), relative * magnitude_);
    }
    verdict.Add(error, [&] { return place() + " = " + std::to_string(got) + " instead of " + std::to_string(sum_); });
  }

 private:
  long double sum_ = 0, magnitude_ = 0;
  std::size_t terms_ = 0;
};

// A call with one input, a: matrices of random elements between -1 and 1, then changed by change(elements, n), n being
// their columns. Floats.
template <typename Change>
Case OfMatrices(const std::string& name, DType dtype, const Shape& shape,
                const std::map<std::string, ParamValue>& params, const Change& change) {
  return {.name = std::string(Name(dtype)) + "_" + name, .params = params, .inputs = [=](std::mt19937_64& random) {
            TestArray a({.dtype = dtype, .shape = shape});
            FillUniform(a, -1, 1, random);
            WithTypeOf<float, double>(dtype, [&](auto zero) {
              change(a.Elements<decltype(zero)>(), static_cast<std::size_t>(shape.back()));
            });
            return std::map<std::string, TestArray>{{"a", std::move(a)}};
          }};
}

// The columns of `q` (or rows, if `rows`) have length 1 and are orthogonal, to within `bound`.
inline void AddOrthogonality(Verdict& verdict, const std::string& name, std::size_t index, const Matrix& q, bool rows,
                             long double bound) {
  const std::size_t vectors = rows ? q.rows() : q.columns(), length = rows ? q.columns() : q.rows();
  for (std::size_t i = 0; i < vectors; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      long double sum = 0;
      for (std::size_t l = 0; l < length; ++l) sum += rows ? q(i, l) * q(j, l) : q(l, i) * q(l, j);
      const long double error = std::fabs(sum - (i == j ? 1 : 0));
      verdict.Add(InBounds(error, bound), Describe(name + "'s orthogonality", index, i, j, error, bound));
    }
  }
}

// Ascending: by cyclic Jacobi rotations of a symmetric matrix.
std::vector<long double> EigenvaluesByJacobi(Matrix a);
// Descending: by Jacobi rotations that make the columns of a (or of its transpose, if it is wide) orthogonal.
std::vector<long double> SingularValuesByJacobi(const Matrix& a);

}  // namespace hotplate::conformance
