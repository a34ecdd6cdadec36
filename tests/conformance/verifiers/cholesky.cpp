// l l^T against a in long double, element by element, and zeros above the diagonal.
#include <limits>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace cholesky_verifier {

// Positive definite: random off the diagonal, and a diagonal that is larger than what is beside it together. With
// `upper`, that is what stands above the diagonal, where nobody looks.
Case Definite(const std::string& name, DType dtype, const Shape& shape, double upper = 0) {
  return OfMatrices(name, dtype, shape, {}, [=](auto elements, std::size_t n) {
    using T = typename decltype(elements)::value_type;
    for (std::size_t at = 0; at < elements.size(); ++at) {
      const std::size_t i = at / n % n, j = at % n, transposed = at - i * n - j + j * n + i;
      if (i == j) elements[at] = static_cast<T>(static_cast<double>(n) * 0.6 + 0.5);
      if (j > i) elements[transposed] = elements[at];
    }
    for (std::size_t at = 0; upper != 0 && at < elements.size(); ++at) {
      if (at % n > at / n % n) elements[at] = static_cast<T>(upper);
    }
  });
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray& a = executed.Input("a");
  const Shape& shape = a.signature().shape;
  const auto n = static_cast<std::size_t>(shape.back());
  Verdict verdict;
  for (std::size_t index = 0; index < CountOf(shape); ++index) {
    const Matrix given = Matrix::Of(a.Elements<T>(), index, n, n);
    const Matrix l = Matrix::Of(executed.Output("l").Elements<T>(), index, n, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (j > i) {
          verdict.Add(InBounds(std::fabs(l(i, j)), 0), Describe("l above the diagonal", index, i, j, l(i, j), 0));
          continue;
        }
        long double sum = 0, magnitude = 0;
        for (std::size_t k = 0; k <= j; ++k) {
          sum += l(i, k) * l(j, k);
          magnitude += std::fabs(l(i, k) * l(j, k));
        }
        const long double error = std::fabs(sum - given(i, j));
        const long double bound = 2 * static_cast<long double>(n + 2) * UnitRoundoff<T>() * magnitude;
        verdict.Add(InBounds(error, bound), Describe("l l^T", index, i, j, error, bound));
      }
    }
  }
  return verdict;
}

}  // namespace cholesky_verifier

std::vector<Case> CholeskyCases() {
  using namespace cholesky_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    cases.push_back(Definite("empty", dtype, {0, 0}));
    cases.push_back(Definite("no_matrices", dtype, {0, 4, 4}));
    cases.push_back(Definite("one", dtype, {1, 1}));
    cases.push_back(Definite("n32", dtype, {32, 32}));
    cases.push_back(Definite("n33", dtype, {33, 33}));
    cases.push_back(Definite("n200", dtype, {200, 200}));
    cases.push_back(Definite("n300", dtype, {300, 300}));
    cases.push_back(Definite("stack", dtype, {2, 2, 37, 37}));
    cases.push_back(Definite("stack_of_many", dtype, {43, 20, 20}));
    cases.push_back(Definite("stack_of_small", dtype, {3, 2, 17, 17}));
    cases.push_back(Definite("small_lower_only", dtype, {20, 20}, std::numeric_limits<double>::quiet_NaN()));
    cases.push_back(Definite("lower_only", dtype, {40, 40}, std::numeric_limits<double>::quiet_NaN()));
    cases.push_back(Definite("large_lower_only", dtype, {270, 270}, std::numeric_limits<double>::infinity()));
  }
  return cases;
}

Verdict VerifyCholesky(const Executed& executed) {
  using namespace cholesky_verifier;
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
