// Specs built at run time: what they hash to, what they cost, and which ones are no specs at all.
#include "kernels/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace hotplate {
namespace {

ParamSpec Int(const std::string& name, std::optional<ParamValue> value = {}) {
  ParamSpec param;
  param.name = name;
  param.type = ParamType::kInt;
  param.default_value = std::move(value);
  return param;
}

KernelSpecBuilder Axpy() {
  ParamSpec alpha;
  alpha.name = "alpha";
  alpha.default_value = 1.0;
  KernelSpecBuilder builder("axpy", "out = alpha * x + y");
  builder.Type("T", {DType::kFloat32, DType::kFloat64})
      .Param(alpha)
      .Input("x", "T", "...")
      .Input("y", "T", "...")
      .Output("out", "T", "...");
  return builder;
}

TEST(SpecTest, HashIsSixteenHexDigitsAndStable) {
  const std::string hash = Axpy().Build().Hash();
  EXPECT_THAT(hash, ::testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(hash, Axpy().Build().Hash());
  EXPECT_EQ(hash, Axpy().Docs("other words").Example("axpy").Numerics("exact").Build().Hash())
      << "words are nothing to agree on";
}

TEST(SpecTest, HashChangesWithWhatTwoSidesMustAgreeOn) {
  const std::string hash = Axpy().Build().Hash();
  EXPECT_NE(hash, Axpy().Version("2").Build().Hash());
  EXPECT_NE(hash, Axpy().Param(Int("n", std::int64_t{1})).Build().Hash());
  EXPECT_NE(hash, Axpy().Type("U", {DType::kInt8}).Build().Hash());
  EXPECT_NE(hash, Axpy().Input("z", "T", "...").Build().Hash());
  EXPECT_NE(hash, Axpy().Output("z", "T", "...").Build().Hash());
  const auto with_default = [](double value) {
    ParamSpec param;
    param.name = "alpha";
    param.default_value = value;
    return KernelSpecBuilder("k", "").Param(param).Output("o", "int8", "").Build().Hash();
  };
  EXPECT_NE(with_default(1.0), with_default(1.0000000000000002));
  const auto with_bounds = [](std::optional<double> minimum, std::optional<double> maximum) {
    ParamSpec param;
    param.name = "alpha";
    param.minimum = minimum;
    param.maximum = maximum;
    return KernelSpecBuilder("k", "").Param(param).Output("o", "int8", "").Build().Hash();
  };
  EXPECT_NE(with_bounds({}, {}), with_bounds(0, {}));
  EXPECT_NE(with_bounds({}, 0), with_bounds(0, {}));
  EXPECT_NE(with_bounds(0, 1), with_bounds(0, 2));
  const auto with_choices = [](std::vector<std::string> choices) {
    ParamSpec param;
    param.name = "variant";
    param.type = ParamType::kChoice;
    param.choices = std::move(choices);
    return KernelSpecBuilder("k", "").Param(param).Output("o", "int8", "").Build().Hash();
  };
  EXPECT_NE(with_choices({"a", "b"}), with_choices({"b", "a"}));
  EXPECT_NE(with_choices({"a", "b"}), with_choices({"ab"}));
  const auto with_shape = [](const std::string& shape) {
    return KernelSpecBuilder("k", "").Input("x", "int8", shape).Output("o", "int8", "").Build().Hash();
  };
  EXPECT_NE(with_shape("m, n"), with_shape("n, m"));
  EXPECT_EQ(with_shape("m,n"), with_shape("m, n"));
}

TEST(SpecTest, CostIsTheBytesMovedUnlessTheSpecSaysOtherwise) {
  const std::map<std::string, Signature> inputs = {{"x", {DType::kFloat32, {10}}}, {"y", {DType::kFloat32, {10}}}};
  const KernelSpec plain = Axpy().Build();
  const auto call = plain.Bind({}, inputs, HOTPLATE_PRECISION_DEFAULT);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(plain.CostOf(*call).bytes, 120);
  EXPECT_EQ(call->InputBytes(), 80u);
  EXPECT_EQ(call->OutputBytes(), 40u);
  const KernelSpec own = Axpy().CostModel("2 n", [](const BoundCall&) { return Cost{.flop = 20, .bytes = 1}; }).Build();
  EXPECT_EQ(own.CostOf(*call).flop, 20);
}

TEST(ParamValueTest, IsShownSoThatItsTypeIsSeen) {
  EXPECT_EQ(ToString(ParamValue(std::int64_t{-3})), "-3");
  EXPECT_EQ(ToString(ParamValue(2.0)), "2.0");
  EXPECT_EQ(ToString(ParamValue(1.67)), "1.67");
  EXPECT_EQ(ToString(ParamValue(1e300)), "1e+300");
  EXPECT_EQ(ToString(ParamValue(std::numeric_limits<double>::quiet_NaN())), "nan");
  EXPECT_EQ(ToString(ParamValue(-std::numeric_limits<double>::infinity())), "-inf");
  EXPECT_EQ(ToString(ParamValue(true)), "true");
  EXPECT_EQ(ToString(ParamValue(std::string("fast"))), "fast");
}

class SpecDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SpecDeathTest, ASpecThatContradictsItselfEndsTheProcess) {
  const auto with_param = [](ParamSpec param) {
    return KernelSpecBuilder("k", "").Param(std::move(param)).Output("o", "int8", "").Build();
  };
  ParamSpec bounded = Int("n", std::int64_t{0});
  bounded.minimum = 1;
  EXPECT_DEATH(with_param(bounded), "default that it does not accept");
  EXPECT_DEATH(with_param(Int("n", 1.0)), "default that it does not accept");
  ParamSpec real;
  real.name = "alpha";
  real.default_value = true;
  EXPECT_DEATH(with_param(real), "default that it does not accept");
  ParamSpec swapped = Int("n");
  swapped.minimum = 2;
  swapped.maximum = 1;
  EXPECT_DEATH(with_param(swapped), "bounds swapped");
  ParamSpec choice;
  choice.name = "variant";
  choice.type = ParamType::kChoice;
  EXPECT_DEATH(with_param(choice), "choices");
  EXPECT_DEATH(with_param(Int("Camel")), "\"Camel\" is not a name");
}

TEST_F(SpecDeathTest, NamesThatNothingDeterminesEndTheProcess) {
  EXPECT_DEATH(KernelSpecBuilder("k", "").Output("o", "int8", "n").Build(), "size \"n\", which no input");
  EXPECT_DEATH(KernelSpecBuilder("k", "").Output("o", "T", "").Build(), "type \"T\", which no input");
  ParamSpec choice;
  choice.name = "dtype";
  choice.type = ParamType::kChoice;
  choice.choices = {"float32", "auto"};
  EXPECT_DEATH(KernelSpecBuilder("k", "").Param(choice).Output("o", "dtype", "").Build(), "no choice of dtypes");
  EXPECT_DEATH(KernelSpecBuilder("k", "").Param(Int("n")).Output("o", "n", "").Build(), "no choice of dtypes");
  EXPECT_DEATH(KernelSpecBuilder("k", "").Output("o", "int8", "...").Build(), "\"...\" that no input has");
  EXPECT_DEATH(KernelSpecBuilder("k", "").Input("x", "T", "").Output("o", "int8", "").Build(), "unknown type \"T\"");
  EXPECT_DEATH(KernelSpecBuilder("k", "").Input("x", "int8", "m,").Output("o", "int8", "").Build(), "unreadable shape");
  EXPECT_DEATH(Axpy().Input("x", "T", "...").Build(), "\"x\" is there twice");
  EXPECT_DEATH(Axpy().Input("z", "T", "broadcast ...").Build(), "some inputs have \"broadcast ...\"");
  EXPECT_DEATH(Axpy().Output("z", "T", "broadcast ...").Build(), "what the inputs become is");
  EXPECT_DEATH(KernelSpecBuilder("k", "").Build(), "no output");
  EXPECT_DEATH(KernelSpecBuilder("Not a name", "").Output("o", "int8", "").Build(), "lower_snake");
}

TEST_F(SpecDeathTest, AKernelThatAsksForANameItLacksEndsTheProcess) {
  const KernelSpec spec = Axpy().Build();
  const Signature x{DType::kFloat32, {1}};
  const auto call = spec.Bind({}, {{"x", x}, {"y", x}}, HOTPLATE_PRECISION_DEFAULT);
  ASSERT_TRUE(call.ok());
  EXPECT_DEATH(call->Param("beta"), "axpy asked for parameter \"beta\"");
  EXPECT_DEATH(call->Input("z"), "axpy asked for input \"z\"");
}

}  // namespace
}  // namespace hotplate
