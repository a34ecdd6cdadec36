#include "tests/conformance/large_calls.h"

namespace hotplate::conformance {
namespace {

constexpr DType kInt32 = DType::kInt32, kInt64 = DType::kInt64, kFloat32 = DType::kFloat32, kFloat64 = DType::kFloat64;
constexpr std::uint64_t kMany = kManyElements;

ParamValue Chosen(const char* text) { return std::string(text); }
ParamValue Integer(std::int64_t number) { return number; }

std::map<std::string, Signature> OneX(DType dtype) { return {{"x", {dtype, {kManyElements}}}}; }

}  // namespace

std::vector<LargeCall> LargeCalls() {
  const Shape many = {kManyElements}, square = {kLongSide, kLongSide};
  constexpr std::int64_t kRows = 1 << 20;
  return {
      {"arange", {{"stop", static_cast<double>(kManyElements)}}, {}, many, 0, 0},
      // A key above its index, twice; on a GPU keys and indices twice.
      {"argsort", {}, OneX(kFloat32), many, 2 * kMany * 8, kMany * (2 * 4 + 2 * 4)},
      {"batched_matvec", {}, {{"a", {kFloat32, {kRows, 64, 64}}}, {"x", {kFloat32, {kRows, 64}}}}, {kRows, 64}, 0, 0},
      {"cholesky", {}, {{"a", {kFloat32, {50'000, 50'000}}}}, {50'000, 50'000}, 0, 50'000 * 4},
      // A matrix's vectors as LAPACK gives them; on a GPU it is refused.
      {"eig", {}, {{"a", {kFloat32, {4, 30'000, 30'000}}}}, {4, 30'000}, std::uint64_t{30'000} * 30'000 * 4, 0},
      // LAPACK's 2 n^2; a copy of a matrix and as much on a GPU.
      {"eigh",
       {},
       {{"a", {kFloat32, {4, 30'000, 30'000}}}},
       {4, 30'000},
       std::uint64_t{2} * 30'000 * 30'000 * 4,
       std::uint64_t{3} * 30'000 * 30'000 * 4},
      {"fft",
       {{"transform", Chosen("irfft")}, {"axes", Integer(2)}},
       {{"x", {DType::kComplex64, {kRows, 64, 33}}}},
       {kRows, 64, 64},
       std::uint64_t{kRows} * 64 * 33 * 8,
       std::uint64_t{kRows} * 64 * 33 * 8},
      {"full", {{"n", Integer(kManyElements)}}, {}, many, 0, 0},
      // A number of 64 bits to each key, twice; on a GPU keys and indices twice, first rows and sums.
      {"groupby_sum",
       {},
       {{"keys", {kInt32, many}}, {"values", {kFloat32, many}}},
       many,
       2 * kMany * 8,
       kMany * (2 * 4 + 2 * 4 + 4 + 8)},
      {"histogram", {}, OneX(kFloat32), {10}, 0, 0},
      {"kmeans", {}, {{"points", {kFloat32, {kManyElements, 2}}}, {"initial", {kFloat32, {8, 2}}}}, {8, 2}, 0, 0},
      {"linspace", {{"stop", 1.0}, {"num", Integer(kManyElements)}}, {}, many, 0, 0},
      {"mandelbrot", {{"resolution", Integer(65'536)}}, {}, {65'536, 65'536}, 0, 0},
      {"matmul", {}, {{"a", {kFloat32, {kLongSide, 8}}}, {"b", {kFloat32, {8, kLongSide}}}}, square, 0, 0},
      // One count for each block of some thousand elements.
      {"flatnonzero", {}, OneX(kFloat32), many, 0, 0},
      // Each row's sum.
      {"norm",
       {{"ord", Chosen("inf")}, {"axis", Chosen("matrices")}},
       {{"x", {kFloat32, {kManyElements, 2}}}},
       {},
       kMany * 8,
       kMany * 8},
      {"pagerank",
       {},
       {{"indices", {kInt64, many}}, {"indptr", {kInt64, {kManyElements + 1}}}},
       many,
       kMany * (8 + 8 + 8),
       kMany * (8 + 8)},
      {"power_sum", {}, OneX(kFloat64), many, 0, 0},
      // A copy of a; on a GPU it is refused.
      {"qr", {}, {{"a", {kFloat32, {1'000'000, 3000}}}}, {1'000'000, 3000}, std::uint64_t{1'000'000} * 3000 * 4, 0},
      {"random", {{"n", Integer(kManyElements)}}, {}, many, 0, 0},
      {"reduce", {{"operation", Chosen("argmax")}}, OneX(kFloat32), {}, 0, 0},
      {"scan", {}, OneX(kFloat32), many, 0, kMany / 256 * 8},
      {"searchsorted", {}, {{"v", {kFloat32, {1000}}}, {"x", {kFloat32, many}}}, many, 0, 0},
      {"selu", {}, OneX(kFloat32), many, 0, 0},
      {"slogdet", {}, {{"a", {kFloat64, {50'000, 50'000}}}}, {}, std::uint64_t{50'000} * 50'000 * 8, 0},
      {"solve",
       {},
       {{"a", {kFloat64, {50'000, 50'000}}}, {"b", {kFloat64, {50'000}}}},
       {50'000},
       std::uint64_t{50'000} * 50'000 * 8,
       std::uint64_t{50'000} * 50'000 * 8},
      {"sort", {}, OneX(kInt32), many, kMany * 4, kMany * 4},
      {"sort_by_key",
       {},
       {{"keys", {kInt64, many}}, {"values", {kInt32, many}}},
       many,
       2 * kMany * 16,
       kMany * (2 * 8 + 2 * 4)},
      {"spmv",
       {},
       {{"data", {kFloat32, many}},
        {"indices", {kInt64, many}},
        {"indptr", {kInt64, {kManyElements + 1}}},
        {"x", {kFloat32, {1000}}}},
       many,
       0,
       0},
      {"svd",
       {{"compute", Chosen("thin")}},
       {{"a", {kFloat32, {1'000'000, 3000}}}},
       {1'000'000, 3000},
       std::uint64_t{2} * 1'000'000 * 3000 * 4,
       std::uint64_t{2} * 1'000'000 * 3000 * 4},
      {"trig_identity", {}, OneX(kFloat32), many, 0, 0},
      {"vector_add", {}, {{"a", {kInt32, {kLongSide, 1}}}, {"b", {kInt32, {1, kLongSide}}}}, square, 0, 0},
  };
}

}  // namespace hotplate::conformance
