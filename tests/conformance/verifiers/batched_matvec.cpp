// Products and their bound (k + 2) u (|a| |x|) in long double, straight from the definition.
#include <limits>

#include "tests/conformance/matrices.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace batched_matvec_verifier {

Case Products(const std::string& name, DType dtype, const Shape& a_shape, std::int64_t batch) {
  return {.name = std::string(Name(dtype)) + "_" + name, .params = {}, .inputs = [=](std::mt19937_64& random) {
            TestArray a({.dtype = dtype, .shape = a_shape}), x({.dtype = dtype, .shape = {batch, a_shape.back()}});
            FillUniform(a, -1, 1, random);
            FillUniform(x, -1, 1, random);
            return std::map<std::string, TestArray>{{"a", std::move(a)}, {"x", std::move(x)}};
          }};
}

Case Special(const std::string& name, DType dtype, const Shape& a_shape, std::int64_t batch) {
  Case special = Products(name, dtype, a_shape, batch);
  special.inputs = [random_inputs = special.inputs, dtype](std::mt19937_64& random) {
    std::map<std::string, TestArray> inputs = random_inputs(random);
    WithTypeOf<float, double>(dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto a = inputs.at("a").Elements<T>(), x = inputs.at("x").Elements<T>();
      a[7] = std::numeric_limits<T>::infinity();
      x[7] = 0;  // infinity times 0
      x[40 + 11] = std::numeric_limits<T>::quiet_NaN();
      x[80 + 3] = -std::numeric_limits<T>::infinity();
    });
    return inputs;
  };
  return special;
}

template <typename T>
Verdict Verify(const Executed& executed) {
  const TestArray &a = executed.Input("a"), &x = executed.Input("x"), &y = executed.Output("y");
  const auto batch = static_cast<std::size_t>(y.signature().shape[0]),
             m = static_cast<std::size_t>(y.signature().shape[1]);
  const auto k = static_cast<std::size_t>(x.signature().shape[1]);
  const std::size_t step = a.signature().shape.size() == 3 ? m * k : 0;
  const auto matrix = a.Elements<T>(), vectors = x.Elements<T>(), products = y.Elements<T>();
  Verdict verdict;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < m; ++i) {
      SumOfProducts sum;
      for (std::size_t l = 0; l < k; ++l) sum.Add(matrix[b * step + i * k + l], vectors[b * k + l]);
      sum.Judge(verdict, products[b * m + i],
                [&] { return "y[" + std::to_string(b) + ", " + std::to_string(i) + "]"; });
    }
  }
  return verdict;
}

}  // namespace batched_matvec_verifier

std::vector<Case> BatchedMatvecCases() {
  using namespace batched_matvec_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    cases.push_back(Products("no_vectors", dtype, {5, 4}, 0));
    cases.push_back(Products("no_rows", dtype, {0, 4}, 3));
    cases.push_back(Products("nothing_to_add", dtype, {5, 0}, 3));
    cases.push_back(Products("nothing_to_add_each", dtype, {3, 5, 0}, 3));
    cases.push_back(Products("one", dtype, {1, 1}, 1));
    cases.push_back(Products("course", dtype, {150, 100}, 10));
    cases.push_back(Products("one_vector", dtype, {33, 1000}, 1));
    cases.push_back(Products("odd", dtype, {33, 17}, 9));
    cases.push_back(Products("large", dtype, {130, 131}, 17));
    cases.push_back(Products("each_one", dtype, {1, 1, 1}, 1));
    cases.push_back(Products("each_odd", dtype, {5, 33, 17}, 5));
    cases.push_back(Products("each_large", dtype, {21, 129, 100}, 21));
    cases.push_back(Special("nan_and_infinities", dtype, {30, 40}, 10));
    cases.push_back(Special("each_nan_and_infinities", dtype, {10, 30, 40}, 10));
  }
  return cases;
}

Verdict VerifyBatchedMatvec(const Executed& executed) {
  using namespace batched_matvec_verifier;
  return WithTypeOf<float, double>(executed.Input("a").signature().dtype,
                                   [&](auto zero) { return Verify<decltype(zero)>(executed); });
}

}  // namespace hotplate::conformance
