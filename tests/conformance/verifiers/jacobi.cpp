#include <algorithm>

#include "tests/conformance/matrices.h"

namespace hotplate::conformance {
namespace {

constexpr int kSweeps = 60;
constexpr long double kSmall = 0x1p-62L;

struct Rotation {
  long double cosine, sine;
};

// That makes [[p, r], [r, q]] diagonal.
Rotation Diagonalising(long double p, long double q, long double r) {
  const long double zeta = (q - p) / (2 * r);
  const long double t = (zeta >= 0 ? 1 : -1) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
  const long double cosine = 1 / std::sqrt(1 + t * t);
  return {cosine, cosine * t};
}

}  // namespace

std::vector<long double> EigenvaluesByJacobi(Matrix a) {
  const std::size_t n = a.rows();
  long double norm = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) norm = std::max(norm, std::fabs(a(i, j)));
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool rotated = false;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (std::fabs(a(p, q)) <= kSmall * norm) continue;
        rotated = true;
        const auto [c, s] = Diagonalising(a(p, p), a(q, q), a(p, q));
        for (std::size_t i = 0; i < n; ++i) {
          const long double x = a(i, p), y = a(i, q);
          a(i, p) = c * x - s * y;
          a(i, q) = s * x + c * y;
        }
        for (std::size_t i = 0; i < n; ++i) {
          const long double x = a(p, i), y = a(q, i);
          a(p, i) = c * x - s * y;
          a(q, i) = s * x + c * y;
        }
      }
    }
    if (!rotated) break;
  }
  std::vector<long double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(a(i, i));
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<long double> SingularValuesByJacobi(const Matrix& a) {
  const bool wide = a.columns() > a.rows();
  const std::size_t rows = wide ? a.columns() : a.rows(), columns = wide ? a.rows() : a.columns();
  Matrix b(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) b(i, j) = wide ? a(j, i) : a(i, j);
  }
  const auto product = [&](std::size_t p, std::size_t q) {
    long double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += b(i, p) * b(i, q);
    return sum;
  };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool rotated = false;
    for (std::size_t p = 0; p < columns; ++p) {
      for (std::size_t q = p + 1; q < columns; ++q) {
        const long double pp = product(p, p), qq = product(q, q), pq = product(p, q);
        if (std::fabs(pq) <= kSmall * std::sqrt(pp * qq)) continue;
        rotated = true;
        const auto [c, s] = Diagonalising(pp, qq, pq);
        for (std::size_t i = 0; i < rows; ++i) {
          const long double x = b(i, p), y = b(i, q);
          b(i, p) = c * x - s * y;
          b(i, q) = s * x + c * y;
        }
      }
    }
    if (!rotated) break;
  }
  std::vector<long double> values;
  for (std::size_t j = 0; j < columns; ++j) values.push_back(std::sqrt(product(j, j)));
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

}  // namespace hotplate::conformance
