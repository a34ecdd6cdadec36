#include "server/core/sweeps/sweep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "server/core/sweeps/missing_value.h"

namespace hotplate::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SweepAxis Range(const std::string& name, std::int64_t first, std::int64_t step, std::uint64_t count) {
  return {name, SweepRange{first, step, count}};
}
SweepAxis List(const std::string& name, std::vector<ParamValue> values) { return {name, std::move(values)}; }

SweepPlan::Parts Grid(std::vector<SweepAxis> axes) {
  SweepPlan::Parts parts;
  parts.axes = std::move(axes);
  return parts;
}
SweepPlan::Parts Table(std::vector<SweepAxis> axes) {
  SweepPlan::Parts parts = Grid(std::move(axes));
  parts.is_table = true;
  return parts;
}
SweepPlan::Parts Only(std::vector<TaskRange> only, SweepPlan::Parts parts) {
  parts.only = std::move(only);
  return parts;
}
std::shared_ptr<const SweepPlan> Plan(SweepPlan::Parts parts) {
  auto plan = SweepPlan::Make(std::move(parts));
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *plan : nullptr;
}
std::string Refusal(SweepPlan::Parts parts) {
  const auto plan = SweepPlan::Make(std::move(parts));
  EXPECT_TRUE(absl::IsInvalidArgument(plan.status())) << plan.status();
  return std::string(plan.status().message());
}
std::string TaskIn(const SweepPlan& plan, std::uint64_t task) { return TaskText(task, plan.ValuesOf(task)); }

TEST(SweepPlanTest, TheLastAxisVariesFastest) {
  const auto plan = Plan(Grid({Range("n", 1, 1, 3), List("mode", {std::string("a"), std::string("b")})}));
  EXPECT_EQ(plan->rows(), 6u);
  EXPECT_EQ(TaskIn(*plan, 0), "task 0 (n=1, mode=\"a\")");
  EXPECT_EQ(TaskIn(*plan, 1), "task 1 (n=1, mode=\"b\")");
  EXPECT_EQ(TaskIn(*plan, 2), "task 2 (n=2, mode=\"a\")");
  EXPECT_EQ(TaskIn(*plan, 5), "task 5 (n=3, mode=\"b\")");
  EXPECT_THAT(plan->Words(), ElementsAre("n=1..3", "mode=2 values"));
}

TEST(SweepPlanTest, ATableHasARowATask) {
  const auto plan = Plan(Table({Range("n", 10, -5, 3), List("x", {0.5, std::int64_t{2}, true})}));
  EXPECT_EQ(plan->rows(), 3u);
  EXPECT_EQ(TaskIn(*plan, 0), "task 0 (n=10, x=0.5)");
  EXPECT_EQ(TaskIn(*plan, 1), "task 1 (n=5, x=2)");
  EXPECT_EQ(TaskIn(*plan, 2), "task 2 (n=0, x=true)");
  EXPECT_THAT(Refusal(Table({Range("n", 1, 1, 3), Range("m", 1, 1, 4)})), HasSubstr("n has 3 values, m has 4"));
}

TEST(SweepPlanTest, FloatsAreEvenlySpaced) {
  const auto plan = Plan(Grid({{"x", SweepRange{0.0, 0.25, 5}}}));
  EXPECT_EQ(std::get<double>(plan->ValuesOf(4)[0].second), 1.0);
  EXPECT_THAT(plan->Words(), ElementsAre("x=0..1:0.25"));
  const auto mixed = Plan(Grid({{"x", SweepRange{std::int64_t{0}, 0.5, 3}}}));
  EXPECT_EQ(std::get<double>(mixed->ValuesOf(2)[0].second), 1.0);
}

TEST(SweepPlanTest, SomeOfTheTasksKeepTheirNumbers) {
  const auto plan = Plan(Only({{3, 2}, {10, 1}, {98, 2}}, Grid({Range("n", 0, 1, 100)})));
  EXPECT_EQ(plan->rows(), 5u);
  std::vector<std::uint64_t> tasks;
  for (std::uint64_t row = 0; row < plan->rows(); ++row) tasks.push_back(plan->TaskOf(row));
  EXPECT_THAT(tasks, ElementsAre(3, 4, 10, 98, 99));
  for (const std::vector<TaskRange>& wrong : {std::vector<TaskRange>{{3, 2}, {4, 1}},
                                              {{99, 2}},
                                              {{100, 1}},
                                              {{5, 0}},
                                              {{1, std::numeric_limits<std::uint64_t>::max()}}}) {
    EXPECT_THAT(Refusal(Only(wrong, Grid({Range("n", 0, 1, 100)}))), HasSubstr("only: "));
  }
}

TEST(SweepPlanTest, WhatIsNoSweepIsRefusedWithItsValue) {
  EXPECT_THAT(Refusal({}), HasSubstr("no parameter"));
  EXPECT_THAT(Refusal(Grid({Range("n", 1, 1, 0)})), HasSubstr("n has no values: the sweep has 0 tasks"));
  EXPECT_THAT(Refusal(Grid({List("n", {})})), HasSubstr("0 tasks"));
  EXPECT_THAT(Refusal(Grid({Range("n", 1, 0, 2)})), HasSubstr("its step is 0"));
  EXPECT_THAT(Refusal(Grid({Range("n", 1, 1, 2), Range("n", 1, 1, 2)})), HasSubstr("n is swept twice"));
  EXPECT_THAT(Refusal(Grid({Range("n", 1, 1, 1'000'000'000)})), HasSubstr("has 1000000000 tasks; at most 1000000 "));
  EXPECT_THAT(Refusal(Grid({Range("n", 1, 1, 1001), Range("m", 1, 1, 1000)})), HasSubstr("has 1001000 tasks"));
  EXPECT_THAT(Refusal(Grid({Range("a", 1, 1, std::uint64_t{1} << 40), Range("b", 1, 1, std::uint64_t{1} << 40)})),
              HasSubstr("at most 1000000"));
  EXPECT_THAT(Refusal(Grid({Range("n", std::numeric_limits<std::int64_t>::max(), 1, 2)})),
              HasSubstr("leave the whole numbers of 64 bits"));
  EXPECT_THAT(Refusal(Grid({{"x", SweepRange{std::numeric_limits<double>::infinity(), 1.0, 2}}})),
              HasSubstr("have to be finite"));
  SweepPlan::Parts retried = Grid({Range("n", 1, 1, 2)});
  retried.retries = 101;
  EXPECT_THAT(Refusal(retried), HasSubstr("retries is 101; at most 100"));
  EXPECT_EQ(Plan(Grid({Range("n", 1, 1, 1'000'000)}))->rows(), kMostTasks);
}

TEST(MissingValueTest, IsNaNWhereTheDtypeHasOne) {
  std::array<std::byte, 16> bytes{};
  bytes.fill(std::byte{7});
  FillMissing(DType::kFloat64, bytes);
  double doubles[2];
  std::memcpy(doubles, bytes.data(), sizeof(doubles));
  EXPECT_TRUE(std::isnan(doubles[0]) && std::isnan(doubles[1]));
  FillMissing(DType::kComplex64, bytes);
  float floats[4];
  std::memcpy(floats, bytes.data(), sizeof(floats));
  for (const float one : floats) EXPECT_TRUE(std::isnan(one));
  FillMissing(DType::kBFloat16, bytes);
  std::uint16_t halves[8];
  std::memcpy(halves, bytes.data(), sizeof(halves));
  // A bfloat16 is the upper half of a float.
  for (const std::uint16_t one : halves) EXPECT_TRUE(std::isnan(std::bit_cast<float>(std::uint32_t{one} << 16)));
  FillMissing(DType::kInt32, bytes);
  for (const std::byte one : bytes) EXPECT_EQ(one, std::byte{0});
  FillMissing(DType::kInt32, {});
}

}  // namespace
}  // namespace hotplate::core
