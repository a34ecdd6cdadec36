// Residual and orthogonality in long double; r's triangle.
#include <algorithm>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace qr_verifier {

enum class Kind { kRandom, kRankOne, kZero, kUneven };

Case Factors(const std::string& name, DType dtype, const Shape& shape, const std::string& mode,
             Kind kind = Kind::kRandom) {
  return OfMatrices(mode + "_" + name, dtype, shape, {{"mode", mode}}, [=](auto elements, std::size_t n) {
    using T = typename decltype(elements)::value_type;
    for (std::size_t at = 0; kind != Kind::kRandom && at < elements.size(); ++at) {
      if (kind == Kind::kZero) elements[at] = 0;
      if (kind == Kind::kRankOne) elements[at] = static_cast<T>((at / n + 1) * (at % n + 1));
      if (kind == Kind::kUneven && at % n == 0) elements[at] *= T(1e-20);
    }
  });
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray &a = executed.Input("a"), &q_array = executed.Output("q"), &r_array = executed.Output("r");
  const Shape& shape = a.signature().shape;
  const auto m = static_cast<std::size_t>(shape[shape.size() - 2]), n = static_cast<std::size_t>(shape.back());
  const std::size_t width = executed.call.Choice("mode") == "complete" ? m : std::min(m, n);
  Verdict verdict;
  Shape q_shape = shape, r_shape = shape;
  q_shape.back() = r_shape[shape.size() - 2] = static_cast<std::int64_t>(width);
  if (q_array.signature().shape != q_shape || r_array.signature().shape != r_shape) {
    verdict.Add(2, [] { return std::string("q or r has another shape"); });
    return verdict;
  }
  const long double unit = 8 * static_cast<long double>(m + n) * UnitRoundoff<T>();
  for (std::size_t index = 0; index < CountOf(shape); ++index) {
    const Matrix matrix = Matrix::Of(a.Elements<T>(), index, m, n);
    const Matrix q = Matrix::Of(q_array.Elements<T>(), index, m, width);
    const Matrix r = Matrix::Of(r_array.Elements<T>(), index, width, n);
    AddOrthogonality(verdict, "q", index, q, /*rows=*/false, unit);
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < std::min(i, n); ++j) {
        verdict.Add(r(i, j) == 0 ? 0 : 2, Describe("r below its diagonal", index, i, j, r(i, j), 0));
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      long double squares = 0;
      for (std::size_t i = 0; i < m; ++i) squares += matrix(i, j) * matrix(i, j);
      const long double bound = unit * std::sqrt(squares);
      for (std::size_t i = 0; i < m; ++i) {
        long double residual = matrix(i, j);
        for (std::size_t l = 0; l < width; ++l) residual -= q(i, l) * r(l, j);
        verdict.Add(InBounds(std::fabs(residual), bound), Describe("a - q r", index, i, j, std::fabs(residual), bound));
      }
    }
  }
  return verdict;
}

}  // namespace qr_verifier

std::vector<Case> QrCases() {
  using namespace qr_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const char* mode : {"reduced", "complete"}) {
      cases.push_back(Factors("empty", dtype, {0, 0}, mode));
      cases.push_back(Factors("no_columns", dtype, {5, 0}, mode));
      cases.push_back(Factors("no_rows", dtype, {0, 5}, mode));
      cases.push_back(Factors("no_matrices", dtype, {0, 5, 4}, mode));
      cases.push_back(Factors("stack_without_columns", dtype, {3, 5, 0}, mode));
      cases.push_back(Factors("one", dtype, {1, 1}, mode));
      cases.push_back(Factors("square", dtype, {33, 33}, mode));
      cases.push_back(Factors("tall", dtype, {120, 17}, mode));
      cases.push_back(Factors("wide", dtype, {17, 120}, mode));
      cases.push_back(Factors("column", dtype, {50, 1}, mode));
      cases.push_back(Factors("row", dtype, {1, 50}, mode));
      cases.push_back(Factors("larger", dtype, {150, 130}, mode));
      cases.push_back(Factors("stack", dtype, {2, 39, 36}, mode));
      cases.push_back(Factors("stack_of_many", dtype, {5, 14, 20, 12}, mode));
      cases.push_back(Factors("stack_of_many_wide", dtype, {70, 14, 24}, mode));
      cases.push_back(Factors("rank_one", dtype, {20, 12}, mode, Kind::kRankOne));
      cases.push_back(Factors("zero", dtype, {12, 9}, mode, Kind::kZero));
      cases.push_back(Factors("uneven", dtype, {14, 14}, mode, Kind::kUneven));
    }
  }
  return cases;
}

Verdict VerifyQr(const Executed& executed) {
  using namespace qr_verifier;
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
