// What the kernels that make arrays from nothing refuse, and those with parameters for one of their ways alone: by the
// parameter's name, before anything runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/base/status.h"
#include "tests/conformance/launch.h"

namespace hotplate::conformance {
namespace {

using Params = std::map<std::string, ParamValue>;

struct Refusal {
  const char* kernel;
  Params params;
  const char* field;
  const char* sentence;
};

ParamValue Text(const char* text) { return std::string(text); }
ParamValue Int(std::int64_t value) { return value; }

TEST(MadeArrays, AreRefusedByTheParametersName) {
  const std::map<std::string, Signature> x = {{"x", {DType::kFloat32, {4}}}};
  const Refusal refusals[] = {
      {"full", {}, "params.n", "parameter n is missing"},
      {"full", {{"n", Int(-1)}}, "params.n", "n is -1"},
      {"full", {{"n", Int(std::int64_t{1} << 47)}}, "params.n", "n is 140737488355328"},
      {"full", {{"n", Int(1 << 30)}, {"rows", Int(1 << 30)}}, "outputs.out", "more than the 70368744177664 bytes"},
      {"full", {{"n", Int(3)}, {"batch", Int(2)}}, "params.batch", "batch is 2; it needs rows"},
      {"full", {{"n", Int(3)}, {"value", 2.5}, {"dtype", Text("int64")}}, "params.value", "value is 2.5"},
      {"full", {{"n", Int(3)}, {"value", 2147483648.0}, {"dtype", Text("int32")}}, "params.value", "int32 holds"},
      {"full", {{"n", Int(3)}, {"value", 0x1p63}, {"dtype", Text("int64")}}, "params.value", "int64 holds"},
      {"full", {{"n", Int(3)}, {"dtype", Text("complex64")}}, "params.dtype", "complex64"},
      {"arange", {}, "params.stop", "parameter stop is missing"},
      {"arange", {{"stop", 3.0}, {"step", 0.0}}, "params.step", "must not be 0"},
      {"arange", {{"stop", 1e18}}, "params.stop", "more than the 70368744177664 bytes"},
      {"arange", {{"stop", 1e308}, {"start", -1e308}}, "params.stop", "more than"},
      {"arange", {{"stop", 3.0}, {"step", 0.5}, {"dtype", Text("int32")}}, "params.step", "step is 0.5"},
      {"arange", {{"stop", 3.0}, {"start", 0.5}, {"dtype", Text("int64")}}, "params.start", "start is 0.5"},
      {"arange", {{"stop", 3e9}, {"step", 1e9}, {"dtype", Text("int64")}, {"start", 1e17}}, "params.start", "2^53"},
      {"arange",
       {{"stop", 4e9}, {"step", 1e9}, {"dtype", Text("int32")}},
       "params.stop",
       "3e+09, more than int32 holds"},
      {"arange", {{"stop", 1e40}, {"step", 1e39}, {"dtype", Text("float32")}}, "params.stop", "float32"},
      {"linspace", {{"stop", 1.0}, {"num", Int(-1)}}, "params.num", "num is -1"},
      {"linspace", {{"stop", 1.0}, {"num", Int(std::int64_t{1} << 45)}}, "outputs.out", "more than"},
      {"linspace", {{"stop", 3e9}, {"dtype", Text("int32")}}, "params.stop", "2147483647"},
      {"linspace", {{"stop", 1.0}, {"start", -2147483649.0}, {"dtype", Text("int32")}}, "params.start", "-2147483648"},
      {"linspace", {{"stop", 5e18}, {"dtype", Text("int64")}}, "params.stop", "from -2^62 to 2^62"},
      {"random", {{"n", Int(4)}, {"seed", Int(-2)}}, "params.seed", "seed is -2"},
      {"random", {{"n", Int(4)}, {"distribution", Text("integers")}}, "params.high", "high is 0; it must be above low"},
      {"random", {{"n", Int(4)}, {"low", Int(3)}}, "params.low", "--distribution integers"},
      {"random", {{"n", Int(4)}, {"dtype", Text("int32")}}, "params.dtype", "uniform makes float32 or float64"},
      {"random",
       {{"n", Int(4)}, {"dtype", Text("float32")}, {"distribution", Text("integers")}},
       "params.dtype",
       "integers makes int32 or int64"},
      {"random",
       {{"n", Int(4)}, {"dtype", Text("int32")}, {"distribution", Text("integers")}, {"high", Int(1ll << 32)}},
       "params.high",
       "the largest int32 is 2147483647"},
      {"histogram", {{"bins", Int(0)}}, "params.bins", "bins is 0"},
      {"histogram", {{"low", 1.0}}, "params.low", "--range given"},
      {"histogram", {{"range", Text("given")}, {"low", 2.0}, {"high", 1.0}}, "params.high", "must not be below low, 2"},
      {"histogram",
       {{"range", Text("given")}, {"high", 1e39}},
       "params.high",
       "the edges of the bins are float32, which does not reach so far"},
      {"norm", {{"p", 1.0}}, "params.p", "norm: p is 1.0; it applies only with --ord p; ord is auto"},
      {"norm", {{"p", 1.0}, {"ord", Text("inf")}, {"axis", Text("0")}}, "params.p", "ord is inf"},
      {"reduce",
       {{"ddof", Int(1)}},
       "params.ddof",
       "reduce: ddof is 1; it applies only with --operation std; operation is sum"},
      {"reduce", {{"ddof", Int(1)}, {"operation", Text("mean")}}, "params.ddof", "operation is mean"},
  };
  for (const Refusal& refusal : refusals) {
    const KernelSpec& spec = **BuiltinCatalog().Find(refusal.kernel);
    const auto inputs = spec.inputs().empty() ? std::map<std::string, Signature>{} : x;
    const absl::Status status = spec.Bind(refusal.params, inputs, HOTPLATE_PRECISION_DEFAULT).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refusal.kernel << " " << refusal.sentence;
    const std::vector<FieldViolation> violations = Violations(status);
    ASSERT_EQ(violations.size(), 1u) << refusal.kernel << " " << status;
    EXPECT_EQ(violations[0].field, refusal.field) << status;
    EXPECT_THAT(violations[0].description, testing::HasSubstr(refusal.sentence));
  }
}

// As in NumPy; 10 is an integer and 10.0 is not.
TEST(MadeArrays, HaveTheDTypeThatTheirNumbersHave) {
  const auto dtype = [](const char* kernel, const Params& params) {
    return (*BuiltinCatalog().Find(kernel))->Bind(params, {}, HOTPLATE_PRECISION_DEFAULT)->outputs[0].dtype;
  };
  EXPECT_EQ(dtype("arange", {{"stop", Int(3)}}), DType::kInt64);
  EXPECT_EQ(dtype("arange", {{"stop", 3.0}}), DType::kFloat64);
  EXPECT_EQ(dtype("arange", {{"stop", Int(3)}, {"start", 0.0}}), DType::kFloat64);
  EXPECT_EQ(dtype("arange", {{"stop", Int(3)}, {"step", 1.0}}), DType::kFloat64);
  EXPECT_EQ(dtype("arange", {{"stop", Int(3)}, {"dtype", Text("float32")}}), DType::kFloat32);
  EXPECT_EQ(dtype("full", {{"n", Int(3)}}), DType::kFloat64);
  EXPECT_EQ(dtype("full", {{"n", Int(3)}, {"value", Int(7)}}), DType::kInt64);
  EXPECT_EQ(dtype("full", {{"n", Int(3)}, {"value", 7.0}}), DType::kFloat64);
  EXPECT_EQ(dtype("linspace", {{"stop", Int(3)}}), DType::kFloat64);
}

TEST(Random, DrawsASeedForEachCallThatNamesNone) {
  const auto bind = [](const Params& params) {
    return (*BuiltinCatalog().Find("random"))->Bind(params, {}, HOTPLATE_PRECISION_DEFAULT);
  };
  const auto seed = [&](const Params& params) { return bind(params)->Int("seed"); };
  std::set<std::int64_t> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(seed({{"n", Int(3)}}));
  EXPECT_EQ(drawn.size(), 100u);
  EXPECT_GE(*drawn.begin(), 0);
  EXPECT_LT(*drawn.rbegin(), std::int64_t{1} << 53);
  EXPECT_EQ(seed({{"n", Int(3)}, {"seed", Int(0)}}), 0);
  EXPECT_FALSE(bind({{"n", Int(3)}, {"seed", Int(-1)}}).ok()) << "nobody can give the mark of a call without a seed";
}

TEST(Histogram, EndsWhereTheRangeOfTheDataIsNone) {
  const std::unique_ptr<Device> device = OpenCpuDevice({.lanes = 1, .threads = 2});
  const std::unique_ptr<Lane> lane = *device->OpenLane();
  const auto message = [&](double first, double second, Params params = {}) {
    const Case spoilt{.name = "spoilt", .params = std::move(params), .inputs = [=](std::mt19937_64&) {
                        TestArray x({.dtype = DType::kFloat64, .shape = {50'000}});
                        for (double& element : x.Elements<double>()) element = 1;
                        x.Elements<double>()[49'000] = first, x.Elements<double>()[3] = second;
                        return std::map<std::string, TestArray>{{"x", std::move(x)}};
                      }};
    Launch launch = *Prepare("histogram", spoilt, *device);
    TaskControl control;
    const Outcome outcome = launch.Run(*lane, control).outcome;
    EXPECT_EQ(outcome.code(), outcome.ok() ? HOTPLATE_OK : HOTPLATE_INVALID);
    return std::string(outcome.message());
  };
  EXPECT_THAT(message(std::nan(""), 1), testing::StartsWith("x holds a NaN or an infinity"));
  EXPECT_THAT(message(1, std::nan("")), testing::EndsWith("(--range given --low LOW --high HIGH)"));
  EXPECT_THAT(message(HUGE_VAL, 1), testing::StartsWith("x holds a NaN or an infinity"));
  EXPECT_THAT(message(-1e308, 1e308), testing::HasSubstr("wider than float64 holds"));
  EXPECT_EQ(message(std::nan(""), HUGE_VAL, {{"range", Text("given")}, {"high", 2.0}}), "");
}

}  // namespace
}  // namespace hotplate::conformance
