// Residual, orthogonality and order in long double; of small matrices the singular values too, by Jacobi's method.
#include <algorithm>
#include <limits>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace svd_verifier {

constexpr std::size_t kSmallEnough = 40;

// kVast: elements whose squares are infinite.
// kUneven: its last column is next to nothing. kOnes and kOneRow are of rank one.
enum class Kind { kRandom, kRankTwo, kZero, kVast, kUneven, kOnes, kOneRow };

Case Decomposition(const std::string& name, DType dtype, const Shape& shape, const std::string& compute,
                   Kind kind = Kind::kRandom) {
  return OfMatrices(compute + "_" + name, dtype, shape, {{"compute", compute}}, [=](auto elements, std::size_t n) {
    using T = typename decltype(elements)::value_type;
    for (std::size_t at = 0; kind != Kind::kRandom && at < elements.size(); ++at) {
      const std::size_t row = at / n, column = at % n;
      if (kind == Kind::kZero) elements[at] = 0;
      if (kind == Kind::kRankTwo) elements[at] = static_cast<T>(row + 2 * column);
      if (kind == Kind::kOnes) elements[at] = 1;
      if (kind == Kind::kOneRow && row % n != 3) elements[at] = 0;
      if (kind == Kind::kUneven && column + 1 == n) elements[at] *= sizeof(T) == 4 ? T(1e-25) : T(1e-170);
      if (kind == Kind::kVast) elements[at] *= std::numeric_limits<T>::max() / 1024;
    }
  });
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray &a = executed.Input("a"), &u_array = executed.Output("u"), &vt_array = executed.Output("vt");
  const Shape& shape = a.signature().shape;
  const auto m = static_cast<std::size_t>(shape[shape.size() - 2]), n = static_cast<std::size_t>(shape.back());
  const std::size_t k = std::min(m, n);
  const auto s = executed.Output("s").Elements<T>();
  const bool vectors = executed.call.Choice("compute") != "values";
  const Shape& vt_shape = vt_array.signature().shape;
  Verdict verdict;
  for (std::size_t index = 0; index < CountOf(shape); ++index) {
    const Matrix matrix = Matrix::Of(a.Elements<T>(), index, m, n);
    const auto values = s.subspan(index * k, k);
    const long double unit = 4 * static_cast<long double>(m + n) * UnitRoundoff<T>();
    const long double bound = k == 0 ? 0 : unit * values[0];
    for (std::size_t i = 0; i < k; ++i) {
      const bool descends = values[i] >= 0 && (i == 0 || values[i - 1] >= values[i]);
      verdict.Add(descends ? 0 : 2, [=] { return "s does not descend, or is negative, at " + std::to_string(i); });
    }
    if (k <= kSmallEnough) {
      const std::vector<long double> expected = SingularValuesByJacobi(matrix);
      for (std::size_t i = 0; i < k; ++i) {
        const long double error = std::fabs(expected[i] - values[i]);
        verdict.Add(InBounds(error, bound), Describe("s", index, i, 0, error, bound));
      }
    }
    if (!vectors) continue;
    const Matrix u =
        Matrix::Of(u_array.Elements<T>(), index, m, static_cast<std::size_t>(u_array.signature().shape.back()));
    const Matrix vt =
        Matrix::Of(vt_array.Elements<T>(), index, static_cast<std::size_t>(vt_shape[vt_shape.size() - 2]), n);
    AddOrthogonality(verdict, "u", index, u, /*rows=*/false, unit);
    AddOrthogonality(verdict, "vt", index, vt, /*rows=*/true, unit);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        long double residual = matrix(i, j);
        for (std::size_t l = 0; l < k; ++l) residual -= u(i, l) * values[l] * vt(l, j);
        verdict.Add(InBounds(std::fabs(residual), bound),
                    Describe("a - u diag(s) vt", index, i, j, std::fabs(residual), bound));
      }
    }
  }
  return verdict;
}

}  // namespace svd_verifier

std::vector<Case> SvdCases() {
  using namespace svd_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const char* compute : {"thin", "full", "values"}) {
      cases.push_back(Decomposition("empty", dtype, {0, 0}, compute));
      cases.push_back(Decomposition("no_columns", dtype, {5, 0}, compute));
      cases.push_back(Decomposition("no_rows", dtype, {0, 5}, compute));
      cases.push_back(Decomposition("no_matrices", dtype, {0, 5, 4}, compute));
      cases.push_back(Decomposition("stack_without_columns", dtype, {3, 5, 0}, compute));
      cases.push_back(Decomposition("stack_without_rows", dtype, {3, 0, 5}, compute));
      cases.push_back(Decomposition("one", dtype, {1, 1}, compute));
      cases.push_back(Decomposition("square", dtype, {33, 33}, compute));
      cases.push_back(Decomposition("nearly_square", dtype, {37, 33}, compute));
      cases.push_back(Decomposition("nearly_square_wide", dtype, {33, 37}, compute));
      cases.push_back(Decomposition("tall", dtype, {120, 17}, compute));
      cases.push_back(Decomposition("wide", dtype, {17, 120}, compute));
      cases.push_back(Decomposition("column", dtype, {50, 1}, compute));
      cases.push_back(Decomposition("row", dtype, {1, 50}, compute));
      cases.push_back(Decomposition("small_square", dtype, {32, 32}, compute));
      cases.push_back(Decomposition("small_wide", dtype, {20, 32}, compute));
      cases.push_back(Decomposition("stack", dtype, {2, 39, 36}, compute));
      cases.push_back(Decomposition("stack_of_many", dtype, {70, 20, 12}, compute));
      cases.push_back(Decomposition("stack_of_many_wide", dtype, {5, 11, 14, 24}, compute));
      cases.push_back(Decomposition("stack_of_small", dtype, {2, 2, 13, 9}, compute));
      cases.push_back(Decomposition("stack_of_small_wide", dtype, {3, 5, 31}, compute));
      cases.push_back(Decomposition("rank_two", dtype, {40, 36}, compute, Kind::kRankTwo));
      cases.push_back(Decomposition("small_rank_two", dtype, {30, 20}, compute, Kind::kRankTwo));
      cases.push_back(Decomposition("small_wide_rank_two", dtype, {7, 25}, compute, Kind::kRankTwo));
      cases.push_back(Decomposition("zero", dtype, {36, 33}, compute, Kind::kZero));
      cases.push_back(Decomposition("small_zero", dtype, {12, 9}, compute, Kind::kZero));
      cases.push_back(Decomposition("small_ones", dtype, {16, 16}, compute, Kind::kOnes));
      cases.push_back(Decomposition("small_tall_ones", dtype, {31, 7}, compute, Kind::kOnes));
      cases.push_back(Decomposition("small_one_row", dtype, {9, 9}, compute, Kind::kOneRow));
      cases.push_back(Decomposition("small_uneven", dtype, {14, 11}, compute, Kind::kUneven));
      cases.push_back(Decomposition("small_wide_uneven", dtype, {11, 14}, compute, Kind::kUneven));
      cases.push_back(Decomposition("small_vast", dtype, {12, 9}, compute, Kind::kVast));
    }
    cases.push_back(Decomposition("larger", dtype, {100, 90}, "thin"));
    cases.push_back(Decomposition("larger_tall", dtype, {300, 70}, "thin"));
  }
  return cases;
}

Verdict VerifySvd(const Executed& executed) {
  using namespace svd_verifier;
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
