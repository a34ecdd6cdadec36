// Residuals b - a x in long double, column by column. Where b holds a NaN, its own column does, and no other; where a
// matrix of a does, all columns of its systems.
#include <algorithm>
#include <limits>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace solve_verifier {

Case System(const std::string& name, DType dtype, const Shape& a_shape, const Shape& b_shape, bool needs_pivots,
            const char* nan = "") {
  return {.name = std::string(Name(dtype)) + "_" + name, .params = {}, .inputs = [=](std::mt19937_64& random) {
            TestArray a({.dtype = dtype, .shape = a_shape}), b({.dtype = dtype, .shape = b_shape});
            FillUniform(a, -1, 1, random);
            FillUniform(b, -1, 1, random);
            const auto n = static_cast<std::size_t>(a_shape.back());
            WithTypeOf<float, double>(dtype, [&](auto zero) {
              using T = decltype(zero);
              const auto elements = a.Elements<T>();
              // A zero in the corner, and a last row that would be the first to be taken.
              for (std::size_t at = 0; needs_pivots && at < elements.size(); ++at) {
                if (at % (n * n) == 0) elements[at] = 0;
                if (at / n % n == n - 1) elements[at] *= 10;
              }
              const std::string in = nan;
              if (in == "all of a") std::fill(elements.begin(), elements.end(), std::numeric_limits<T>::quiet_NaN());
              if (in == "a") elements[n * n + 3 * n + 1] = std::numeric_limits<T>::quiet_NaN();
              if (in == "b") b.Elements<T>()[2] = std::numeric_limits<T>::quiet_NaN();
            });
            return std::map<std::string, TestArray>{{"a", std::move(a)}, {"b", std::move(b)}};
          }};
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray &a = executed.Input("a"), &b = executed.Input("b");
  const Shape &a_shape = a.signature().shape, &b_shape = b.signature().shape;
  const auto n = static_cast<std::size_t>(a_shape.back());
  const std::size_t k = b_shape.size() == 1 ? 1 : static_cast<std::size_t>(b_shape.back());
  // Of each system which matrix of a, and of b: its place along each axis, or 0 where the axis is 1 or missing.
  const Shape& x_shape = executed.Output("x").signature().shape;
  const auto batch_of = [](const Shape& shape, std::size_t matrix_rank) {
    return Shape(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(std::min(shape.size(), matrix_rank)));
  };
  const Shape batch = batch_of(x_shape, b_shape.size() == 1 ? 1 : 2);
  const auto source = [&](const Shape& own, std::size_t index) {
    std::size_t place = 0, step = 1;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto size = static_cast<std::size_t>(batch[batch.size() - 1 - i]);
      const std::size_t at = index % size;
      index /= size;
      if (i >= own.size()) continue;
      const auto own_size = static_cast<std::size_t>(own[own.size() - 1 - i]);
      if (own_size != 1) place += at * step;
      step *= own_size;
    }
    return place;
  };
  std::size_t systems = 1;
  for (const std::int64_t size : batch) systems *= static_cast<std::size_t>(size);
  Verdict verdict;
  for (std::size_t index = 0; index < systems; ++index) {
    const Matrix matrix = Matrix::Of(a.Elements<T>(), source(batch_of(a_shape, 2), index), n, n);
    const Matrix right = Matrix::Of(b.Elements<T>(), source(batch_of(b_shape, 2), index), n, k);
    const Matrix x = Matrix::Of(executed.Output("x").Elements<T>(), index, n, k);
    long double row_sum = 0;
    bool nan_in_a = false;
    for (std::size_t i = 0; i < n; ++i) {
      long double sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        sum += std::fabs(matrix(i, j));
        nan_in_a = nan_in_a || std::isnan(matrix(i, j));
      }
      row_sum = std::max(row_sum, sum);
    }
    for (std::size_t column = 0; column < k; ++column) {
      long double largest = 0;
      bool nan = nan_in_a, got_nan = false;
      for (std::size_t i = 0; i < n; ++i) {
        largest = std::max(largest, std::fabs(x(i, column)));
        nan = nan || std::isnan(right(i, column));
        got_nan = got_nan || std::isnan(x(i, column));
      }
      if (nan) {
        verdict.Add(got_nan ? 0 : 2,
                    [] { return std::string("a NaN is not in a column of x that it has a share in"); });
        continue;
      }
      const long double bound = 8 * static_cast<long double>(n + 8) * UnitRoundoff<T>() * row_sum * largest;
      for (std::size_t i = 0; i < n; ++i) {
        long double residual = right(i, column);
        for (std::size_t j = 0; j < n; ++j) residual -= matrix(i, j) * x(j, column);
        verdict.Add(InBounds(std::fabs(residual), bound), Describe("b - a x", index, i, column, residual, bound));
      }
    }
  }
  return verdict;
}

}  // namespace solve_verifier

std::vector<Case> SolveCases() {
  using namespace solve_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    cases.push_back(System("empty", dtype, {0, 0}, {0}, false));
    cases.push_back(System("no_sides", dtype, {5, 5}, {5, 0}, false));
    cases.push_back(System("no_systems", dtype, {0, 5, 5}, {0, 5, 2}, false));
    cases.push_back(System("one", dtype, {1, 1}, {1}, false));
    cases.push_back(System("vector", dtype, {33, 33}, {33}, true));
    cases.push_back(System("column", dtype, {33, 33}, {33, 1}, true));
    cases.push_back(System("sides", dtype, {33, 33}, {33, 5}, true));
    cases.push_back(System("large", dtype, {270, 270}, {270, 70}, true));
    cases.push_back(System("large_vector", dtype, {270, 270}, {270}, true));
    cases.push_back(System("small", dtype, {32, 32}, {32}, true));
    cases.push_back(System("small_with_many_sides", dtype, {31, 31}, {31, 70}, true));
    cases.push_back(System("stack", dtype, {2, 3, 37, 37}, {2, 3, 37, 4}, true));
    cases.push_back(System("stack_of_many", dtype, {43, 20, 20}, {43, 20, 3}, true));
    cases.push_back(System("one_b_of_many", dtype, {43, 20, 20}, {20}, true));
    cases.push_back(System("one_a_of_many", dtype, {20, 20}, {5, 9, 20, 1}, true));
    cases.push_back(System("stack_of_small", dtype, {2, 3, 17, 17}, {2, 3, 17, 4}, true));
    cases.push_back(System("one_a", dtype, {39, 39}, {2, 3, 39, 4}, true));
    cases.push_back(System("one_small_a", dtype, {9, 9}, {2, 3, 9, 4}, true));
    cases.push_back(System("one_b", dtype, {2, 2, 39, 39}, {39, 4}, true));
    cases.push_back(System("one_small_b", dtype, {2, 3, 9, 9}, {9, 4}, true));
    cases.push_back(System("one_vector", dtype, {5, 9, 9}, {9}, true));
    cases.push_back(System("crossed", dtype, {3, 1, 8, 8}, {4, 8, 2}, true));
    cases.push_back(System("crossed_the_other_way", dtype, {4, 8, 8}, {3, 1, 8, 1}, true));
    cases.push_back(System("mixed", dtype, {2, 1, 3, 6, 6}, {4, 1, 6, 5}, true));
    cases.push_back(System("no_systems_of_b", dtype, {1, 5, 5}, {0, 5, 2}, false));
    cases.push_back(System("no_sides_of_many", dtype, {2, 1, 5, 5}, {7, 5, 0}, false));
    cases.push_back(System("nan_in_a", dtype, {3, 20, 20}, {3, 20, 2}, false, "a"));
    cases.push_back(System("nan_in_a_vector", dtype, {3, 200, 200}, {200}, false, "a"));
    cases.push_back(System("nan_everywhere_in_a", dtype, {200, 200}, {200}, false, "all of a"));
    cases.push_back(System("nan_in_a_of_many_sides", dtype, {2, 200, 200}, {2, 200, 3}, false, "a"));
    cases.push_back(System("nan_in_b", dtype, {20, 20}, {20, 6}, false, "b"));
    cases.push_back(System("nan_in_large_b", dtype, {200, 200}, {200, 6}, false, "b"));
  }
  return cases;
}

Verdict VerifySolve(const Executed& executed) {
  using namespace solve_verifier;
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
