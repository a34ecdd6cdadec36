#include "tests/bench/kernels/rows.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>

namespace hotplate::bench {
namespace {

using conformance::TestArray;
using Arrays = std::map<std::string, TestArray>;
using Signatures = std::map<std::string, Signature>;

constexpr std::int64_t kMillion = 1'000'000;

// Numbers from -10 to 10 (integers: from -10000 to 10000), the same in every run; fast, since some rows take 1e8.
void Fill(TestArray& array, std::uint64_t seed) {
  conformance::WithType(RealPart(array.signature().dtype), [&](auto zero) {
    using T = decltype(zero);
    const double range = std::is_integral_v<T> ? 20'000 : 20;
    std::uint64_t state = seed;
    for (T& element : array.Elements<T>()) {
      // SplitMix64: a few operations a number.
      std::uint64_t mixed = state += 0x9e3779b97f4a7c15;
      mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      mixed ^= mixed >> 31;
      element = static_cast<T>((static_cast<double>(mixed >> 11) * 0x1p-53 - 0.5) * range);
    }
  });
}

// What is added to each matrix's diagonal, a multiple of its order, makes it positive definite and far from singular.
void AddToDiagonal(TestArray& array, double times_order) {
  conformance::WithType(array.signature().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto n = static_cast<std::size_t>(array.signature().shape.back());
    const auto elements = array.Elements<T>();
    for (std::size_t row = 0; row < elements.size() / n; ++row)
      elements[row * n + row % n] += static_cast<T>(times_order * static_cast<double>(n));
  });
}

std::function<Arrays()> Random(const Signatures& signatures, double diagonal_of_a = 0) {
  return [signatures, diagonal_of_a] {
    Arrays arrays;
    std::uint64_t seed = 20'240'501;
    for (const auto& [name, signature] : signatures) {
      TestArray array(signature);
      Fill(array, seed++);
      if (name == "a" && diagonal_of_a != 0) AddToDiagonal(array, diagonal_of_a);
      arrays.emplace(name, std::move(array));
    }
    return arrays;
  };
}

using Params = std::map<std::string, ParamValue>;

Row Of(const std::string& name, const std::string& kernel, const Params& params, const Signatures& inputs,
       double diagonal_of_a = 0) {
  return {.name = name, .kernel = kernel, .params = params, .inputs = Random(inputs, diagonal_of_a)};
}

Row Elementwise(const std::string& name, const std::string& kernel, DType dtype, std::int64_t count) {
  const Signature one{dtype, {count}};
  return {.name = name,
          .kernel = kernel,
          .inputs = Random(kernel == "vector_add" ? Signatures{{"a", one}, {"b", one}} : Signatures{{"x", one}})};
}

// Of 0, 1, 2 …, the exercise's own angles: most of them are far beyond what a library's sine is fastest for.
Row TrigIdentity(const std::string& name, DType dtype, std::int64_t count) {
  return {.name = name, .kernel = "trig_identity", .inputs = [=] {
            TestArray x({dtype, {count}});
            conformance::WithType(dtype, [&](auto zero) {
              using T = decltype(zero);
              for (std::size_t i = 0; i < x.size(); ++i) x.Elements<T>()[i] = static_cast<T>(i);
            });
            Arrays arrays;
            arrays.emplace("x", std::move(x));
            return arrays;
          }};
}

Row ByMemory(Row row) {
  row.bound_by_memory = true;
  return row;
}

Row ByWriting(const std::string& bare_loop, Row row) {
  row.bare_loop = bare_loop;
  return ByMemory(std::move(row));
}

Row Product(const std::string& name, DType dtype, Shape a, Shape b, int precision = HOTPLATE_PRECISION_DEFAULT) {
  return {.name = name,
          .kernel = "matmul",
          .precision = precision,
          .inputs = Random({{"a", {dtype, a}}, {"b", {dtype, b}}})};
}

Row OwnTranspose(const std::string& name, std::int64_t n) {
  return {.name = name,
          .kernel = "matmul",
          .params = {{"transpose_b", true}},
          .inputs = Random({{"a", {DType::kFloat32, {n, n}}}}),
          .same_as = {{"b", "a"}}};
}

// Over [0, 1] x [0, 2], where it is 1.61: over the default rectangle it is 0, and a peer's sum of anything that cancels
// would be as right.
Row Integral(const std::string& name, std::int64_t n, const std::string& variant) {
  return {.name = name,
          .kernel = "integrate2d",
          .params = {{"n", n}, {"variant", variant}, {"x_max", 1.0}, {"y_max", 2.0}},
          .inputs = Random({})};
}

Row Fractal(const std::string& name, std::int64_t resolution, std::int64_t iterations) {
  return {.name = name,
          .kernel = "mandelbrot",
          .params = {{"resolution", resolution}, {"max_iterations", iterations}},
          .inputs = Random({})};
}

ParamValue Text(const char* choice) { return std::string(choice); }

// Ten entries to a row, each somewhere in its tenth of the columns.
Row Sparse(const std::string& name, const std::string& kernel, const Params& params, std::int64_t rows) {
  constexpr std::int64_t kOfARow = 10;
  return {.name = name, .kernel = kernel, .params = params, .inputs = [=] {
            Arrays arrays = Random({{"indices", {DType::kInt32, {rows * kOfARow}}}})();
            const auto indices = arrays.at("indices").Elements<std::int32_t>();
            const std::int64_t tenth = rows / kOfARow;
            std::mt19937_64 random(20'240'501);
            for (std::size_t i = 0; i < indices.size(); ++i) {
              const std::int64_t first = static_cast<std::int64_t>(i) % kOfARow * tenth;
              indices[i] = static_cast<std::int32_t>(first + static_cast<std::int64_t>(random() >> 1) % tenth);
            }
            TestArray indptr({DType::kInt32, {rows + 1}});
            for (std::int64_t row = 0; row <= rows; ++row) {
              indptr.Elements<std::int32_t>()[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(row * kOfARow);
            }
            arrays.emplace("indptr", std::move(indptr));
            if (kernel == "spmv") {
              arrays.merge(Random({{"data", {DType::kFloat64, {rows * kOfARow}}}, {"x", {DType::kFloat64, {rows}}}})());
            }
            return arrays;
          }};
}

// Kernels that make or reduce or order `many` elements (10 to the given power), and matrices of order n.
std::vector<Row> SizedRows(const std::string& power, std::int64_t many, std::int64_t n) {
  using enum DType;
  const std::string matrix = std::string("_").append(std::to_string(n));  // GCC 12 warns falsely of a sum of both
  const Signature f32{kFloat32, {many}}, f64{kFloat64, {many}}, i64{kInt64, {many}};
  const Signature square{kFloat64, {n, n}}, stack{kFloat64, {10'000, 16, 16}};
  return {
      ByWriting("fill", Of("arange_f64_" + power, "arange", {{"stop", static_cast<double>(many)}}, {})),
      ByWriting("fill", Of("linspace_f64_" + power, "linspace", {{"stop", 1.0}, {"num", many}}, {})),
      ByWriting("fill", Of("full_f32_" + power, "full", {{"n", many}, {"value", 1.5}, {"dtype", Text("float32")}}, {})),
      Of("random_uniform_f32_" + power, "random", {{"n", many}, {"dtype", Text("float32")}}, {}),
      Of("random_normal_f64_" + power, "random", {{"n", many}, {"distribution", Text("normal")}}, {}),
      Of("random_integers_i64_" + power, "random",
         {{"n", many}, {"distribution", Text("integers")}, {"high", std::int64_t{1000}}}, {}),
      Of("histogram_f64_" + power, "histogram", {{"bins", std::int64_t{100}}}, {{"x", f64}}),
      ByMemory(Of("reduce_sum_f32_" + power, "reduce", {}, {{"x", f32}})),
      ByMemory(Of("reduce_std_f64_" + power, "reduce", {{"operation", Text("std")}}, {{"x", f64}})),
      ByMemory(Of("reduce_argmax_f32_" + power, "reduce", {{"operation", Text("argmax")}}, {{"x", f32}})),
      ByMemory(Of("reduce_sum_short_rows_f64_" + power, "reduce", {{"axis", Text("1")}},
                  {{"x", {kFloat64, {many / 10, 10}}}})),
      ByMemory(Of("reduce_mean_columns_f64_" + power, "reduce", {{"operation", Text("mean")}, {"axis", Text("0")}},
                  {{"x", {kFloat64, {many / 1000, 1000}}}})),
      ByMemory(Of("norm_2_f64_" + power, "norm", {}, {{"x", f64}})),
      Of("norm_p_f64_" + power, "norm", {{"ord", Text("p")}}, {{"x", f64}}),
      ByMemory(Of("power_sum_f32_" + power, "power_sum", {}, {{"x", f32}})),
      Of("sort_f32_" + power, "sort", {}, {{"x", f32}}),
      Of("sort_i64_" + power, "sort", {}, {{"x", i64}}),
      Of("sort_by_key_f32_i64_" + power, "sort_by_key", {}, {{"keys", f32}, {"values", i64}}),
      Of("groupby_sum_i64_f64_" + power, "groupby_sum", {}, {{"keys", i64}, {"values", f64}}),
      Of("kmeans_f32_k64_" + power, "kmeans", {{"max_iterations", std::int64_t{5}}, {"tolerance", 0.0}},
         {{"points", {kFloat32, {many / 100, 16}}}, {"initial", {kFloat32, {64, 16}}}}),
      Sparse("spmv_f64_i32_" + power, "spmv", {}, many / 10),
      Sparse("pagerank_i32_" + power, "pagerank", {{"tolerance", 1e-7 / static_cast<double>(many)}}, many / 10),
      Of("fft_c64_1000x1024", "fft", {}, {{"x", {kComplex64, {1000, 1024}}}}),
      Of("fft_c128_1048576", "fft", {}, {{"x", {kComplex128, {1'048'576}}}}),
      Of("fft_rfft2_f32_1024", "fft", {{"transform", Text("rfft")}, {"axes", std::int64_t{2}}},
         {{"x", {kFloat32, {1024, 1024}}}}),
      Of("batched_matvec_f32_150x100_by_10", "batched_matvec", {},
         {{"a", {kFloat32, {150, 100}}}, {"x", {kFloat32, {10, 100}}}}),
      Of("batched_matvec_f32_150x100_each_of_1000", "batched_matvec", {},
         {{"a", {kFloat32, {1000, 150, 100}}}, {"x", {kFloat32, {1000, 100}}}}),
      Of("cholesky_f64" + matrix, "cholesky", {}, {{"a", square}}, 10),
      Of("solve_f64" + matrix, "solve", {}, {{"a", square}, {"b", {kFloat64, {n, 10}}}}, 1),
      Of("eigh_f64" + matrix, "eigh", {}, {{"a", square}}),
      Of("svd_f64" + matrix, "svd", {{"compute", Text("thin")}}, {{"a", square}}),
      Of("cholesky_f64_16_of_10000", "cholesky", {}, {{"a", stack}}, 10),
      Of("solve_f64_16_of_10000", "solve", {}, {{"a", stack}, {"b", {kFloat64, {10'000, 16, 1}}}}, 10),
      Of("eigh_f64_16_of_10000", "eigh", {}, {{"a", stack}}),
      Of("svd_f64_16_of_10000", "svd", {{"compute", Text("thin")}}, {{"a", stack}}),
  };
}

// The courses' own that a processor of two cores takes many seconds for, or gigabytes.
std::vector<Row> LongRows() {
  using enum DType;
  return {
      ByMemory(Elementwise("vector_add_f32_1e8", "vector_add", kFloat32, 100 * kMillion)),
      Integral("integrate2d_102400_naive", 102'400, "naive"),
      Integral("integrate2d_102400_shared", 102'400, "shared"),
      Integral("integrate2d_102400_fast", 102'400, "fast"),
      Product("matmul_f64_3000", kFloat64, {3000, 3000}, {3000, 3000}),
      Of("svd_f64_3000", "svd", {{"compute", Text("thin")}}, {{"a", {kFloat64, {3000, 3000}}}}),
      Of("svd_f32_3000", "svd", {{"compute", Text("thin")}}, {{"a", {kFloat32, {3000, 3000}}}}),
      Of("svd_f32_9000x1000", "svd", {{"compute", Text("thin")}}, {{"a", {kFloat32, {9000, 1000}}}}),
  };
}

// Two cores are kept busy by sines and exponentials: trig_identity and selu are bound by arithmetic here.
std::vector<Row> CpuRows() {
  using enum DType;
  return {
      Elementwise("vector_add_f32_4", "vector_add", kFloat32, 4),
      Elementwise("vector_add_i32_4096", "vector_add", kInt32, 4096),
      ByMemory(Elementwise("vector_add_f32_1e6", "vector_add", kFloat32, kMillion)),
      ByMemory(Elementwise("vector_add_f32_5e7", "vector_add", kFloat32, 50 * kMillion)),
      ByMemory(Elementwise("vector_add_f64_2e7", "vector_add", kFloat64, 20 * kMillion)),
      TrigIdentity("trig_identity_f32_1e7", kFloat32, 10 * kMillion),
      TrigIdentity("trig_identity_i64_1e7", kInt64, 10 * kMillion),
      Elementwise("selu_f32_1e6", "selu", kFloat32, kMillion),
      Elementwise("selu_f32_1e7", "selu", kFloat32, 10 * kMillion),
      Elementwise("selu_f64_1e7", "selu", kFloat64, 10 * kMillion),
      Integral("integrate2d_4096", 4096, "fast"),
      Integral("integrate2d_10240", 10'240, "fast"),
      Fractal("mandelbrot_500", 500, 200),
      Fractal("mandelbrot_2000", 2000, 200),
      Product("matmul_f32_100", kFloat32, {100, 100}, {100, 100}),
      Product("matmul_f32_1000", kFloat32, {1000, 1000}, {1000, 1000}),
      Product("matmul_f64_1000", kFloat64, {1000, 1000}, {1000, 1000}),
      Product("matmul_f32_3000", kFloat32, {3000, 3000}, {3000, 3000}),
      OwnTranspose("matmul_f32_3000_own_transpose", 3000),
      Product("matmul_f32_4000_by_vector", kFloat32, {4000, 4000}, {4000, 1}),
      Product("matmul_f32_1000_of_32", kFloat32, {1000, 32, 32}, {1000, 32, 32}),
      ByWriting("broadcast", Of("vector_add_f32_4000x1_and_2500", "vector_add", {},
                                {{"a", {kFloat32, {4000, 1}}}, {"b", {kFloat32, {2500}}}})),
  };
}

// The courses' own sizes beside LongRows(), and one of each kernel that fills a large GPU. Of 3e7 numbers: beyond the
// caches too, and small enough to be handed to a peer in files.
std::vector<Row> CudaRows() {
  using enum DType;
  return {
      Elementwise("vector_add_f32_4", "vector_add", kFloat32, 4),
      Elementwise("vector_add_i32_4096", "vector_add", kInt32, 4096),
      ByMemory(Elementwise("vector_add_f32_3e7", "vector_add", kFloat32, 30 * kMillion)),
      ByMemory(Elementwise("vector_add_f64_1e8", "vector_add", kFloat64, 100 * kMillion)),
      ByMemory(TrigIdentity("trig_identity_f32_1e7", kFloat32, 10 * kMillion)),
      ByMemory(TrigIdentity("trig_identity_f32_3e7", kFloat32, 30 * kMillion)),
      ByMemory(TrigIdentity("trig_identity_f32_1e8", kFloat32, 100 * kMillion)),
      ByMemory(Elementwise("selu_f32_1e6", "selu", kFloat32, kMillion)),
      ByMemory(Elementwise("selu_f32_3e7", "selu", kFloat32, 30 * kMillion)),
      ByMemory(Elementwise("selu_f32_1e8", "selu", kFloat32, 100 * kMillion)),
      Fractal("mandelbrot_2000", 2000, 200),
      Fractal("mandelbrot_4000", 4000, 1000),
      Product("matmul_f32_1000", kFloat32, {1000, 1000}, {1000, 1000}),
      Product("matmul_f64_1000", kFloat64, {1000, 1000}, {1000, 1000}),
      Product("matmul_f32_3000", kFloat32, {3000, 3000}, {3000, 3000}),
      OwnTranspose("matmul_f32_3000_own_transpose", 3000),
      Product("matmul_f32_8192", kFloat32, {8192, 8192}, {8192, 8192}),
      Product("matmul_f64_4096", kFloat64, {4096, 4096}, {4096, 4096}),
      Product("matmul_tf32_8192", kFloat32, {8192, 8192}, {8192, 8192}, HOTPLATE_PRECISION_TF32),
      Product("matmul_bf16_8192", kFloat32, {8192, 8192}, {8192, 8192}, HOTPLATE_PRECISION_BF16),
      Product("matmul_f16_8192", kFloat32, {8192, 8192}, {8192, 8192}, HOTPLATE_PRECISION_F16),
  };
}

std::size_t BytesOf(const KernelSpec& spec, const conformance::Case& one, const Arrays& inputs) {
  Signatures signatures;
  for (const auto& [name, array] : inputs) signatures.emplace(name, array.signature());
  for (const auto& [name, other] : one.same_as) signatures.emplace(name, inputs.at(other).signature());
  const absl::StatusOr<BoundCall> call = spec.Bind(one.params, signatures, HOTPLATE_PRECISION_DEFAULT);
  return call.ok() ? call->InputBytes() + call->OutputBytes() : 0;
}

Row LargestCase(const conformance::KernelSuite& suite) {
  const KernelSpec& spec = *BuiltinCatalog().Find(suite.kernel).value();
  std::vector<conformance::Case> cases = suite.cases();
  const auto size = [&](const conformance::Case& one) {
    std::mt19937_64 random(1);
    return BytesOf(spec, one, one.inputs(random));
  };
  const conformance::Case largest =
      *std::max_element(cases.begin(), cases.end(), [&](const auto& a, const auto& b) { return size(a) < size(b); });
  return {.name = std::string(suite.kernel) + "_" + largest.name,
          .kernel = suite.kernel,
          .params = largest.params,
          .inputs =
              [largest] {
                std::mt19937_64 random(20'240'501);
                return largest.inputs(random);
              },
          .same_as = largest.same_as};
}

}  // namespace

std::vector<Row> RowsFor(const std::string& backend, bool with_long) {
  const bool cuda = backend == "cuda";
  std::vector<Row> rows = cuda ? CudaRows() : CpuRows();
  const auto append = [&](std::vector<Row> more) {
    rows.insert(rows.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  };
  append(cuda ? SizedRows("3e7", 30 * kMillion, 4096) : SizedRows("1e7", 10 * kMillion, 1000));
  if (cuda || with_long) append(LongRows());
  std::set<std::string> have;
  for (const Row& row : rows) have.insert(row.kernel);
  for (const conformance::KernelSuite& suite : conformance::KernelSuites()) {
    if (!have.contains(suite.kernel)) rows.push_back(LargestCase(suite));
  }
  return rows;
}

}  // namespace hotplate::bench
