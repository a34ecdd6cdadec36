// What each kernel's cost model says of one call, beside what was counted by hand: receipts' GFLOP/s and GB/s, and the
// shares of a device's rates, come from nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/spec/spec.h"

namespace hotplate::conformance {
namespace {

using Params = std::map<std::string, ParamValue>;
using Inputs = std::map<std::string, Signature>;

struct CostRow {
  const char* kernel;
  Params params;
  Inputs inputs;
  double flop, bytes;
};

constexpr DType kInt32 = DType::kInt32, kInt64 = DType::kInt64;
constexpr DType kFloat32 = DType::kFloat32, kFloat64 = DType::kFloat64, kComplex64 = DType::kComplex64;

ParamValue Chosen(const char* text) { return std::string(text); }
ParamValue Integer(std::int64_t number) { return number; }

std::vector<CostRow> CostRows() {
  return {
      // 10 elements, each a product and a sum, written.
      {"arange", {{"stop", 10.0}, {"dtype", Chosen("float32")}}, {}, 2 * 10, 10 * 4},
      {"argsort", {}, {{"x", {DType::kInt8, {2, 5}}}}, 0, 10 * (1 + 8)},
      // Four vectors of 3 by one 5 by 3 matrix, which is read once; and by a matrix for each.
      {"batched_matvec", {}, {{"a", {kFloat32, {5, 3}}}, {"x", {kFloat32, {4, 3}}}}, 4 * 30, (15 + 12 + 20) * 4},
      {"batched_matvec", {}, {{"a", {kFloat64, {4, 5, 3}}}, {"x", {kFloat64, {4, 3}}}}, 4 * 30, (60 + 12 + 20) * 8},
      {"cholesky", {}, {{"a", {kFloat64, {2, 6, 6}}}}, 2 * 72, 2 * (36 + 36) * 8},
      {"eig", {}, {{"a", {kFloat32, {2, 6, 6}}}}, 2 * 79 * 72, 2 * (36 * 4 + (6 + 36) * 8)},
      {"eig", {{"compute", Chosen("values")}}, {{"a", {kComplex64, {6, 6}}}}, 4 * 10 * 216, (36 + 6) * 8},
      {"eigh", {}, {{"a", {kFloat32, {2, 6, 6}}}}, 2 * 9 * 216, 2 * (36 + 36 + 6) * 4},
      {"eigh", {{"compute", Chosen("values")}}, {{"a", {kFloat64, {6, 6}}}}, 288, (36 + 6) * 8},
      // Three transforms of 8 points; one of real numbers, which has 5 points in its result.
      {"fft", {}, {{"x", {kComplex64, {3, 8}}}}, 3 * 5 * 8 * 3, 3 * (8 + 8) * 8},
      {"fft", {{"transform", Chosen("rfft")}}, {{"x", {kFloat64, {8}}}}, 2.5 * 8 * 3, 8 * 8 + 5 * 16},
      {"full", {{"n", Integer(7)}, {"rows", Integer(3)}, {"dtype", Chosen("int32")}}, {}, 0, 21 * 4},
      {"groupby_sum", {}, {{"keys", {kInt32, {9}}}, {"values", {kFloat64, {9}}}}, 9, 9 * (4 + 8)},
      // x twice for its range, once where that is given; 10 counts and 11 edges.
      {"histogram", {}, {{"x", {kFloat32, {100}}}}, 400, 2 * 400 + 10 * 8 + 11 * 4},
      {"histogram",
       {{"range", Chosen("given")}, {"high", 1.0}},
       {{"x", {kFloat64, {100}}}},
       400,
       800 + 10 * 8 + 11 * 8},
      {"integrate2d", {{"n", Integer(100)}}, {}, 17 * 100 * 100, 2 * 8},
      // 5 points of 3, 2 centroids: those read and written, labels, inertia and the number of iterations.
      {"kmeans",
       {},
       {{"points", {kFloat32, {5, 3}}}, {"initial", {kFloat32, {2, 3}}}},
       0,
       (15 + 6 + 6) * 4 + 5 * 4 + 8 + 8},
      {"linspace", {{"stop", 1.0}, {"num", Integer(11)}}, {}, 22, 11 * 8},
      {"mandelbrot", {{"resolution", Integer(20)}}, {}, 0, 20 * 20 * 4},
      // Six products of 2 by 3 and 3 by 4; a's matrices are 2, b's 3.
      {"matmul",
       {},
       {{"a", {kFloat32, {2, 1, 2, 3}}}, {"b", {kFloat32, {3, 3, 4}}}},
       6 * 2 * 2 * 3 * 4,
       (2 * 6 + 3 * 12 + 6 * 8) * 4},
      {"matmul", {}, {{"a", {kComplex64, {2, 3}}}, {"b", {kComplex64, {3, 4}}}}, 8 * 2 * 3 * 4, (6 + 12 + 8) * 8},
      {"flatnonzero", {}, {{"x", {kFloat32, {4, 5}}}}, 0, 20 * 4},
      {"norm", {}, {{"x", {kFloat64, {10}}}}, 20, 80 + 8},
      {"norm", {{"ord", Chosen("p")}}, {{"x", {kFloat64, {10}}}}, 500, 2 * 80 + 8},
      {"norm", {{"ord", Chosen("p")}, {"p", 0.05}}, {{"x", {kFloat64, {10}}}}, 500, 80 + 8},
      // A cycle of three nodes.
      {"pagerank", {}, {{"indices", {kInt32, {3}}}, {"indptr", {kInt32, {4}}}}, 0, (3 + 4) * 4 + 3 * 8 + 8},
      {"power_sum", {}, {{"x", {kInt32, {6}}}}, 24, 2 * 24},
      // m 5, n 3, k 3: the factors 2 * 45 - 8 * 9 + 18, three columns of q 2 * 45 - 18, two more 4 * 15 * 2.
      {"qr", {}, {{"a", {kFloat64, {2, 5, 3}}}}, 2 * (36 + 72), 2 * (15 + 15 + 9) * 8},
      {"qr", {{"mode", Chosen("complete")}}, {{"a", {kFloat32, {5, 3}}}}, 36 + 72 + 120, (15 + 25 + 15) * 4},
      {"random", {{"n", Integer(12)}, {"distribution", Chosen("normal")}}, {}, 360, 12 * 8},
      {"random", {{"n", Integer(12)}, {"dtype", Chosen("float32")}}, {}, 0, 12 * 4},
      {"reduce", {}, {{"x", {kFloat32, {30}}}}, 30, 30 * 4 + 4},
      {"reduce", {{"operation", Chosen("std")}}, {{"x", {kFloat64, {30}}}}, 4 * 30, 2 * 30 * 8 + 8},
      {"scan", {}, {{"x", {kFloat32, {30}}}}, 30, 2 * 30 * 4},
      {"scan",
       {{"operation", Chosen("prod")}, {"axis", Chosen("0")}, {"include_initial", true}},
       {{"x", {kComplex64, {3, 2}}}},
       36,
       (6 + 8) * 8},
      {"searchsorted", {}, {{"v", {kInt32, {7}}}, {"x", {kInt32, {2, 3}}}}, 0, (7 + 6) * 4 + 6 * 8},
      // Integers become float64.
      {"selu", {}, {{"x", {kInt32, {5}}}}, 100, 5 * (4 + 8)},
      {"slogdet", {}, {{"a", {kFloat32, {2, 3, 3}}}}, 2 * 18, (18 + 4) * 4},
      // One matrix for two systems of two right-hand sides.
      {"solve", {}, {{"a", {kFloat64, {3, 3}}}, {"b", {kFloat64, {2, 3, 2}}}}, 18 + 2 * 36, (9 + 12 + 12) * 8},
      {"sort", {}, {{"x", {kInt64, {2, 5}}}}, 0, 2 * 10 * 8},
      {"sort_by_key", {}, {{"keys", {kInt32, {10}}}, {"values", {kFloat64, {10}}}}, 0, 2 * 10 * (4 + 8)},
      // 3 by 4 with 5 entries.
      {"spmv",
       {},
       {{"data", {kFloat32, {5}}}, {"indices", {kInt32, {5}}}, {"indptr", {kInt32, {4}}}, {"x", {kFloat32, {4}}}},
       10,
       (5 + 5 + 4 + 4 + 3) * 4},
      // 4 by 3; what is longer does not matter.
      {"svd", {{"compute", Chosen("thin")}}, {{"a", {kFloat32, {3, 4}}}}, 14 * 4 * 9 + 8 * 27, (12 + 9 + 3 + 12) * 4},
      {"svd", {}, {{"a", {kFloat64, {4, 3}}}}, 4 * 16 * 3 + 22 * 27, (12 + 16 + 3 + 9) * 8},
      {"svd", {{"compute", Chosen("values")}}, {{"a", {kFloat64, {4, 3}}}}, 4 * 4 * 9 - 36, (12 + 3) * 8},
      // Seven passes, each byte read and written, in one direction and in all three.
      {"transfer_probe", {{"bytes", Integer(4096)}, {"direction", Chosen("host_to_device")}}, {}, 0, 14 * 4096},
      {"transfer_probe", {{"bytes", Integer(4096)}}, {}, 0, 3 * 14 * 4096},
      {"trig_identity", {}, {{"x", {kFloat32, {5}}}}, 165, 5 * (4 + 4)},
      {"vector_add", {}, {{"a", {kInt64, {3, 1}}}, {"b", {kInt64, {4}}}}, 12, (3 + 4 + 12) * 8},
  };
}

TEST(CostModels, SayWhatWasCountedByHand) {
  for (const CostRow& row : CostRows()) {
    SCOPED_TRACE(row.kernel);
    const absl::StatusOr<SharedSpec> spec = BuiltinCatalog().Find(row.kernel);
    ASSERT_TRUE(spec.ok()) << spec.status();
    const absl::StatusOr<BoundCall> call = (*spec)->Bind(row.params, row.inputs, HOTPLATE_PRECISION_DEFAULT);
    ASSERT_TRUE(call.ok()) << call.status();
    const Cost cost = (*spec)->CostOf(*call);
    EXPECT_DOUBLE_EQ(cost.flop, row.flop);
    EXPECT_DOUBLE_EQ(cost.bytes, row.bytes);
  }
}

TEST(CostModels, EachHasARowHere) {
  std::set<std::string> rows, kernels;
  for (const CostRow& row : CostRows()) rows.insert(row.kernel);
  for (const SharedSpec& spec : BuiltinCatalog().specs()) kernels.insert(spec->name());
  EXPECT_THAT(rows, testing::ContainerEq(kernels));
}

}  // namespace
}  // namespace hotplate::conformance
