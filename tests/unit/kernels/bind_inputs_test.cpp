// Inputs and outputs: dtypes, symbolic shapes, sizes, and what a refusal says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kernels/bind_expectations.h"

namespace hotplate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Inputs = std::map<std::string, Signature>;

constexpr DType kF32 = DType::kFloat32, kF64 = DType::kFloat64, kI32 = DType::kInt32;

absl::StatusOr<BoundCall> Bind(const KernelSpec& spec, const Inputs& inputs,
                               const std::map<std::string, ParamValue>& params = {}) {
  return spec.Bind(params, inputs, HOTPLATE_PRECISION_DEFAULT);
}

std::vector<Signature> Outputs(const KernelSpec& spec, const Inputs& inputs,
                               const std::map<std::string, ParamValue>& params = {}) {
  const auto call = Bind(spec, inputs, params);
  if (!call.ok()) {
    ADD_FAILURE() << call.status();
    return {};
  }
  return call->outputs;
}

KernelSpec Add() {
  return KernelSpecBuilder("add", "")
      .Type("T", {kF32, kF64, kI32})
      .Input("a", "T", "...")
      .Input("b", "T", "...")
      .Output("c", "T", "...")
      .Output("f", "float(T)", "...")
      .Build()
      .value();
}

KernelSpec Matvec() {
  return KernelSpecBuilder("matvec", "")
      .Type("T", {kF32, kF64})
      .Input("a", "T", "..., m, k")
      .Input("v", "T", "..., k")
      .Output("out", "T", "..., m")
      .Build()
      .value();
}

KernelSpec Sized() {
  ParamSpec n;
  n.name = "n";
  n.type = ParamType::kInt;
  n.default_value = std::int64_t{3};
  return KernelSpecBuilder("sized", "")
      .Param(n)
      .Input("x", "float32", "n, 2")
      .Input("i", "int32", "q, q")
      .Output("o", "float64", "n, n, q")
      .Output("s", "int32", "")
      .Build()
      .value();
}

TEST(BindInputsTest, ElementwiseTakesEveryShapeAndGivesItBack) {
  const KernelSpec spec = Add();
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 3}, Shape{2, 0, 3}, Shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
    EXPECT_THAT(Outputs(spec, {{"a", {kF32, shape}}, {"b", {kF32, shape}}}),
                ElementsAre(Signature{kF32, shape}, Signature{kF32, shape}));
  }
}

TEST(BindInputsTest, FloatOfAnIntegerIsFloat64) {
  EXPECT_THAT(Outputs(Add(), {{"a", {kI32, {4}}}, {"b", {kI32, {4}}}}),
              ElementsAre(Signature{kI32, {4}}, Signature{kF64, {4}}));
}

TEST(BindInputsTest, ComplexOfATypeHasItsPrecision) {
  const KernelSpec spec = KernelSpecBuilder("spectrum", "")
                              .Type("T", {kF32, kF64, DType::kComplex64, DType::kComplex128})
                              .Input("a", "T", "n")
                              .Output("w", "complex(T)", "n")
                              .Build()
                              .value();
  for (const DType single : {kF32, DType::kComplex64}) {
    EXPECT_THAT(Outputs(spec, {{"a", {single, {4}}}}), ElementsAre(Signature{DType::kComplex64, {4}}));
  }
  for (const DType twice : {kF64, DType::kComplex128}) {
    EXPECT_THAT(Outputs(spec, {{"a", {twice, {4}}}}), ElementsAre(Signature{DType::kComplex128, {4}}));
  }
}

TEST(BindInputsTest, SymbolsAndDotsCarryOverToTheOutput) {
  const KernelSpec spec = Matvec();
  EXPECT_THAT(Outputs(spec, {{"a", {kF64, {3, 4}}}, {"v", {kF64, {4}}}}), ElementsAre(Signature{kF64, {3}}));
  EXPECT_THAT(Outputs(spec, {{"a", {kF32, {7, 2, 3, 4}}}, {"v", {kF32, {7, 2, 4}}}}),
              ElementsAre(Signature{kF32, {7, 2, 3}}));
}

TEST(BindInputsTest, AnIntParameterIsASize) {
  const KernelSpec spec = Sized();
  EXPECT_THAT(Outputs(spec, {{"x", {kF32, {3, 2}}}, {"i", {kI32, {5, 5}}}}),
              ElementsAre(Signature{kF64, {3, 3, 5}}, Signature{kI32, {}}));
  EXPECT_THAT(Outputs(spec, {{"x", {kF32, {6, 2}}}, {"i", {kI32, {5, 5}}}}, {{"n", std::int64_t{6}}}),
              ElementsAre(Signature{kF64, {6, 6, 5}}, Signature{kI32, {}}));
}

TEST(BindInputsTest, InputsComeInTheSpecsOrder) {
  const auto call = Bind(Matvec(), {{"v", {kF32, {4}}}, {"a", {kF32, {3, 4}}}});
  ASSERT_TRUE(call.ok());
  EXPECT_THAT(call->inputs, ElementsAre(Signature{kF32, {3, 4}}, Signature{kF32, {4}}));
}

TEST(BindInputsTest, MissingAndUnknownNames) {
  EXPECT_THAT(Complaints(Bind(Matvec(), {{"a", {kF32, {3, 4}}}, {"w", {kF32, {4}}}, {"aa", {kF32, {4}}}})),
              ElementsAre("inputs.aa | matvec: there is no input \"aa\"; there is a or v",
                          "inputs.w | matvec: there is no input \"w\"; there is a or v",
                          "inputs.v | matvec: input v is missing; expected float32 or float64 [..., k]"));
}

TEST(BindInputsTest, ADtypeThatIsNotAllowed) {
  EXPECT_THAT(Complaints(Bind(Add(), {{"a", {DType::kInt8, {4}}}, {"b", {kF32, {4}}}})),
              ElementsAre("inputs.a | add: a is int8; it must be float32, float64 or int32"));
  EXPECT_THAT(Complaints(Bind(Sized(), {{"x", {kF64, {3, 2}}}, {"i", {kI32, {1, 1}}}})),
              ElementsAre("inputs.x | sized: x is float64; it must be float32"));
}

TEST(BindInputsTest, TwoDtypesForOneVariable) {
  EXPECT_THAT(Complaints(Bind(Add(), {{"a", {kF32, {4}}}, {"b", {kF64, {4}}}})),
              ElementsAre("inputs.b | add: dtypes differ: a is float32, b is float64; both must be the same one of "
                          "float32, float64 or int32"));
}

TEST(BindInputsTest, ShapesThatDiffer) {
  EXPECT_THAT(Complaints(Bind(Add(), {{"a", {kF32, {3, 4}}}, {"b", {kF32, {4, 3}}}})),
              ElementsAre("inputs.b | add: shapes differ: a is [3, 4], b is [4, 3]; both must be the same"));
  EXPECT_THAT(Complaints(Bind(Add(), {{"a", {kF32, {1}}}, {"b", {kF32, {}}}})),
              ElementsAre("inputs.b | add: shapes differ: a is [1], b is []; both must be the same"));
  EXPECT_THAT(Complaints(Bind(Matvec(), {{"a", {kF32, {7, 3, 4}}}, {"v", {kF32, {8, 4}}}})),
              ElementsAre("inputs.v | matvec: shapes differ: a is [7, 3, 4], v is [8, 4]; expected a [..., m, k] and "
                          "v [..., k] with the same \"...\""));
}

KernelSpec Broadcasting() {
  return KernelSpecBuilder("blend", "")
      .Type("T", {kF32})
      .Input("a", "T", "broadcast ..., m")
      .Input("b", "T", "broadcast ...")
      .Input("c", "T", "broadcast ...")
      .Output("o", "T", "..., m")
      .Build()
      .value();
}

TEST(BindInputsTest, ShapesThatBroadcast) {
  const auto shape = [](const Shape& a, const Shape& b, const Shape& c) {
    return Outputs(Broadcasting(), {{"a", {kF32, a}}, {"b", {kF32, b}}, {"c", {kF32, c}}}).at(0).shape;
  };
  EXPECT_EQ(shape({9}, {}, {}), (Shape{9}));
  EXPECT_EQ(shape({9}, {}, {4, 2}), (Shape{4, 2, 9}));
  EXPECT_EQ(shape({3, 1, 9}, {4}, {1, 1, 1}), (Shape{1, 3, 4, 9}));
  EXPECT_EQ(shape({3, 1, 9}, {1, 0}, {}), (Shape{3, 0, 9}));
}

TEST(BindInputsTest, ShapesThatDoNotBroadcastAreNamedTwoAndTwo) {
  const auto complaint = [](const Shape& a, const Shape& b, const Shape& c) {
    return Complaints(Bind(Broadcasting(), {{"a", {kF32, a}}, {"b", {kF32, b}}, {"c", {kF32, c}}}));
  };
  EXPECT_THAT(
      complaint({9}, {3, 4}, {4, 3}),
      ElementsAre("inputs.c | blend: shapes do not broadcast: b is [3, 4], c is [4, 3]; sizes, counted from the "
                  "last, must be the same or 1"));
  EXPECT_THAT(
      complaint({5, 9}, {}, {0}),
      ElementsAre("inputs.c | blend: shapes do not broadcast: a is [5, 9], c is [0]; expected a [broadcast ..., "
                  "m] and c [broadcast ...], and in \"...\" sizes, counted from the last, must be the same or "
                  "1"));
}

TEST(BindInputsTest, ASymbolWithTwoSizes) {
  EXPECT_THAT(Complaints(Bind(Matvec(), {{"a", {kF32, {3000, 3000}}}, {"v", {kF32, {1000}}}})),
              ElementsAre("inputs.v | matvec: k is 3000 in a [3000, 3000] but 1000 in v [1000]; expected a [..., m, k] "
                          "and v [..., k]"));
  EXPECT_THAT(Complaints(Bind(Sized(), {{"x", {kF32, {4, 2}}}, {"i", {kI32, {5, 6}}}})),
              ElementsAre("inputs.x | sized: n is 3 by the parameter n but 4 in x [4, 2]; expected x [n, 2]",
                          "inputs.i | sized: q is 5 in i [5, 6] but 6 in i [5, 6]; expected i [q, q]"));
}

TEST(BindInputsTest, ANumberThatIsAnother) {
  EXPECT_THAT(Complaints(Bind(Sized(), {{"x", {kF32, {3, 7}}}, {"i", {kI32, {5, 5}}}})),
              ElementsAre("inputs.x | sized: x is [3, 7]; expected [n, 2]"));
}

TEST(BindInputsTest, AWrongRank) {
  EXPECT_THAT(Complaints(Bind(Sized(), {{"x", {kF32, {6}}}, {"i", {kI32, {5, 5, 5}}}})),
              ElementsAre("inputs.x | sized: x is [6]; expected [n, 2], 2 dimensions",
                          "inputs.i | sized: i is [5, 5, 5]; expected [q, q], 2 dimensions"));
  EXPECT_THAT(Complaints(Bind(Matvec(), {{"a", {kF32, {6}}}, {"v", {kF32, {}}}})),
              ElementsAre("inputs.a | matvec: a is [6]; expected [..., m, k], at least 2 dimensions",
                          "inputs.v | matvec: v is []; expected [..., k], at least 1 dimension"));
}

TEST(BindInputsTest, SizesThatNoArrayHas) {
  const KernelSpec spec =
      KernelSpecBuilder("one", "").Input("x", "float64", "...").Output("s", "float64", "").Build().value();
  EXPECT_THAT(Complaints(Bind(spec, {{"x", {kF64, {3, -1}}}})),
              ElementsAre("inputs.x | one: x is [3, -1]; a size cannot be negative"));
  EXPECT_THAT(Complaints(Bind(spec, {{"x", {kF64, Shape(9, 1)}}})),
              ElementsAre("inputs.x | one: x is an array of 9 dimensions; at most 8 are possible"));
  for (const Shape& shape : {Shape{std::int64_t{1} << 60}, Shape{std::int64_t{1} << 44},
                             Shape{std::int64_t{1} << 62, std::int64_t{1} << 62}, Shape{0, std::int64_t{1} << 62, 4}}) {
    EXPECT_THAT(Complaints(Bind(spec, {{"x", {kF64, shape}}})),
                ElementsAre("inputs.x | one: x is float64 " + ToString(shape) +
                            ", more than the 70368744177664 bytes that an array may have"));
  }
  EXPECT_TRUE(Bind(spec, {{"x", {kF64, {std::int64_t{1} << 43}}}}).ok());
}

TEST(BindInputsTest, OutputsThatNoArrayHas) {
  const Inputs inputs = {{"x", {kF32, {1 << 20, 2}}}, {"i", {kI32, {1 << 10, 1 << 10}}}};
  EXPECT_THAT(Complaints(Bind(Sized(), inputs, {{"n", std::int64_t{1} << 20}})),
              ElementsAre("outputs.o | sized: the output o would be float64 [1048576, 1048576, 1024], more than the "
                          "70368744177664 bytes that an array may have"));
  ParamSpec n;
  n.name = "n";
  n.type = ParamType::kInt;
  const KernelSpec spec = KernelSpecBuilder("grid", "").Param(n).Output("o", "int32", "n, n").Build().value();
  EXPECT_THAT(Complaints(Bind(spec, {}, {{"n", std::int64_t{-1}}})),
              ElementsAre("outputs.o | grid: the output o would be [-1, -1]; a size cannot be negative"));
  EXPECT_THAT(Complaints(Bind(spec, {}, {{"n", std::int64_t{1} << 62}})), ElementsAre(HasSubstr("more than")));
}

// A symbol of an input too large to reason about must not turn up in another's complaint.
TEST(BindInputsTest, AnUnusableInputDoesNotBlameTheOthers) {
  EXPECT_THAT(Complaints(Bind(Matvec(), {{"a", {kF32, {-3, -4}}}, {"v", {kF32, {7}}}})),
              ElementsAre("inputs.a | matvec: a is [-3, -4]; a size cannot be negative"));
}

TEST(BindInputsTest, EverythingWrongIsToldAtOnce) {
  EXPECT_EQ(Complaints(Bind(Matvec(), {{"a", {DType::kBool, {3}}}, {"x", {kF32, {}}}}, {{"n", 1.0}})).size(), 5u);
}

// A rule of the kernel's own, as matmul's, for shapes that depend on parameters.
KernelSpec Transposing(int* calls, const std::vector<Signature>& outputs,
                       const absl::Status& status = absl::OkStatus()) {
  ParamSpec flip;
  flip.name = "flip";
  flip.type = ParamType::kBool;
  flip.default_value = false;
  return KernelSpecBuilder("own", "")
      .Type("T", {kF32})
      .Param(flip)
      .Input("a", "T", "m, n")
      .Output("o", "T", "m, n")
      .Shapes([=](BoundCall& call) {
        ++*calls;
        EXPECT_EQ(call.outputs.size(), 1u);
        EXPECT_EQ(call.outputs.front().dtype, kF32);
        EXPECT_FALSE(call.Bool("flip"));
        EXPECT_EQ(call.Input("a").shape, (Shape{1, 2, 3}));
        call.outputs = outputs;
        return status;
      })
      .Build()
      .value();
}

TEST(BindInputsTest, AKernelsOwnRuleReplacesTheShapes) {
  int calls = 0;
  EXPECT_THAT(Outputs(Transposing(&calls, {{kF32, {9}}}), {{"a", {kF32, {1, 2, 3}}}}),
              ElementsAre(Signature{kF32, {9}}));
  EXPECT_EQ(calls, 1);
}

TEST(BindInputsTest, AKernelsOwnRuleSeesOnlyWhatIsOtherwiseRight) {
  int calls = 0;
  const KernelSpec spec = Transposing(&calls, {});
  EXPECT_EQ(Complaints(Bind(spec, {{"a", {kF64, {1, 2, 3}}}})).size(), 1u);
  EXPECT_EQ(Complaints(Bind(spec, {{"a", {kF32, {1, -2, 3}}}})).size(), 1u);
  EXPECT_EQ(Complaints(Bind(spec, {})).size(), 1u);
  EXPECT_EQ(Complaints(Bind(spec, {{"a", {kF32, {1, 2, 3}}}}, {{"flip", 3.0}})).size(), 1u);
  EXPECT_EQ(calls, 0);
}

TEST(BindInputsTest, WhatAKernelsOwnRuleSaysIsPassedOnAndChecked) {
  int calls = 0;
  const Inputs inputs = {{"a", {kF32, {1, 2, 3}}}};
  EXPECT_THAT(Complaints(Bind(Transposing(&calls, {}, InvalidField("inputs.a", "own: no")), inputs)),
              ElementsAre("inputs.a | own: no"));
  EXPECT_EQ(Bind(Transposing(&calls, {}), inputs).status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(Complaints(Bind(Transposing(&calls, {{kF32, {std::int64_t{1} << 60}}}), inputs)),
              ElementsAre(HasSubstr("the output o would be float32 [1152921504606846976], more than")));
}

}  // namespace
}  // namespace hotplate
