// Products and their bound (k + 2) u (|a| |b|) in long double, straight from the definition, of complex numbers three
// times that; in a reduced precision those of the inputs rounded to it.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <span>

#include "kernels/call/call.h"
#include "tests/conformance/broadcasting.h"
#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace matmul_verifier {

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

// At least one of them a vector.
Case WithVectors(const std::string& name, DType dtype, const Shape& a, const Shape& b, bool transpose_a = false,
                 bool transpose_b = false) {
  return {.name = std::string(Name(dtype)) + "_vectors_" + name,
          .params = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}},
          .inputs = [=](std::mt19937_64& random) {
            std::map<std::string, TestArray> inputs;
            inputs.emplace("a", TestArray({.dtype = dtype, .shape = a}));
            inputs.emplace("b", TestArray({.dtype = dtype, .shape = b}));
            for (auto& [input, array] : inputs) FillUniform(array, -1, 1, random);
            return inputs;
          }};
}

Case Special(const std::string& name, DType dtype, Sides sides, bool transpose_a, bool transpose_b) {
  Case special = Product("nan_and_infinities" + name, dtype, sides, transpose_a, transpose_b);
  special.inputs = [=, random_inputs = special.inputs](std::mt19937_64& random) {
    std::map<std::string, TestArray> inputs = random_inputs(random);
    const auto [m, k, n] = sides;
    WithTypeOf<float, double>(dtype, [&, m = m, k = k, n = n](auto zero) {
      using T = decltype(zero);
      const auto a = [&](std::int64_t i, std::int64_t l) -> T& {
        return inputs.at("a").Elements<T>()[transpose_a ? l * m + i % m : i % m * k + l];
      };
      const auto b = [&](std::int64_t l, std::int64_t j) -> T& {
        return inputs.at("b").Elements<T>()[transpose_b ? j % n * k + l : l * n + j % n];
      };
      a(2, 7) = std::numeric_limits<T>::quiet_NaN();
      a(5, 1) = std::numeric_limits<T>::infinity();
      b(3, 9) = -std::numeric_limits<T>::infinity();
      b(1, 20) = 0;  // infinity times 0
    });
    return inputs;
  };
  return special;
}

Case With(int precision, Case one) {
  one.name = std::string(PrecisionName(precision)) + "_" + one.name;
  one.precision = precision;
  return one;
}

// To both sides of where float16 ends, which nothing else does; what is smaller than its normal numbers, and ties.
Case Float16Ends() {
  Case ends = Product("beyond_float16", DType::kFloat32, {16, 12, 9}, false, false);
  ends.inputs = [random_inputs = ends.inputs](std::mt19937_64& random) {
    std::map<std::string, TestArray> inputs = random_inputs(random);
    const auto a = inputs.at("a").Elements<float>(), b = inputs.at("b").Elements<float>();
    const float left[] = {65504, 65519.99f, 65520, -65520, 1e30f, -70000, 6e-8f, 3e-6f, 2.9e-8f, 2049, 1 + 0x1p-11f};
    for (std::size_t i = 0; i < std::size(left); ++i) a[i * 12 + 5] = left[i];
    a[11 * 12 + 3] = 1e5f, a[11 * 12 + 4] = -1e5f;  // infinity minus infinity, where b's signs are the same
    b[5 * 9 + 2] = 0;                               // infinity times 0
    b[5 * 9 + 3] = 1e-9f;                           // infinity times what is rounded to 0
    b[7 * 9 + 8] = 1e38f;
    return inputs;
  };
  return ends;
}

// The nearest number of so many binary digits, at a tie the even one; below 2^least the steps stay as they are there,
// and from the middle between the largest number, which is below 2^(most + 1), and that on it is infinite.
float Rounded(float x, int digits, int least, int most) {
  if (x == 0 || !std::isfinite(x)) return x;
  const long double step = std::ldexp(1.0L, std::max(std::ilogb(x), least) + 1 - digits);
  const long double rounded = std::nearbyint(static_cast<long double>(x) / step) * step;
  if (std::fabs(rounded) < std::ldexp(1.0L, most + 1)) return static_cast<float>(rounded);
  return std::copysign(std::numeric_limits<float>::infinity(), x);
}

float Rounded(float x, int precision) {
  if (precision == HOTPLATE_PRECISION_BF16) return Rounded(x, 8, -126, 127);
  if (precision == HOTPLATE_PRECISION_F16) return Rounded(x, 11, -14, 15);
  return x;
}

// What is multiplied.
template <typename T>
std::vector<T> Factors(const TestArray& array, int precision) {
  const std::span<const T> elements = array.Elements<T>();
  std::vector<T> factors(elements.begin(), elements.end());
  if constexpr (std::is_same_v<T, float>) {
    for (T& factor : factors) factor = Rounded(factor, precision);
  }
  return factors;
}

// The bound's factor before |a| |b|. In tf32 the device rounds the inputs, or cuts them off.
template <typename T>
long double RelativeBound(int precision, std::int64_t k) {
  const auto steps = static_cast<long double>(k + 2);
  if (precision == HOTPLATE_PRECISION_DEFAULT) return steps * UnitRoundoff<T>();
  return steps * 0x1p-22L + (precision == HOTPLATE_PRECISION_TF32 ? 0x1p-9L : 0);
}

template <typename T>
void VerifyOne(const T* x, const T* y, const T* z, Sides sides, bool transpose_a, bool transpose_b, std::size_t index,
               long double relative, Verdict& verdict) {
  const auto [m, k, n] = sides;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      SumOfProducts sum;
      for (std::int64_t l = 0; l < k; ++l) {
        sum.Add(x[transpose_a ? l * m + i : i * k + l], y[transpose_b ? j * k + l : l * n + j]);
      }
      sum.Judge(verdict, z[i * n + j], relative, [&] {
        return "c[" + std::to_string(i) + ", " + std::to_string(j) + "] of product " + std::to_string(index);
      });
    }
  }
}

template <typename Real>
void VerifyOne(const std::complex<Real>* x, const std::complex<Real>* y, const std::complex<Real>* z, Sides sides,
               bool transpose_a, bool transpose_b, std::size_t index, long double relative, Verdict& verdict) {
  const auto [m, k, n] = sides;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::complex<long double> sum;
      long double magnitude = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const std::complex<long double> left = x[transpose_a ? l * m + i : i * k + l];
        const std::complex<long double> right = y[transpose_b ? j * k + l : l * n + j];
        sum += left * right;
        magnitude += std::abs(left) * std::abs(right);
      }
      const std::complex<Real> got = z[i * n + j];
      verdict.Add(InBounds(std::abs(std::complex<long double>(got) - sum), 3 * relative * magnitude), [&] {
        return "c[" + std::to_string(i) + ", " + std::to_string(j) + "] of product " + std::to_string(index) + " = " +
               std::to_string(got.real()) + " + " + std::to_string(got.imag()) + "i";
      });
    }
  }
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray &a = executed.Input("a"), &b = executed.Input("b"), &c = executed.Output("c");
  Shape a_shape = a.signature().shape, b_shape = b.signature().shape, c_shape = c.signature().shape;
  const bool transpose_a = executed.call.Bool("transpose_a"), transpose_b = executed.call.Bool("transpose_b");
  // Vectors as the matrices of one row or one column that NumPy makes of them.
  if (b_shape.size() == 1) {
    b_shape.insert(transpose_b ? b_shape.begin() : b_shape.end(), 1);
    c_shape.push_back(1);
  }
  if (a_shape.size() == 1) {
    a_shape.insert(transpose_a ? a_shape.end() : a_shape.begin(), 1);
    c_shape.insert(c_shape.end() - 1, 1);
  }
  const Sides sides{c_shape[c_shape.size() - 2], a_shape[a_shape.size() - (transpose_a ? 2 : 1)], c_shape.back()};
  const auto one = [](std::int64_t rows, std::int64_t columns) { return static_cast<std::size_t>(rows * columns); };
  Verdict verdict;
  if (c.size() == 0) return verdict;
  const std::size_t count = c.size() / one(sides.m, sides.n);
  const std::vector<T> left = Factors<T>(a, executed.call.precision), right = Factors<T>(b, executed.call.precision);
  const long double relative = RelativeBound<decltype(std::abs(T()))>(executed.call.precision, sides.k);
  const auto batch = [](const Shape& shape) { return std::span(shape).first(shape.size() - 2); };
  for (std::size_t i = 0; i < count; ++i) {
    VerifyOne(left.data() + BroadcastPlace(batch(a_shape), batch(c_shape), i) * one(sides.m, sides.k),
              right.data() + BroadcastPlace(batch(b_shape), batch(c_shape), i) * one(sides.k, sides.n),
              c.Elements<T>().data() + i * one(sides.m, sides.n), sides, transpose_a, transpose_b, i, relative,
              verdict);
  }
  return verdict;
}

}  // namespace matmul_verifier

std::vector<Case> MatmulCases() {
  using namespace matmul_verifier;
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
    cases.push_back(WithVectors("both", dtype, {1000}, {1000}));
    cases.push_back(WithVectors("both_transposed", dtype, {33}, {33}, true, true));
    cases.push_back(WithVectors("of_nothing", dtype, {0}, {0}));
    cases.push_back(WithVectors("by_matrix", dtype, {1000}, {1000, 200}));
    cases.push_back(WithVectors("by_transpose", dtype, {30}, {20, 30}, true, true));
    cases.push_back(WithVectors("by_batch", dtype, {30}, {3, 2, 30, 20}));
    cases.push_back(WithVectors("of_matrix", dtype, {200, 1000}, {1000}));
    cases.push_back(WithVectors("of_transpose", dtype, {30, 20}, {30}, true, true));
    cases.push_back(WithVectors("of_batch", dtype, {3, 2, 20, 30}, {30}));
    cases.push_back(WithVectors("of_many", dtype, {1500, 9, 5}, {5}));
    cases.push_back(Batch("none", dtype, {0}, {1}, false, false));
    cases.push_back(Batch("nothing_to_add", dtype, {3}, {3}, false, false, {4, 0, 2}));
    cases.push_back(WithItself("batch_by_own_transposes", dtype, {4, 30, 12}, false, true));
    cases.push_back(WithItself("by_own_transpose", dtype, {300, 120}, false, true));
    cases.push_back(WithItself("own_transpose_by", dtype, {300, 120}, true, false));
    cases.push_back(WithItself("small_by_own_transpose", dtype, {5, 3}, false, true));
    cases.push_back(Special("", dtype, {40, 30, 35}, false, false));
    cases.push_back(Special("_column", dtype, {40, 30, 1}, false, false));
    cases.push_back(Special("_row", dtype, {1, 30, 35}, false, true));
  }
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    cases.push_back(Product("one", dtype, {1, 1, 1}, false, false));
    cases.push_back(Product("no_rows", dtype, {0, 5, 4}, false, false));
    cases.push_back(Product("nothing_to_add", dtype, {6, 0, 7}, false, false));
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const std::string suffix = std::string(transpose_a ? "_t" : "_n") + (transpose_b ? "t" : "n");
        cases.push_back(Product("33" + suffix, dtype, {33, 17, 5}, transpose_a, transpose_b));
        cases.push_back(Product("column" + suffix, dtype, {200, 1000, 1}, transpose_a, transpose_b));
        cases.push_back(Product("row" + suffix, dtype, {1, 1000, 200}, transpose_a, transpose_b));
        cases.push_back(Batch("of_both" + suffix, dtype, {3, 2}, {3, 2}, transpose_a, transpose_b, {9, 5, 4}));
      }
    }
    cases.push_back(Product("large", dtype, {257, 300, 128}, false, true));
    cases.push_back(Batch("by_one", dtype, {30}, {}, false, false));
    cases.push_back(WithVectors("both", dtype, {1000}, {1000}));
    cases.push_back(WithItself("by_own_transpose", dtype, {300, 120}, false, true));
  }
  for (const int precision : {HOTPLATE_PRECISION_TF32, HOTPLATE_PRECISION_BF16, HOTPLATE_PRECISION_F16}) {
    const DType dtype = DType::kFloat32;
    const auto add = [&](Case one) { cases.push_back(With(precision, std::move(one))); };
    add(Product("one", dtype, {1, 1, 1}, false, false));
    add(Product("nothing_to_add", dtype, {6, 0, 7}, false, false));
    add(Product("k1", dtype, {65, 1, 70}, false, false));
    add(Product("column", dtype, {50, 1000, 1}, false, false));
    add(Product("large", dtype, {257, 300, 128}, false, true));
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const std::string suffix = std::string(transpose_a ? "_t" : "_n") + (transpose_b ? "t" : "n");
        add(Product("33" + suffix, dtype, {33, 17, 5}, transpose_a, transpose_b));
        add(Batch("of_both" + suffix, dtype, {3, 2}, {3, 2}, transpose_a, transpose_b));
      }
    }
    add(Batch("in_turn", dtype, {2, 1, 3}, {5, 1}, false, true));
    add(WithItself("by_own_transpose", dtype, {30, 12}, false, true));
    add(Special("", dtype, {40, 30, 35}, false, false));
    add(Float16Ends());
  }
  return cases;
}

Verdict VerifyMatmul(const Executed& executed) {
  using namespace matmul_verifier;
  return WithTypeOf<float, double, std::complex<float>, std::complex<double>>(
      executed.Input("a").signature().dtype, [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
