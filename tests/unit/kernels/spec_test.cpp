// Specs built at run time: what they hash to, what they cost, and which ones are no specs at all.
#include "kernels/spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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
  const std::string hash = Axpy().Build()->Hash();
  EXPECT_THAT(hash, ::testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_EQ(hash, Axpy().Build()->Hash());
  EXPECT_EQ(hash, Axpy().Docs("other words").Example("axpy").Numerics("exact").Build()->Hash())
      << "words are nothing to agree on";
}

TEST(SpecTest, HashChangesWithWhatTwoSidesMustAgreeOn) {
  const std::string hash = Axpy().Build()->Hash();
  EXPECT_NE(hash, Axpy().Version("2").Build()->Hash());
  EXPECT_NE(hash, Axpy().Param(Int("n", std::int64_t{1})).Build()->Hash());
  EXPECT_NE(hash, Axpy().Type("U", {DType::kInt8}).Build()->Hash());
  EXPECT_NE(hash, Axpy().Input("z", "T", "...").Build()->Hash());
  EXPECT_NE(hash, Axpy().Output("z", "T", "...").Build()->Hash());
  const auto with_default = [](double value) {
    ParamSpec param;
    param.name = "alpha";
    param.default_value = value;
    return KernelSpecBuilder("k", "").Param(param).Output("o", "int8", "").Build()->Hash();
  };
  EXPECT_NE(with_default(1.0), with_default(1.0000000000000002));
  const auto with_bounds = [](std::optional<double> minimum, std::optional<double> maximum) {
    ParamSpec param;
    param.name = "alpha";
    param.minimum = minimum;
    param.maximum = maximum;
    return KernelSpecBuilder("k", "").Param(param).Output("o", "int8", "").Build()->Hash();
  };
  EXPECT_NE(with_bounds({}, {}), with_bounds(0, {}));
  EXPECT_NE(with_bounds({}, 0), with_bounds(0, {}));
  EXPECT_NE(with_bounds(0, 1), with_bounds(0, 2));
  const auto with_choices = [](std::vector<std::string> choices) {
    ParamSpec param;
    param.name = "variant";
    param.type = ParamType::kChoice;
    param.choices = std::move(choices);
    return KernelSpecBuilder("k", "").Param(param).Output("o", "int8", "").Build()->Hash();
  };
  EXPECT_NE(with_choices({"a", "b"}), with_choices({"b", "a"}));
  EXPECT_NE(with_choices({"a", "b"}), with_choices({"ab"}));
  const auto with_shape = [](const std::string& shape) {
    return KernelSpecBuilder("k", "").Input("x", "int8", shape).Output("o", "int8", "").Build()->Hash();
  };
  EXPECT_NE(with_shape("m, n"), with_shape("n, m"));
  EXPECT_EQ(with_shape("m,n"), with_shape("m, n"));
}

TEST(SpecTest, CostIsTheBytesMovedUnlessTheSpecSaysOtherwise) {
  const std::map<std::string, Signature> inputs = {{"x", {DType::kFloat32, {10}}}, {"y", {DType::kFloat32, {10}}}};
  const KernelSpec plain = Axpy().Build().value();
  const auto call = plain.Bind({}, inputs, HOTPLATE_PRECISION_DEFAULT);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ(plain.CostOf(*call).bytes, 120);
  EXPECT_EQ(call->InputBytes(), 80u);
  EXPECT_EQ(call->OutputBytes(), 40u);
  const KernelSpec own =
      Axpy().CostModel("2 n", [](const BoundCall&) { return Cost{.flop = 20, .bytes = 1}; }).Build().value();
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

struct WrongSpec {
  const char* what;
  KernelSpecBuilder builder;
  const char* why;
};

KernelSpecBuilder With(ParamSpec param) {
  return KernelSpecBuilder("k", "").Param(std::move(param)).Output("o", "int8", "");
}

// A parameter of that type, as `change` leaves it.
ParamSpec Changed(ParamType type, const std::function<void(ParamSpec&)>& change) {
  ParamSpec param{.name = "p", .type = type};
  change(param);
  return param;
}

std::vector<WrongSpec> WrongSpecs() {
  const auto made = [] { return KernelSpecBuilder("k", ""); };
  const auto choice = [](std::vector<std::string> choices) {
    return Changed(ParamType::kChoice, [&](ParamSpec& param) { param.choices = std::move(choices); });
  };
  return {
      {"name", KernelSpecBuilder("Not a name", "").Output("o", "int8", ""), "its name is not lower_snake"},
      {"no version", Axpy().Version(""), "it has no version"},
      {"no output", made(), "it has no output"},
      {"cancelled never", Axpy().Chunked(0), "its bound for cancelling is not positive"},
      {"name of a parameter", With(Int("Camel")), "parameter \"Camel\" is not a name"},
      {"name of an input", Axpy().Input("X", "T", "..."), "input \"X\" is not a name"},
      {"name of an output", Axpy().Output("Y", "T", "..."), "output \"Y\" is not a name"},
      {"name of a type variable", Axpy().Type("2", {DType::kInt8}), "type variable \"2\" is not a name"},
      {"twice", Axpy().Input("x", "T", "..."), "input \"x\" is there twice"},
      {"no dtypes", Axpy().Type("U", {}), "type variable \"U\" has no dtypes"},
      {"a dtype as variable", Axpy().Type("int8", {DType::kInt8}), "type variable \"int8\" is a dtype's name"},
      {"bounds of a bool", With(Changed(ParamType::kBool, [](ParamSpec& p) { p.minimum = 0; })),
       "parameter \"p\" has bounds but is no number"},
      {"endless bound",
       With(Changed(ParamType::kFloat, [](ParamSpec& p) { p.maximum = std::numeric_limits<double>::infinity(); })),
       "has a bound that is not finite; leave it out"},
      {"bounds swapped", With(Changed(ParamType::kInt, [](ParamSpec& p) { p.minimum = 2, p.maximum = 1; })),
       "has its bounds swapped"},
      {"no choices", With(choice({})), "has choices, or none, wrongly"},
      {"choices of a number", With(Changed(ParamType::kInt, [](ParamSpec& p) { p.choices = {"1"}; })),
       "has choices, or none, wrongly"},
      {"default beyond",
       With(Changed(ParamType::kInt, [](ParamSpec& p) { p.default_value = std::int64_t{0}, p.minimum = 1; })),
       "has a default that it does not accept"},
      {"words for no default", With(Changed(ParamType::kInt, [](ParamSpec& p) { p.default_text = "a fresh one"; })),
       "has words for a default but no default"},
      {"real default of an int", With(Int("n", 1.0)), "has a default that it does not accept"},
      {"true default of a float", With(Changed(ParamType::kFloat, [](ParamSpec& p) { p.default_value = true; })),
       "has a default that it does not accept"},
      {"type of an input", made().Input("x", "T", "").Output("o", "int8", ""),
       "input \"x\" has the unknown type \"T\""},
      {"shape of an input", made().Input("x", "int8", "m,").Output("o", "int8", ""),
       "input \"x\" has the unreadable shape \"m,\""},
      {"input of at most", made().Input("x", "int8", "at most n").Output("o", "int8", ""), "has the unreadable shape"},
      {"some broadcast", Axpy().Input("z", "T", "broadcast ..."), "some inputs have \"broadcast ...\" and others"},
      {"type of an output", made().Output("o", "T", ""), "has the type \"T\", which no input"},
      {"choice that is no dtype", made().Param(choice({"float32", "auto"})).Output("o", "p", ""),
       "no choice of dtypes"},
      {"type by a number", made().Param(Int("n")).Output("o", "n", ""), "no choice of dtypes"},
      {"complex integers", made().Type("T", {DType::kInt8}).Input("x", "T", "").Output("o", "complex(T)", ""),
       "has the type \"complex(T)\", and there are no complex numbers of int8"},
      {"complex input", made().Type("T", {DType::kFloat32}).Input("x", "complex(T)", "").Output("o", "int8", ""),
       "input \"x\" has the unknown type \"complex(T)\""},
      {"shape of an output", made().Output("o", "int8", "m,"), "output \"o\" has the unreadable shape \"m,\""},
      {"output that broadcasts", Axpy().Output("z", "T", "broadcast ..."), "what the inputs become is \"...\""},
      {"rest of nothing", made().Output("o", "int8", "..."), "has a \"...\" that no input has"},
      {"size of nothing", made().Output("o", "int8", "n"), "has the size \"n\", which no input"},
  };
}

TEST(SpecTest, OneThatContradictsItselfIsAnErrorThatNamesTheKernel) {
  for (WrongSpec& wrong : WrongSpecs()) {
    SCOPED_TRACE(wrong.what);
    const absl::Status status = wrong.builder.Build().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith("the spec of kernel \""), HasSubstr("\" is wrong: "), HasSubstr(wrong.why)));
  }
}

class SpecDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SpecDeathTest, AKernelThatAsksForANameItLacksEndsTheProcess) {
  const KernelSpec spec = Axpy().Build().value();
  const Signature x{DType::kFloat32, {1}};
  const auto call = spec.Bind({}, {{"x", x}, {"y", x}}, HOTPLATE_PRECISION_DEFAULT);
  ASSERT_TRUE(call.ok());
  EXPECT_DEATH(call->Param("beta"), "axpy asked for parameter \"beta\"");
  EXPECT_DEATH(call->Input("z"), "axpy asked for input \"z\"");
}

}  // namespace
}  // namespace hotplate
