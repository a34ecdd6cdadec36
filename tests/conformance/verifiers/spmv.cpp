// Each row's sum in long double. Where a product is a NaN or infinite, so is the row, by IEEE's rules whatever the
// order.
#include <limits>

#include "tests/conformance/matrices.h"
#include "tests/conformance/sparse.h"
#include "tests/conformance/verifiers.h"

namespace hotplate::conformance {
namespace spmv_verifier {

using Degrees = std::vector<std::size_t>;

template <typename T, typename Index>
Verdict Verify(const Executed& executed) {
  const auto data = executed.Input("data").Elements<T>(), x = executed.Input("x").Elements<T>();
  const auto indices = executed.Input("indices").Elements<Index>(), indptr = executed.Input("indptr").Elements<Index>();
  const auto y = executed.Output("y").Elements<T>();
  Verdict verdict;
  for (std::size_t row = 0; row < y.size(); ++row) {
    SumOfProducts sum;
    for (auto i = static_cast<std::size_t>(indptr[row]); i < static_cast<std::size_t>(indptr[row + 1]); ++i)
      sum.Add(data[i], x[static_cast<std::size_t>(indices[i])]);
    sum.Judge(verdict, y[row], [&] { return "y[" + std::to_string(row) + "]"; });
  }
  return verdict;
}

}  // namespace spmv_verifier

std::vector<Case> SpmvCases() {
  using namespace spmv_verifier;
  std::vector<Case> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const DType index : {DType::kInt32, DType::kInt64}) {
      const auto add = [&](const std::string& name, std::int64_t columns,
                           const std::function<Degrees(std::mt19937_64&)>& degrees,
                           const std::function<void(TestArray & data, TestArray & x)>& change = {}) {
        cases.push_back({.name = std::string(Name(dtype)) + "_" + std::string(Name(index)) + "_" + name,
                         .params = {},
                         .inputs = [=](std::mt19937_64& random) {
                           std::map<std::string, TestArray> inputs =
                               PatternArrays(DrawnPattern(degrees(random), columns, random), index);
                           TestArray data({.dtype = dtype, .shape = inputs.at("indices").signature().shape}),
                               x({.dtype = dtype, .shape = {columns}});
                           FillUniform(data, -1, 1, random);
                           FillUniform(x, -1, 1, random);
                           if (change) change(data, x);
                           inputs.emplace("data", std::move(data));
                           inputs.emplace("x", std::move(x));
                           return inputs;
                         }});
      };
      const auto constant = [](const Degrees& degrees) { return [degrees](std::mt19937_64&) { return degrees; }; };
      const auto drawn = [](std::size_t rows, std::size_t most) {
        return [=](std::mt19937_64& random) {
          Degrees degrees(rows);
          for (std::size_t& degree : degrees) degree = random() % (most + 1);
          return degrees;
        };
      };
      add("no_rows", 5, constant({}));
      add("no_columns", 0, constant({0, 0, 0}));
      add("nothing_at_all", 0, constant({}));
      add("no_entries", 7, constant(Degrees(5000, 0)));
      add("one", 1, constant({1}));
      add("one_row", 300, constant({9000}));
      add("a_row_of_each_length", 100, [](std::mt19937_64&) {
        Degrees degrees;
        for (std::size_t i = 0; i < 150; ++i) degrees.push_back(i);
        return degrees;
      });
      add("empty_rows_at_both_ends", 50, constant({0, 0, 3, 0, 2047, 0, 2, 0, 0}));
      add("wide", 40'000, drawn(20, 5));
      add("tall", 3, drawn(5000, 3));
      add("random", 999, drawn(1001, 40));
      add("long_row_among_short_ones", 2000, [](std::mt19937_64& random) {
        Degrees degrees(4000);
        for (std::size_t& degree : degrees) degree = random() % 3;
        degrees[1234] = 70'000;
        degrees[1235] = 0;
        degrees[3999] = 5000;
        return degrees;
      });
      add("not_finite", 40, drawn(300, 6), [](TestArray& data, TestArray& x) {
        WithType(data.signature().dtype, [&](auto zero) {
          using T = decltype(zero);
          const auto a = data.Elements<T>(), b = x.Elements<T>();
          if constexpr (std::is_floating_point_v<T>) {
            const T infinity = std::numeric_limits<T>::infinity();
            a[10] = std::numeric_limits<T>::quiet_NaN(), a[100] = infinity, a[101] = -infinity, a[200] = 0;
            for (std::size_t i = 250; i < 400; ++i) a[i] = 0;  // times infinity is a NaN
            b[3] = infinity, b[4] = -infinity, b[5] = std::numeric_limits<T>::quiet_NaN();
          }
        });
      });
    }
  }
  return cases;
}

Verdict VerifySpmv(const Executed& executed) {
  using namespace spmv_verifier;
  const bool narrow = executed.Input("indices").signature().dtype == DType::kInt32;
  if (executed.Input("data").signature().dtype == DType::kFloat32) {
    return narrow ? Verify<float, std::int32_t>(executed) : Verify<float, std::int64_t>(executed);
  }
  return narrow ? Verify<double, std::int32_t>(executed) : Verify<double, std::int64_t>(executed);
}

}  // namespace hotplate::conformance
