// Residual, orthogonality and order in long double; of small matrices the eigenvalues too, by Jacobi's method.
#include <algorithm>
#include <limits>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace eigh_verifier {

constexpr std::size_t kSmallEnough = 40;

// kVast: elements whose squares are infinite.
enum class Kind { kRandom, kGarbageAbove, kIdentity, kVast };

Case Symmetric(const std::string& name, DType dtype, const Shape& shape, const std::string& compute,
               Kind kind = Kind::kRandom) {
  return OfMatrices(compute + "_" + name, dtype, shape, {{"compute", compute}}, [=](auto elements, std::size_t n) {
    using T = typename decltype(elements)::value_type;
    for (std::size_t at = 0; at < elements.size(); ++at) {
      const std::size_t i = at / n % n, j = at % n, transposed = at - i * n - j + j * n + i;
      if (kind == Kind::kIdentity) elements[at] = i == j ? 1 : 0;
      if (kind == Kind::kGarbageAbove && j > i) elements[at] = std::numeric_limits<T>::quiet_NaN();
      if (kind == Kind::kVast && j >= i) elements[at] *= std::numeric_limits<T>::max() / 1024;
      if ((kind == Kind::kRandom || kind == Kind::kVast) && j > i) elements[transposed] = elements[at];
    }
  });
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray& a = executed.Input("a");
  const Shape& shape = a.signature().shape;
  const auto n = static_cast<std::size_t>(shape.back());
  const bool vectors = executed.call.Choice("compute") == "vectors";
  const auto w = executed.Output("w").Elements<T>();
  Verdict verdict;
  for (std::size_t index = 0; index < CountOf(shape); ++index) {
    Matrix matrix = Matrix::Of(a.Elements<T>(), index, n, n);
    long double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) matrix(i, j) = matrix(j, i);
      const long double value = w[index * n + i];
      largest = std::max(largest, std::fabs(value));
      const bool ascends = i == 0 || w[index * n + i - 1] <= w[index * n + i];
      verdict.Add(ascends ? 0 : 2, [=] { return "w does not ascend at " + std::to_string(i); });
    }
    const long double unit = 8 * static_cast<long double>(n + 4) * UnitRoundoff<T>(), bound = unit * largest;
    if (n <= kSmallEnough) {
      const std::vector<long double> expected = EigenvaluesByJacobi(matrix);
      for (std::size_t i = 0; i < n; ++i) {
        const long double error = std::fabs(expected[i] - w[index * n + i]);
        verdict.Add(InBounds(error, bound), Describe("w", index, i, 0, error, bound));
      }
    }
    if (!vectors) continue;
    const Matrix v = Matrix::Of(executed.Output("v").Elements<T>(), index, n, n);
    AddOrthogonality(verdict, "v", index, v, /*rows=*/false, unit);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        long double residual = -v(i, j) * w[index * n + j];
        for (std::size_t k = 0; k < n; ++k) residual += matrix(i, k) * v(k, j);
        verdict.Add(InBounds(std::fabs(residual), bound),
                    Describe("a v - v diag(w)", index, i, j, std::fabs(residual), bound));
      }
    }
  }
  return verdict;
}

}  // namespace eigh_verifier

std::vector<Case> EighCases() {
  using namespace eigh_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const char* compute : {"vectors", "values"}) {
      cases.push_back(Symmetric("empty", dtype, {0, 0}, compute));
      cases.push_back(Symmetric("no_matrices", dtype, {0, 3, 3}, compute));
      cases.push_back(Symmetric("one", dtype, {1, 1}, compute));
      cases.push_back(Symmetric("n32", dtype, {32, 32}, compute));
      cases.push_back(Symmetric("n33", dtype, {33, 33}, compute));
      cases.push_back(Symmetric("stack", dtype, {2, 37, 37}, compute));
      cases.push_back(Symmetric("stack_of_many", dtype, {43, 20, 20}, compute));
      cases.push_back(Symmetric("stack_of_small", dtype, {2, 2, 13, 13}, compute));
      cases.push_back(Symmetric("vast", dtype, {10, 10}, compute, Kind::kVast));
      cases.push_back(Symmetric("lower_only", dtype, {20, 20}, compute, Kind::kGarbageAbove));
      cases.push_back(Symmetric("identity", dtype, {30, 30}, compute, Kind::kIdentity));
    }
    cases.push_back(Symmetric("n100", dtype, {100, 100}, "vectors"));
  }
  cases.push_back(Symmetric("n257", DType::kFloat64, {257, 257}, "vectors"));
  return cases;
}

Verdict VerifyEigh(const Executed& executed) {
  using namespace eigh_verifier;
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
