// Calls of 2^31 elements and more, without the memory for them: what the specs promise and refuse, and what the CPU's
// plans count.
#include "tests/conformance/large_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/base/status.h"
#include "kernels/devices/device.h"

namespace hotplate::conformance {
namespace {

using testing::HasSubstr;

constexpr double kGiB = 1 << 30;

absl::StatusOr<BoundCall> Bound(const LargeCall& one) {
  return (*BuiltinCatalog().Find(one.kernel))->Bind(one.params, one.inputs, HOTPLATE_PRECISION_DEFAULT);
}

TEST(LargeCalls, AreOfEveryKernelThatTakesThem) {
  std::set<std::string> kernels = {"integrate2d", "transfer_probe"};
  for (const LargeCall& one : LargeCalls()) kernels.insert(one.kernel);
  for (const SharedSpec& spec : BuiltinCatalog().specs()) EXPECT_EQ(kernels.count(spec->name()), 1u) << spec->name();
  EXPECT_EQ(kernels.size(), BuiltinCatalog().specs().size());
}

TEST(LargeCalls, AreTakenAndCounted) {
  const std::unique_ptr<Device> cpu = OpenCpuDevice({});
  for (const LargeCall& one : LargeCalls()) {
    SCOPED_TRACE(one.kernel);
    const absl::StatusOr<BoundCall> call = Bound(one);
    ASSERT_TRUE(call.ok()) << call.status();
    EXPECT_EQ(call->outputs.front().shape, one.output);
    const double moved = static_cast<double>(call->InputBytes() + call->OutputBytes());
    EXPECT_GT(moved, 8 * kGiB);
    const Cost cost = call->spec->CostOf(*call);
    EXPECT_GE(cost.bytes, moved / 5) << "groupby_sum does not count what it may write";
    EXPECT_LE(cost.bytes, 2 * moved);
    EXPECT_GE(call->spec->WorkBoundOf(*call).value_or(1e9), 1e9);
    const absl::StatusOr<MemoryPlan> plan = cpu->Plan(*call);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_GE(plan->scratch_bytes, one.cpu_scratch);
    EXPECT_LE(static_cast<double>(plan->scratch_bytes), 4 * static_cast<double>(one.cpu_scratch) + kGiB);
  }
}

std::string SaidOf(const char* kernel, const std::map<std::string, Signature>& inputs,
                   const std::map<std::string, ParamValue>& params = {}) {
  return (*BuiltinCatalog().Find(kernel))->Bind(params, inputs, HOTPLATE_PRECISION_DEFAULT).status().ToString();
}

// What an index of int32 does not reach.
TEST(LargeCalls, OfSparseMatricesNeedIndicesThatReachThem) {
  constexpr std::int64_t kMost = 2'147'483'647;
  const auto graph = [](DType index, std::int64_t edges, std::int64_t nodes) {
    return std::map<std::string, Signature>{{"indices", {index, {edges}}}, {"indptr", {index, {nodes + 1}}}};
  };
  const auto matrix = [&](DType index, std::int64_t entries, std::int64_t rows) {
    std::map<std::string, Signature> inputs = graph(index, entries, rows);
    inputs["data"] = {DType::kFloat32, {entries}};
    inputs["x"] = {DType::kFloat32, {10}};
    return inputs;
  };
  const std::string too_many = "indices is int32 [2147483648]; an int32 indptr can count at most 2147483647 entries";
  EXPECT_EQ(SaidOf("spmv", matrix(DType::kInt32, kMost, kMost + 1)), "OK") << "rows are not numbered";
  EXPECT_THAT(SaidOf("spmv", matrix(DType::kInt32, kMost + 1, 10)), HasSubstr("spmv: " + too_many));
  EXPECT_EQ(SaidOf("spmv", matrix(DType::kInt64, kMost + 1, 10)), "OK");
  EXPECT_EQ(SaidOf("pagerank", graph(DType::kInt32, kMost, kMost)), "OK");
  EXPECT_THAT(SaidOf("pagerank", graph(DType::kInt32, kMost + 1, 10)), HasSubstr("pagerank: " + too_many));
  EXPECT_THAT(SaidOf("pagerank", graph(DType::kInt32, 10, kMost + 1)),
              HasSubstr("indptr is int32 [2147483649]; int32 can number at most 2147483647 nodes"));
  EXPECT_EQ(SaidOf("pagerank", graph(DType::kInt64, 10, kMost + 1)), "OK");
}

// An array without elements may have any number of rows, and norm has a sum of each: of 2^61 the bytes are 0 modulo
// 2^64.
TEST(LargeCalls, OfNoElementsHaveNoMoreRowsThanAnArray) {
  const std::map<std::string, ParamValue> rows = {{"axis", std::string("matrices")}, {"ord", std::string("inf")}},
                                          columns = {{"axis", std::string("matrices")}, {"ord", std::string("1")}};
  const std::int64_t wraps = std::int64_t{1} << 61, most = std::int64_t{1} << 43;
  for (const std::int64_t many : {wraps, wraps + 1, most + 1}) {
    EXPECT_THAT(SaidOf("norm", {{"x", {DType::kFloat64, {many, 0}}}}, rows),
                HasSubstr("whose " + std::to_string(many) + " rows or columns have no elements; there may be at most " +
                          std::to_string(most)));
    EXPECT_THAT(SaidOf("norm", {{"x", {DType::kFloat64, {0, many}}}}, columns), HasSubstr("rows or columns have no"));
  }
  EXPECT_EQ(SaidOf("norm", {{"x", {DType::kFloat64, {most, 0}}}}, rows), "OK");
}

}  // namespace
}  // namespace hotplate::conformance
