// What the suite of cases cannot see of reduce and norm: the same bits from any number of threads, and what is refused.
#include "kernels/devices/cpu/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/base/status.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

using testing::HasSubstr;

std::vector<std::byte> ResultWith(int threads, const std::string& kernel, const Case& test_case) {
  const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 1, .threads = threads});
  const std::unique_ptr<Lane> lane = device->OpenLane().value();
  absl::StatusOr<Launch> launch = Prepare(kernel, test_case, *device);
  EXPECT_TRUE(launch.ok()) << launch.status();
  if (!launch.ok()) return {};
  TaskControl control;
  const Report report = launch->Run(*lane, control);
  EXPECT_TRUE(report.outcome.ok()) << report.outcome.message();
  const TestArray& y = launch->outputs.at("y");
  std::vector<std::byte> bytes(y.bytes());
  std::memcpy(bytes.data(), y.data(), y.bytes());
  return bytes;
}

Case Of(DType dtype, const Shape& shape, std::map<std::string, ParamValue> params) {
  return {.name = "threads", .params = std::move(params), .inputs = [=](std::mt19937_64& random) {
            TestArray x({.dtype = dtype, .shape = shape});
            FillUniform(x, -1, 1, random);
            return std::map<std::string, TestArray>{{"x", std::move(x)}};
          }};
}

TEST(Reduction, HasTheSameBitsFromAnyNumberOfThreads) {
  const std::string first = "0";
  const std::pair<std::string, Case> calls[] = {
      {"reduce", Of(DType::kFloat32, {900'001}, {{"operation", std::string("sum")}})},
      {"reduce", Of(DType::kFloat64, {900'001}, {{"operation", std::string("std")}})},
      {"reduce", Of(DType::kFloat32, {1100, 701}, {{"operation", std::string("mean")}, {"axis", first}})},
      {"reduce", Of(DType::kFloat64, {30'011, 13}, {{"operation", std::string("std")}, {"axis", std::string("1")}})},
      {"norm", Of(DType::kFloat64, {900'001}, {{"ord", std::string("2")}})},
      {"norm", Of(DType::kFloat64, {1100, 701}, {{"ord", std::string("p")}, {"axis", first}})},
      {"norm", Of(DType::kFloat64, {1100, 701}, {{"ord", std::string("p")}, {"p", 2.5}, {"axis", first}})},
      {"norm", Of(DType::kFloat64, {400'001}, {{"ord", std::string("p")}, {"p", 0.05}})},
  };
  for (const auto& [kernel, call] : calls) {
    const std::vector<std::byte> one = ResultWith(1, kernel, call);
    EXPECT_FALSE(one.empty());
    for (const int threads : {2, 3, 7}) EXPECT_EQ(ResultWith(threads, kernel, call), one) << kernel << " " << threads;
  }
}

// Short rows are folded side by side, long ones by themselves; both in groups that need not come out even.
TEST(Reduction, FoldsEachShortRowByItself) {
  for (const std::int64_t count : {1, 2, 13, 63, 64, 65}) {
    constexpr std::int64_t kRows = 101;
    const auto inputs = [=](std::mt19937_64&) {
      TestArray x({.dtype = DType::kFloat64, .shape = {kRows, count}});
      for (std::size_t i = 0; i < x.size(); ++i) x.Elements<double>()[i] = static_cast<double>(i * i % 1009);
      return std::map<std::string, TestArray>{{"x", std::move(x)}};
    };
    const auto result = [&](const char* operation) {
      return ResultWith(2, "reduce",
                        {.name = "short_rows",
                         .params = {{"operation", std::string(operation)}, {"axis", std::string("1")}},
                         .inputs = inputs});
    };
    const std::vector<std::byte> sums = result("sum"), places = result("argmax");
    ASSERT_EQ(sums.size(), kRows * sizeof(double));
    for (std::int64_t row = 0; row < kRows; ++row) {
      double sum = 0, largest = -1, given_sum = 0;
      std::int64_t place = 0, given_place = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(row * count + i);
        const auto element = static_cast<double>(at * at % 1009);
        sum += element;
        if (element > largest) largest = element, place = i;
      }
      std::memcpy(&given_sum, sums.data() + row * 8, 8);
      std::memcpy(&given_place, places.data() + row * 8, 8);
      EXPECT_EQ(given_sum, sum) << "row " << row << " of " << count;
      EXPECT_EQ(given_place, place) << "row " << row << " of " << count;
    }
  }
}

// A step of several, itself of two phases: progress goes on from where the step before it has ended.
TEST(Reduction, KeepsToItsPartOfTheProgress) {
  const std::vector<float> x(400'001, 1);
  const Extent extent{.outer = 1, .count = x.size(), .inner = 1};
  using Fold = folds::Sum<float, double>;
  std::vector<Fold::State> states(reduction::StateBytes(extent, sizeof(Fold::State)) / sizeof(Fold::State));
  ASSERT_GT(states.size(), 1u);
  hotplate_control control{};
  ThreadBudget budget(1, 1);
  CpuContext context(budget, control);
  double sum = 0;
  std::uint32_t when_merged = 0;
  ASSERT_TRUE(reduction::Reduce(
      context, Fold(), x.data(), extent, nullptr, states.data(),
      [&](const Fold::State& state, std::size_t) { sum = state.value, when_merged = control.progress; },
      CpuContext::Part().Step(1, 2)));
  EXPECT_EQ(sum, 400'001);
  EXPECT_GT(when_merged, 900'000u);
  EXPECT_LT(when_merged, 1'000'000u);
  EXPECT_EQ(control.progress, 1'000'000u);
}

// The sentence of a refusal, and the field that it is for.
std::string Refusal(const std::string& kernel, const Shape& shape, const std::map<std::string, ParamValue>& params) {
  const absl::Status status =
      (*BuiltinCatalog().Find(kernel))
          ->Bind(params, {{"x", {.dtype = DType::kFloat32, .shape = shape}}}, HOTPLATE_PRECISION_DEFAULT)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  const std::vector<FieldViolation> violations = Violations(status);
  return violations.empty() ? status.ToString() : violations.front().field + ": " + violations.front().description;
}

TEST(Reduction, RefusesAnAxisThatIsNotThere) {
  EXPECT_EQ(Refusal("reduce", {4, 5}, {{"axis", std::string("2")}}),
            "params.axis: reduce: axis is 2, and the array [4, 5] has no such axis; it must be all or from -2 to 1");
  EXPECT_THAT(Refusal("norm", {4, 5}, {{"axis", std::string("-3")}}), HasSubstr("axis is -3"));
  EXPECT_THAT(Refusal("reduce", {}, {{"axis", std::string("0")}}), HasSubstr("it must be all"));
  EXPECT_THAT(Refusal("norm", {7}, {{"axis", std::string("matrices")}, {"ord", std::string("fro")}}),
              HasSubstr("needs at least 2 dimensions"));
}

TEST(Reduction, RefusesAnExtremeOfNothing) {
  for (const char* operation : {"min", "max", "argmin", "argmax"}) {
    EXPECT_THAT(Refusal("reduce", {0}, {{"operation", std::string(operation)}}),
                HasSubstr("x is [0]; " + std::string(operation) + " needs at least one element"));
  }
  EXPECT_THAT(Refusal("reduce", {3, 0}, {{"operation", std::string("max")}, {"axis", std::string("1")}}),
              HasSubstr("one element along axis 1"));
  EXPECT_THAT(Refusal("norm", {0}, {{"ord", std::string("inf")}}), HasSubstr("norm inf needs at least one element"));
  EXPECT_THAT(Refusal("norm", {4, 0}, {{"ord", std::string("1")}, {"axis", std::string("matrices")}}),
              HasSubstr("norm 1 needs at least one element"));
}

TEST(Reduction, RefusesANormThatVectorsOrMatricesDoNotHave) {
  EXPECT_THAT(Refusal("norm", {4, 5}, {{"ord", std::string("2")}, {"axis", std::string("matrices")}}),
              HasSubstr("params.ord: norm: ord is 2; for a matrix it must be fro, 1, -1, inf or -inf (its 2-norm is"));
  EXPECT_THAT(Refusal("norm", {4, 5}, {{"ord", std::string("p")}}), HasSubstr("ord is p; for a matrix it must be"));
  EXPECT_THAT(Refusal("norm", {4}, {{"ord", std::string("fro")}}), HasSubstr("ord is fro; only matrices"));
  EXPECT_THAT(Refusal("norm", {4}, {{"ord", std::string("-1")}}), HasSubstr("ord is -1; only matrices"));
  EXPECT_THAT(Refusal("norm", {2, 4, 5}, {{"ord", std::string("1")}}), HasSubstr("neither a vector nor a matrix"));
  EXPECT_THAT(Refusal("norm", {}, {{"ord", std::string("2")}}), HasSubstr("neither a vector nor a matrix"));
}

}  // namespace
}  // namespace hotplate::conformance
