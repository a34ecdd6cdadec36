// Products and their bound (k + 2) u (|a| |b|) in long double, straight from the definition.
#include <limits>
#include <span>

#include "tests/conformance/broadcasting.h"
#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace {

struct Sides {
  std::int64_t m, k, n;
};

Signature Stored(DType dtype, std::int64_t rows, std::int64_t columns, bool transposed) {
  return {.dtype = dtype, .shape = transposed ? Shape{columns, rows} : Shape{rows, columns}};
}

Case Product(const std::string& name, DType dtype, Sides sides, bool transpose_a, bool transpose_b) {
  return {.name = std::string(Name(dtype)) + "_" + name,
          .params = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
          .inputs = [=](std::mt19937_64& random) {
            TestArray a(Stored(dtype, sides.m, sides.k, transpose_a)), b(Stored(dtype, sides.k, sides.n, transpose_b));
            FillUniform(a, -1, 1, random);
            FillUniform(b, -1, 1, random);
            return std::map<std::string, TestArray>{{"a", std::move(a)}, {"b", std::move(b)}};
          }};
}

// a and b are one array of this shape.
Case WithItself(const std::string& name, DType dtype, const Shape& shape, bool transpose_a, bool transpose_b) {
  return {.name = std::string(Name(dtype)) + "_" + name,
          .params = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
          .inputs =
              [=](std::mt19937_64& random) {
                TestArray a({.dtype = dtype, .shape = shape});
                FillUniform(a, -1, 1, random);
                return std::map<std::string, TestArray>{{"a", std::move(a)}};
              },
          .same_as = {{"b", "a"}}};
}

// A batch of [m, k] by one of [k, n], 9 by 5 by 7 or larger, with the batch's sizes in front.
Case Batch(const std::string& name, DType dtype, const Shape& a_batch, const Shape& b_batch, bool transpose_a,
           bool transpose_b, Sides sides = {9, 5, 7}) {
  return {.name = std::string(Name(dtype)) + "_batch_" + name,
          .params = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
          .inputs = [=](std::mt19937_64& random) {
            Signature a = Stored(dtype, sides.m, sides.k, transpose_a),
                      b = Stored(dtype, sides.k, sides.n, transpose_b);
            a.shape.insert(a.shape.begin(), a_batch.begin(), a_batch.end());
            b.shape.insert(b.shape.begin(), b_batch.begin(), b_batch.end());
            std::map<std::string, TestArray> inputs;
            inputs.emplace("a", TestArray(a));
            inputs.emplace("b", TestArray(b));
            for (auto& [input, array] : inputs) FillUniform(array, -1, 1, random);
            return inputs;
          }};
}

Case Special(DType dtype) {
  Case special = Product("nan_and_infinities", dtype, {40, 30, 35}, false, false);
  special.inputs = [random_inputs = special.inputs, dtype](std::mt19937_64& random) {
    std::map<std::string, TestArray> inputs = random_inputs(random);
    WithType(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>) {
        const auto a = inputs.at("a").Elements<T>(), b = inputs.at("b").Elements<T>();
        a[2 * 30 + 7] = std::numeric_limits<T>::quiet_NaN();
        a[5 * 30 + 1] = std::numeric_limits<T>::infinity();
        b[3 * 35 + 9] = -std::numeric_limits<T>::infinity();
        b[1 * 35 + 20] = 0;  // infinity times 0
      }
    });
    return inputs;
  };
  return special;
}

template <typename T>
void VerifyOne(const T* x, const T* y, const T* z, Sides sides, bool transpose_a, bool transpose_b, std::size_t index,
               Verdict& verdict) {
  const auto [m, k, n] = sides;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      SumOfProducts sum;
      for (std::int64_t l = 0; l < k; ++l) {
        sum.Add(x[transpose_a ? l * m + i : i * k + l], y[transpose_b ? j * k + l : l * n + j]);
      }
      sum.Judge(verdict, z[i * n + j], [&] {
        return "c[" + std::to_string(i) + ", " + std::to_string(j) + "] of product " + std::to_string(index);
      });
    }
  }
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray &a = executed.Input("a"), &b = executed.Input("b"), &c = executed.Output("c");
  const Shape &a_shape = a.signature().shape, &b_shape = b.signature().shape, &c_shape = c.signature().shape;
  const bool transpose_a = executed.call.Bool("transpose_a"), transpose_b = executed.call.Bool("transpose_b");
  const Sides sides{c_shape[c_shape.size() - 2], a_shape[a_shape.size() - (transpose_a ? 2 : 1)], c_shape.back()};
  const auto one = [](std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); };
  Verdict verdict;
  if (c.size() == 0) return verdict;
  const std::size_t count = c.size() / one(sides.m, sides.n);
  const auto batch = [](const Shape& shape) { return std::span(shape).first(shape.size() - 2); };
  for (std::size_t i = 0; i < count; ++i) {
    VerifyOne(a.Elements<T>().data() + BroadcastPlace(batch(a_shape), batch(c_shape), i) * one(sides.m, sides.k),
              b.Elements<T>().data() + BroadcastPlace(batch(b_shape), batch(c_shape), i) * one(sides.k, sides.n),
              c.Elements<T>().data() + i * one(sides.m, sides.n), sides, transpose_a, transpose_b, i, verdict);
  }
  return verdict;
}

}  // namespace

std::vector<Case> MatmulCases() {
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    cases.push_back(Product("no_rows", dtype, {0, 5, 4}, false, false));
    cases.push_back(Product("no_columns", dtype, {5, 4, 0}, false, false));
    cases.push_back(Product("nothing_to_add", dtype, {6, 0, 7}, false, false));
    cases.push_back(Product("one", dtype, {1, 1, 1}, false, false));
    cases.push_back(Product("n1000", dtype, {10, 1000, 10}, false, false));
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const std::string suffix = std::string(transpose_a ? "_t" : "_n") + (transpose_b ? "t" : "n");
        cases.push_back(Product("33" + suffix, dtype, {33, 17, 5}, transpose_a, transpose_b));
        cases.push_back(Product("large" + suffix, dtype, {257, 300, 128}, transpose_a, transpose_b));
        cases.push_back(Product("column" + suffix, dtype, {200, 1000, 1}, transpose_a, transpose_b));
        cases.push_back(Product("row" + suffix, dtype, {1, 1000, 200}, transpose_a, transpose_b));
        cases.push_back(WithItself("square_with_itself" + suffix, dtype, {129, 129}, transpose_a, transpose_b));
      }
    }
    // Small ones, some of them cut into chunks; large enough for threads each; none, and of nothing.
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const std::string suffix = std::string(transpose_a ? "_t" : "_n") + (transpose_b ? "t" : "n");
        cases.push_back(Batch("of_both" + suffix, dtype, {3, 2}, {3, 2}, transpose_a, transpose_b));
        cases.push_back(Batch("by_one" + suffix, dtype, {3, 2}, {}, transpose_a, transpose_b));
        cases.push_back(Batch("of_one" + suffix, dtype, {1}, {2, 4}, transpose_a, transpose_b));
        cases.push_back(Batch("in_turn" + suffix, dtype, {2, 1, 3}, {5, 1}, transpose_a, transpose_b));
        cases.push_back(Batch("large" + suffix, dtype, {2}, {2}, transpose_a, transpose_b, {70, 80, 60}));
      }
    }
    cases.push_back(Batch("many", dtype, {1500}, {1500}, false, false));
    cases.push_back(Batch("many_by_one", dtype, {7000}, {}, false, true));
    cases.push_back(Batch("many_large", dtype, {9}, {9}, false, true, {70, 80, 60}));
    cases.push_back(Batch("vectors", dtype, {4}, {4}, false, false, {6, 5, 1}));
    cases.push_back(Batch("rows", dtype, {4}, {4}, false, true, {1, 5, 6}));
    cases.push_back(Batch("none", dtype, {0}, {1}, false, false));
    cases.push_back(Batch("nothing_to_add", dtype, {3}, {3}, false, false, {4, 0, 2}));
    cases.push_back(WithItself("batch_by_own_transposes", dtype, {4, 30, 12}, false, true));
    cases.push_back(WithItself("by_own_transpose", dtype, {300, 120}, false, true));
    cases.push_back(WithItself("own_transpose_by", dtype, {300, 120}, true, false));
    cases.push_back(WithItself("small_by_own_transpose", dtype, {5, 3}, false, true));
    cases.push_back(Special(dtype));
  }
  return cases;
}

Verdict VerifyMatmul(const Executed& executed) {
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
