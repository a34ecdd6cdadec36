// Parameters and precision: what is accepted as what, and what a refusal says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "tests/unit/kernels/bind_expectations.h"

namespace hotplate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kBeyondFloat64 = (std::int64_t{1} << 53) + 1;

ParamSpec Param(const std::string& name, ParamType type, std::optional<ParamValue> value, std::optional<double> minimum,
                std::optional<double> maximum) {
  return {.name = name,
          .type = type,
          .default_value = std::move(value),
          .minimum = minimum,
          .maximum = maximum,
          .choices = {},
          .docs = ""};
}

// Every type of parameter, with and without bounds; "n" must be given.
const KernelSpec& Spec() {
  static const KernelSpec& spec = *new KernelSpec([] {
    ParamSpec variant = Param("variant", ParamType::kChoice, std::string("fast"), {}, {});
    variant.choices = {"naive", "shared", "fast"};
    return KernelSpecBuilder("probe", "")
        .Param(Param("n", ParamType::kInt, {}, 1, 100))
        .Param(Param("any", ParamType::kInt, std::int64_t{5}, {}, {}))
        .Param(Param("alpha", ParamType::kFloat, 1.5, {}, {}))
        .Param(Param("share", ParamType::kFloat, 0.5, 0, 1))
        .Param(Param("floor", ParamType::kFloat, 0.0, -1e6, {}))
        .Param(Param("roof", ParamType::kInt, std::int64_t{0}, {}, 7))
        .Param(Param("flip", ParamType::kBool, false, {}, {}))
        .Param(variant)
        .Output("o", "float32", "n")
        .Build()
        .value();
  }());
  return spec;
}

absl::StatusOr<BoundCall> Bind(std::map<std::string, ParamValue> params) {
  params.try_emplace("n", std::int64_t{3});
  return Spec().Bind(params, {}, HOTPLATE_PRECISION_DEFAULT);
}

TEST(BindParamsTest, AChoiceDeterminesAnOutputsType) {
  ParamSpec dtype = Param("dtype", ParamType::kChoice, std::string("int64"), {}, {});
  dtype.choices = {"float32", "int64"};
  const auto builder = [&] { return KernelSpecBuilder("made", "").Param(dtype).Output("o", "dtype", "3"); };
  const auto output = [](const KernelSpec& spec, const std::map<std::string, ParamValue>& params) {
    const auto call = spec.Bind(params, {}, HOTPLATE_PRECISION_DEFAULT);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? call->outputs.at(0) : Signature();
  };
  const KernelSpec spec = builder().Build().value();
  EXPECT_EQ(output(spec, {}), (Signature{DType::kInt64, {3}}));
  EXPECT_EQ(output(spec, {{"dtype", std::string("float32")}}), (Signature{DType::kFloat32, {3}}));
  dtype.choices.push_back("auto");
  const KernelSpec own = builder()
                             .Shapes([](BoundCall& call) {
                               if (call.Choice("dtype") == "auto") call.outputs[0].dtype = DType::kInt8;
                               return absl::OkStatus();
                             })
                             .Build()
                             .value();
  EXPECT_EQ(output(own, {{"dtype", std::string("auto")}}).dtype, DType::kInt8);
  EXPECT_EQ(output(own, {{"dtype", std::string("float32")}}).dtype, DType::kFloat32);
}

TEST(BindParamsTest, DefaultsFillWhatIsNotGiven) {
  const auto call = Bind({});
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->spec, &Spec());
  EXPECT_EQ(call->Int("n"), 3);
  EXPECT_EQ(call->Int("any"), 5);
  EXPECT_EQ(call->Float("alpha"), 1.5);
  EXPECT_FALSE(call->Bool("flip"));
  EXPECT_EQ(call->Choice("variant"), "fast");
  EXPECT_THAT(call->outputs, ElementsAre(Signature{DType::kFloat32, {3}}));
}

TEST(BindParamsTest, GivenValuesCountAndBoundsAreInclusive) {
  for (const std::int64_t n : {1, 100}) {
    const auto call = Bind({{"n", n}, {"share", 1.0}, {"flip", true}, {"variant", std::string("naive")}});
    ASSERT_TRUE(call.ok()) << call.status();
    EXPECT_EQ(call->Int("n"), n);
    EXPECT_EQ(call->Float("share"), 1.0);
    EXPECT_TRUE(call->Bool("flip"));
    EXPECT_EQ(call->Choice("variant"), "naive");
  }
}

TEST(BindParamsTest, AnIntegerBecomesAFloatWhereItIsExact) {
  const auto call = Bind({{"alpha", std::int64_t{-2}}});
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->Float("alpha"), -2.0);
  EXPECT_EQ(call->Param("alpha"), ParamValue(std::int64_t{-2})) << "it is known that it was one";
  EXPECT_THAT(Complaints(Bind({{"alpha", kBeyondFloat64}})),
              ElementsAre("params.alpha | probe: alpha is 9007199254740993, an integer that a float64 cannot hold "
                          "exactly; write it as 9007199254740992.0"));
  EXPECT_THAT(Complaints(Bind({{"alpha", std::numeric_limits<std::int64_t>::max()}})),
              ElementsAre(HasSubstr("exactly")));
}

TEST(BindParamsTest, WrongValuesAreNamedWithWhatIsExpected) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const struct {
    std::string name;
    ParamValue value;
    std::string complaint;
  } cases[] = {
      {"n", std::int64_t{0}, "n is 0; it must be an integer from 1 to 100"},
      {"n", std::int64_t{101}, "n is 101; it must be an integer from 1 to 100"},
      {"n", std::numeric_limits<std::int64_t>::max(), "n is 9223372036854775807; it must be an integer from 1 to 100"},
      {"n", 3.0, "n is 3.0; it must be an integer from 1 to 100"},
      {"n", true, "n is true; it must be an integer from 1 to 100"},
      {"n", std::string("3"), "n is \"3\"; it must be an integer from 1 to 100"},
      {"any", nan, "any is nan; it must be an integer"},
      {"roof", std::int64_t{8}, "roof is 8; it must be an integer of at most 7"},
      {"alpha", nan, "alpha is nan; it must be a finite number"},
      {"alpha", inf, "alpha is inf; it must be a finite number"},
      {"alpha", -inf, "alpha is -inf; it must be a finite number"},
      {"alpha", std::string("abc"), "alpha is \"abc\"; it must be a finite number"},
      {"alpha", false, "alpha is false; it must be a finite number"},
      {"share", nan, "share is nan; it must be a finite number from 0 to 1"},
      {"share", 1.0000000000000002, "share is 1.0000000000000002; it must be a finite number from 0 to 1"},
      {"share", std::int64_t{2}, "share is 2; it must be a finite number from 0 to 1"},
      {"floor", -1e7, "floor is -1e+07; it must be a finite number of at least -1000000"},
      {"flip", std::int64_t{1}, "flip is 1; it must be true or false"},
      {"flip", std::string("yes"), "flip is \"yes\"; it must be true or false"},
      {"variant", std::string("fastest"), "variant is \"fastest\"; it must be one of naive, shared or fast"},
      {"variant", std::int64_t{1}, "variant is 1; it must be one of naive, shared or fast"},
      {"variant", std::string(), "variant is \"\"; it must be one of naive, shared or fast"},
  };
  for (const auto& [name, value, complaint] : cases) {
    EXPECT_THAT(Complaints(Bind({{name, value}})), ElementsAre("params." + name + " | probe: " + complaint));
  }
}

TEST(BindParamsTest, UnknownNamesComeWithTheNearest) {
  EXPECT_THAT(Complaints(Bind({{"alhpa", 1.0}})),
              ElementsAre("params.alhpa | probe: there is no parameter \"alhpa\"; nearest: alpha"));
  EXPECT_THAT(Complaints(Bind({{"qqqqqq", 1.0}})),
              ElementsAre("params.qqqqqq | probe: there is no parameter \"qqqqqq\"; there is n, any, alpha, share, "
                          "floor, roof, flip or variant"));
  const KernelSpec none = KernelSpecBuilder("bare", "").Output("o", "int8", "").Build().value();
  EXPECT_THAT(Complaints(none.Bind({{"n", 1.0}}, {}, HOTPLATE_PRECISION_DEFAULT)),
              ElementsAre("params.n | bare: there is no parameter \"n\"; this kernel takes no parameters"));
}

TEST(BindParamsTest, AMissingParameterIsSaid) {
  EXPECT_THAT(Complaints(Spec().Bind({}, {}, HOTPLATE_PRECISION_DEFAULT)),
              ElementsAre("params.n | probe: parameter n is missing; it must be an integer from 1 to 100"));
}

TEST(BindParamsTest, EverythingWrongIsToldAtOnce) {
  EXPECT_EQ(Complaints(Bind({{"n", 1.5}, {"alpha", true}, {"betta", 1.0}, {"flip", 1.0}})).size(), 4u);
}

TEST(BindParamsTest, AFloodOfWrongNamesIsCutShort) {
  std::map<std::string, ParamValue> params;
  for (int i = 0; i < 1000; ++i) params[std::string(5000, 'x') + std::to_string(i)] = true;
  const auto call = Bind(params);
  const std::vector<std::string> complaints = Complaints(call);
  ASSERT_EQ(complaints.size(), 17u);
  EXPECT_EQ(complaints.back(), " | and 984 more");
  EXPECT_LT(call.status().message().size(), 10'000u);
  EXPECT_LT(complaints.front().size(), 500u);
}

TEST(BindParamsTest, ATextFromOutsideIsShownHarmlessAndShort) {
  EXPECT_THAT(Complaints(Bind({{"variant", std::string("\x1b[2J") + std::string(5000, 'x')}})),
              ElementsAre(HasSubstr("variant is \"\\x1b[2Jxxx")));
  EXPECT_LT(Complaints(Bind({{"variant", std::string(5000, 'x')}})).front().size(), 300u);
}

TEST(BindPrecisionTest, IsForKernelsThatTakeItAndFloats) {
  const auto bind = [](bool takes, DType dtype, int precision) {
    KernelSpecBuilder builder("probe", "");
    builder.Type("T", {DType::kFloat32, DType::kInt32}).Input("x", "T", "n").Output("y", "T", "n");
    if (takes) builder.TakesPrecision();
    static std::vector<std::unique_ptr<KernelSpec>> kept;  // a bound call points to its spec
    kept.push_back(std::make_unique<KernelSpec>(builder.Build().value()));
    return kept.back()->Bind({}, {{"x", {dtype, {4}}}}, precision);
  };
  const auto call = bind(true, DType::kFloat32, HOTPLATE_PRECISION_TF32);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(call->precision, HOTPLATE_PRECISION_TF32);
  EXPECT_TRUE(bind(false, DType::kInt32, HOTPLATE_PRECISION_DEFAULT).ok());
  EXPECT_THAT(
      Complaints(bind(false, DType::kFloat32, HOTPLATE_PRECISION_BF16)),
      ElementsAre("precision | probe: precision bf16 was asked for, but this kernel has its default precision only"));
  EXPECT_THAT(Complaints(bind(true, DType::kInt32, HOTPLATE_PRECISION_F16)),
              ElementsAre("precision | probe: precision f16 is for floating-point inputs, and there is none"));
  for (const int unknown : {-1, 4, 1000}) {
    EXPECT_THAT(Complaints(bind(true, DType::kFloat32, unknown)),
                ElementsAre("precision | probe: precision " + std::to_string(unknown) +
                            " is not known; tf32, bf16 and f16 are"));
  }
}

}  // namespace
}  // namespace hotplate
