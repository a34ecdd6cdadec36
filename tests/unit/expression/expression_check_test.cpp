// The meaning of texts: nodes, views, shapes, outputs and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "kernels/expression/check.h"
#include "kernels/expression/functions.h"
#include "tests/unit/expression/checked.h"

namespace hotplate::expression {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A node with all that it needs: "add(view0, 2:float32)".
std::string Shown(const Program& program, int at) {
  const Node& node = program.nodes[static_cast<std::size_t>(at)];
  const std::string dtype = ":" + std::string(Name(node.dtype));
  std::string arguments;
  for (const int argument : node.arguments) {
    arguments += (arguments.empty() ? "" : ", ") + Shown(program, argument);
  }
  switch (node.kind) {
    case Node::Kind::kView:
      return "view" + std::to_string(node.leaf);
    case Node::Kind::kScalar:
      return program.scalars[static_cast<std::size_t>(node.leaf)].name + dtype;
    case Node::Kind::kConstant: {
      char text[64];
      const bool is_integer = node.dtype == DType::kBool || IsInteger(node.dtype);
      std::snprintf(text, sizeof text, "%.9g", node.constant.number.real());
      std::string shown = is_integer ? std::to_string(node.constant.integer) : std::string(text);
      std::snprintf(text, sizeof text, "%+.9gj", node.constant.number.imag());
      return shown + (IsComplex(node.dtype) ? text : "") + dtype;
    }
    case Node::Kind::kIndex:
      return "index" + std::to_string(node.leaf);
    case Node::Kind::kGather:
      return "gather" + std::to_string(node.leaf) + "(" + arguments + ")";
    case Node::Kind::kCast:
      return std::string(Name(node.dtype)) + "(" + arguments + ")";
    case Node::Kind::kBounded:
      return "bounded_" + std::string(Name(node.dtype)) + "(" + arguments + ")";
    case Node::Kind::kOperator:
      return std::string(RowOf(node.op).name) + "(" + arguments + ")";
  }
  return "?";
}

std::string NodesOf(std::string_view text, const std::vector<NamedInput>& inputs = {},
                    const std::vector<Scalar>& scalars = {}) {
  const Program program = Checked(text, inputs, scalars);
  return program.outputs.empty() ? "" : Shown(program, program.outputs.back().node);
}

const std::vector<NamedInput> kX = {Input("x", "float32 3,4")};
const std::vector<NamedInput> kXY = {Input("x", "float32 3,4"), Input("y", "float32 3,4")};

TEST(ExpressionCheckTest, NumbersTakeTheDTypeTheyAreUsedIn) {
  EXPECT_EQ(NodesOf("where(x > 0, x, a*exp(x) - a)", kX, {Given("a", DType::kFloat64)}),
            "where(greater(view0, 0:float32), view0, subtract(multiply(a:float32, exp(view0)), a:float32))");
  EXPECT_EQ(NodesOf("x + 0.1", {Input("x", "float32 2")}), "add(view0, 0.100000001:float32)");
  EXPECT_EQ(NodesOf("x + 0.1", {Input("x", "float16 2")}), "add(view0, 0.0999755859:float16)");
  EXPECT_EQ(NodesOf("x + 65520.0", {Input("x", "float16 2")}), "add(view0, inf:float16)");
  EXPECT_EQ(NodesOf("x + 65519.0", {Input("x", "float16 2")}), "add(view0, 65504:float16)");
  EXPECT_EQ(NodesOf("x + 1e300", {Input("x", "float32 2")}), "add(view0, inf:float32)");
  EXPECT_EQ(NodesOf("x * 1j", {Input("x", "float32 2")}), "multiply(complex64(view0), 0+1j:complex64)");
  EXPECT_EQ(NodesOf("x - -128", {Input("x", "int8 2")}), "subtract(view0, -128:int8)");
  EXPECT_EQ(NodesOf("x + (2**63 + 7)", {Input("x", "uint64 2")}), "add(view0, -9223372036854775801:uint64)");
  EXPECT_EQ(NodesOf("2*3 + 4 % 3 - 7//-2 + (1 << 3)"), "19:int64");
  EXPECT_EQ(NodesOf("2j ** 3"), "-0-8j:complex128");
  EXPECT_EQ(NodesOf("-7 // 2.0 + -7 % 2.5"), "-3.5:float64");
  EXPECT_EQ(NodesOf("a*2 + a", {}, {Given("a", DType::kInt64)}), "add(multiply(a:int64, 2:int64), a:int64)");
  EXPECT_EQ(NodesOf("x + a/2", {Input("x", "float32 2")}, {Given("a", DType::kInt64)}),
            "add(view0, float32(divide(a:float64, 2:float64)))");
}

TEST(ExpressionCheckTest, CastsWhereTheyAreNeeded) {
  const std::vector<NamedInput> mixed = {Input("x", "int16 2"), Input("y", "float32 2")};
  EXPECT_EQ(NodesOf("x + y", mixed), "add(float32(view0), view1)");
  EXPECT_EQ(NodesOf("x / x", {mixed[0]}), "divide(float64(view0), float64(view0))");
  EXPECT_EQ(NodesOf("where(x, x, y)", mixed), "where(bool(view0), float32(view0), view1)");
  EXPECT_EQ(NodesOf("logical_and(x, y)", mixed), "logical_and(bool(view0), bool(view1))");
  EXPECT_EQ(NodesOf("float16(x) + astype(y, float16)", mixed), "add(float16(view0), float16(view1))");
  EXPECT_EQ(NodesOf("astype(x, float) + astype(x, int)", {mixed[0]}), "add(float64(view0), float64(int64(view0)))");
  EXPECT_EQ(NodesOf("int16(x)", {mixed[0]}), "view0");
  EXPECT_EQ(NodesOf("uint8(2.9)"), "2:uint8");
  EXPECT_EQ(NodesOf("int8(a)", {}, {Given("a", DType::kFloat64)}), "int8(a:float64)");
  EXPECT_EQ(NodesOf("float32(a)", {}, {Given("a", DType::kInt64)}), "a:float32");
}

TEST(ExpressionCheckTest, OperatorsThatDoNothingAreLeftOut) {
  const std::vector<NamedInput> inputs = {Input("x", "float32 2"), Input("n", "uint8 2"), Input("b", "bool 2")};
  const auto nodes = [&](const std::string& text) {
    std::vector<NamedInput> used;
    for (const NamedInput& input : inputs) {
      if (text.find(input.name + ")") != text.npos || text.find(input.name + " ") != text.npos) used.push_back(input);
    }
    return NodesOf(text, used);
  };
  for (const char* const text : {"(+x)", "real(x)", "conj(x)", "abs(n)", "floor(n)", "ceil(b)", "round(n)"}) {
    EXPECT_EQ(nodes(text), "view0") << text;
  }
  EXPECT_EQ(nodes("imag(x)"), "0:float32");
  // Bools become operators of bits.
  EXPECT_EQ(nodes("b + (b)"), "bitwise_or(view0, view0)");
  EXPECT_EQ(nodes("b * (b)"), "bitwise_and(view0, view0)");
  EXPECT_EQ(nodes("maximum(b , b)"), "bitwise_or(view0, view0)");
  EXPECT_EQ(nodes("fmin(b , b)"), "bitwise_and(view0, view0)");
  EXPECT_EQ(nodes("(not b)"), "logical_not(view0)");
  EXPECT_EQ(nodes("(~n)"), "invert(view0)");
}

TEST(ExpressionCheckTest, RoundAndClip) {
  EXPECT_EQ(NodesOf("round(x)", kX), "rint(view0)");
  EXPECT_EQ(NodesOf("clip(x, -1, a)", kX, {Given("a", DType::kFloat64)}),
            "minimum(maximum(view0, -1:float32), a:float32)");
  EXPECT_EQ(NodesOf("clip(x, None, 1)", kX), "minimum(view0, 1:float32)");
  const std::vector<NamedInput> bytes = {Input("x", "uint8 2")};
  EXPECT_EQ(NodesOf("clip(x, -1, 300)", bytes), "view0");
  EXPECT_EQ(ErrorOf("clip(x, 300, 301)", bytes), "value 8+3: Python integer 300 out of bounds for uint8");
  EXPECT_EQ(
      ErrorOf("clip(x, 0j, 1)", bytes),
      "type 0+4: clip is not for uint8 and int64; complex numbers have no order here, but real(x) and abs(x) have");
}

TEST(ExpressionCheckTest, EqualNodesAreOne) {
  const Program program = Checked("a = exp(x - y) + exp(x - y); b = (x - y)*2.0 + 2.0; _c = x*2.0; d = _c + y", kXY);
  EXPECT_EQ(program.views.size(), 2u);
  // x, y, x - y, exp, +, 2.0, *, +, x*2, +
  EXPECT_EQ(program.nodes.size(), 10u);
  std::set<std::string> shown;
  for (int i = 0; i < static_cast<int>(program.nodes.size()); ++i) shown.insert(Shown(program, i));
  EXPECT_EQ(shown.size(), program.nodes.size());
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    for (const int argument : program.nodes[i].arguments) EXPECT_LT(argument, static_cast<int>(i));
  }
  // Zeros of both signs are two, NaN is one.
  EXPECT_EQ(Checked("x*0.0 + x*-0.0", kX).nodes.size(), 6u);
  EXPECT_EQ(Checked("x*nan + x*nan", kX).nodes.size(), 4u);
  // A view of the whole input by another way.
  EXPECT_EQ(Checked("x + x[:] + x.T.T + x[None] + strided(x, 0, (3, 4), (4, 1))", kX).views.size(), 1u);
}

TEST(ExpressionCheckTest, ComparesIntegersByValue) {
  const std::vector<NamedInput> mixed = {Input("x", "int64 2"), Input("u", "uint64 2")};
  EXPECT_EQ(NodesOf("x < u", mixed), "bitwise_or(less(view0, 0:int64), greater(view1, uint64(view0)))");
  EXPECT_EQ(NodesOf("u < x", mixed), "bitwise_and(greater_equal(view1, 0:int64), less(view0, uint64(view1)))");
  EXPECT_EQ(NodesOf("x == u", mixed), "bitwise_and(greater_equal(view0, 0:int64), equal(view1, uint64(view0)))");
  EXPECT_EQ(NodesOf("x != u", mixed), "bitwise_or(less(view0, 0:int64), not_equal(view1, uint64(view0)))");
  const std::vector<NamedInput> bytes = {Input("x", "uint8 2")};
  const std::pair<const char*, int> beyond[] = {{"x < 300", 1}, {"x >= 300", 0}, {"x == 300", 0}, {"x != -1", 1},
                                                {"x > -1", 1},  {"x <= -1", 0},  {"300 > x", 1},  {"300 <= x", 0},
                                                {"-1 < x", 1},  {"-1 == x", 0},  {"-1 >= x", 0},  {"2**63 > x", 1}};
  for (const auto& [text, expected] : beyond) {
    EXPECT_EQ(NodesOf(text, bytes), std::to_string(expected) + ":bool") << text;
    EXPECT_EQ(ResultOf(text, bytes), "bool [2]") << text;
  }
  EXPECT_EQ(NodesOf("x < 255", bytes), "less(view0, 255:uint8)");
  EXPECT_EQ(NodesOf("x < a", bytes, {Given("a", DType::kInt64)}), "less(int64(view0), a:int64)");
  EXPECT_EQ(NodesOf("a < u", {mixed[1]}, {Given("a", DType::kInt64)}),
            "bitwise_or(less(a:int64, 0:int64), greater(view0, uint64(a:int64)))");
}

TEST(ExpressionCheckTest, ShapesBroadcast) {
  const std::vector<NamedInput> inputs = {Input("x", "float32 3,1"), Input("y", "float32 4"), Input("z", "float32")};
  const Program program = Checked("x + y*z", inputs);
  EXPECT_THAT(program.space, ElementsAre(3, 4));
  const std::vector<View> views = {{1, 0, {0, 1}}, {2, 0, {0, 0}}, {0, 0, {1, 0}}};  // as they are computed with
  EXPECT_EQ(program.views, views);
  EXPECT_EQ(ResultOf("x + 1", {Input("x", "float32 0,3")}), "float32 [0, 3]");
  EXPECT_EQ(ErrorOf("2 * x + y[1:]", kXY), "value 6+1: shapes do not broadcast: 2 * x is [3, 4], y[1:] is [2, 4]");
  EXPECT_EQ(ErrorOf("where(x > 0, 1, y.T)", kXY), "value 0+5: shapes do not broadcast: x > 0 is [3, 4], y.T is [4, 3]");
  EXPECT_EQ(
      ErrorOf("a = x; b = y[0]", kXY),
      "value 7+1: outputs of one expression run over one shape, here [3, 4], but b runs over [4]; send them apart");
  EXPECT_EQ(ErrorOf("a = x; y[:2]", kXY),
            "value 7+1: outputs of one expression run over one shape, but a runs over [3, 4] and out over [2, 4]; send "
            "them apart");
  EXPECT_EQ(ErrorOf("s = sum(y[0]); a = x", kXY),
            "value 0+1: outputs of one expression run over one shape, here [3, 4], but s runs over [4]; send them "
            "apart");
  EXPECT_EQ(ResultOf("_r = y[0]; a = x + _r", kXY), "float32 [3, 4]");
}

TEST(ExpressionCheckTest, Outputs) {
  const Program program = Checked("_d = x - y; distance = sqrt(_d*_d); near = _d < 1; s = sum(_d)\nx", kXY);
  ASSERT_EQ(program.outputs.size(), 4u);
  EXPECT_EQ(program.outputs[0].name, "distance");
  EXPECT_EQ(program.outputs[1].name, "near");
  EXPECT_EQ(ToString(program.outputs[1].signature), "bool [3, 4]");
  EXPECT_EQ(program.outputs[2].reduction, Reduction::kSum);
  EXPECT_EQ(program.outputs[3].name, "out");
  EXPECT_EQ(Shown(program, program.outputs[3].node), "view0");
}

// The view that a part of x, float32 [3, 4], becomes.
std::string ViewOf(std::string_view text) {
  const Program program = Checked(text, kX);
  if (program.views.size() != 1) return "not one view";
  return ToString(program.space) + " at " + std::to_string(program.views[0].offset) + " by " +
         ToString(program.views[0].strides);
}

TEST(ExpressionCheckTest, Views) {
  const std::pair<const char*, const char*> views[] = {
      {"x", "[3, 4] at 0 by [4, 1]"},
      {"x[1]", "[4] at 4 by [1]"},
      {"x[-1, 2]", "[] at 10 by []"},
      {"x[1:, ::2]", "[2, 2] at 4 by [4, 2]"},
      {"x[::-1, ::-1]", "[3, 4] at 11 by [-4, -1]"},
      {"x[-100:100, 3:0:-2]", "[3, 2] at 3 by [4, -2]"},
      {"x[:, 2:2]", "[3, 0] at 0 by [4, 0]"},
      {"x[..., None, 0]", "[3, 1] at 0 by [4, 0]"},
      {"x[None, ..., 1]", "[1, 3] at 1 by [0, 4]"},
      {"x[1:][::2].T[2:]", "[2, 1] at 6 by [1, 0]"},
      {"x[2*1 - 1]", "[4] at 4 by [1]"},
      {"x[:9223372036854775807:9223372036854775807]", "[1, 4] at 0 by [0, 1]"},
      {"x.T", "[4, 3] at 0 by [1, 4]"},
      {"transpose(x)", "[4, 3] at 0 by [1, 4]"},
      {"transpose(x, 1, 0)", "[4, 3] at 0 by [1, 4]"},
      {"transpose(x, (-1, 0))", "[4, 3] at 0 by [1, 4]"},
      {"strided(x, 2, (3, 2), (1, 3))", "[3, 2] at 2 by [1, 3]"},
      {"strided(x, 11, 12, -1)", "[12] at 11 by [-1]"},
      {"strided(x, 0, (2, 0), (4611686018427387904, 4611686018427387904))", "[2, 0] at 0 by [0, 0]"},
      {"_v = x[1:]; _v[0]", "[4] at 4 by [1]"},
  };
  for (const auto& [text, expected] : views) EXPECT_EQ(ViewOf(text), expected) << text;
}

TEST(ExpressionCheckTest, ViewsThatAreWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"x[3]", "index 2+1: index 3 is out of bounds for axis 0 with size 3"},
      {"x[0, -5]", "index 5+1: index -5 is out of bounds for axis 1 with size 4"},
      {"x.T[0, 3]", "index 7+1: index 3 is out of bounds for axis 1 with size 3"},
      {"x[0, 0, 0]", "index 2+1: too many indices for array: array is 2-dimensional, but 3 were indexed"},
      {"x[..., ...]", "index 7+3: an index can only have a single ellipsis ('...')"},
      {"x[::0]", "value 4+1: slice step cannot be zero"},
      {"x[1.5]",
       "index 2+3: only integers, slices (`:`), ellipsis (`...`), None and expressions of integers are valid indices"},
      {"x[True]",
       "index 2+4: only integers, slices (`:`), ellipsis (`...`), None and expressions of integers are valid indices"},
      {"x[1.5:]", "type 2+3: slice indices must be integers or None, written out in the text"},
      {"x[i:]", "type 2+1: slice indices must be integers or None, written out in the text"},
      {"x[None, None, None, None, None, None, None]", "limit 2+4: an array has at most 8 dimensions"},
      {"(x + 1)[0]", "type 7+1: only inputs have subscripts; (x + 1) is computed, so take the parts of its inputs"},
      {"exp(x).T", "type 7+1: only inputs have a transpose; exp(x) is computed, so take the parts of its inputs"},
      {"y = 2*x; y[0]", "type 10+1: only inputs have subscripts; y is computed, so take the parts of its inputs"},
      {"x + 2[0]", "type 5+1: only inputs have subscripts; 2 is a number"},
      {"transpose(x, 0, 0)", "value 16+1: repeated axis in transpose"},
      {"transpose(x, 0, 2)", "value 16+1: axis 2 is out of bounds for array of dimension 2"},
      {"transpose(x, 0)", "value 13+1: axes don't match array"},
      {"transpose(x, i)", "type 13+1: \"i\" stands where an axis is expected: integers that the text writes out"},
      {"strided(x, 0, (3, 5), (4, 1))", "index 0+7: the view reaches outside the 12 elements of the input"},
      {"strided(x, 0, 2, -1)", "index 0+7: the view reaches outside the 12 elements of the input"},
      {"strided(x, 12, (), ())", "index 0+7: the view reaches outside the 12 elements of the input"},
      {"strided(x, 0, 3, 9223372036854775807)", "index 0+7: the view reaches outside the 12 elements of the input"},
      {"strided(x, 0, (3, 4), 1)", "value 22+1: 1 strides for a shape of 2 axes"},
      {"strided(x, 0, -1, 1)", "value 14+1: [-1] is no shape; a size cannot be negative"},
      {"strided(x[0], 0, 3, 1)", "value 9+1: strided is for a whole input, and x[0] is a part"},
  };
  for (const auto& [text, expected] : wrong) EXPECT_EQ(ErrorOf(text, kX), expected) << text;
}

TEST(ExpressionCheckTest, ComputedIndices) {
  const std::vector<NamedInput> inputs = {Input("x", "float32 3,4"), Input("n", "uint8 5")};
  const Program program = Checked("x[n, -1] + x[n % 3, (n + 1) % 4]", inputs);
  ASSERT_EQ(program.gathers.size(), 1u);
  EXPECT_EQ(program.gathers[0].shape, (Shape{3, 4}));
  EXPECT_THAT(program.space, ElementsAre(5));
  EXPECT_EQ(Shown(program, program.outputs[0].node),
            "add(gather0(int64(view0), -1:int64), gather0(int64(remainder(view0, 3:uint8)), "
            "int64(remainder(add(view0, 1:uint8), 4:uint8))))");
  EXPECT_EQ(NodesOf("x[a, n]", inputs, {Given("a", DType::kInt64)}), "gather0(a:int64, int64(view0))");
  const std::pair<const char*, const char*> wrong[] = {
      {"x[n, :]",
       "index 1+1: indices that are expressions do not go with slices, None or \"...\"; index(n) is the index along an "
       "axis"},
      {"x[n]", "index 1+1: x is [3, 4] and has to have an index for each of its axes, where one is an expression"},
      {"x[n, n, n]", "index 2+1: too many indices for array: array is 2-dimensional, but 3 were indexed"},
      {"x[n, n > 1]",
       "index 7+1: n > 1 is bool; how many elements a mask takes is not known before: write where(mask, x, y)"},
      {"x[n, n/2]", "index 6+1: arrays used as indices must be of integer type, and n/2 is float64"},
      {"x[n, 4]", "index 5+1: index 4 is out of bounds for axis 1 with size 4"},
      {"x[1:][n, n]", "index 5+1: indices that are expressions are for a whole input, and x[1:] is a part"},
  };
  for (const auto& [text, expected] : wrong) EXPECT_EQ(ErrorOf(text, inputs), expected) << text;
}

TEST(ExpressionCheckTest, Places) {
  EXPECT_EQ(NodesOf("x*i + index(1)", kX), "add(multiply(float64(view0), float64(index0)), float64(index1))");
  EXPECT_EQ(ResultOf("broadcast_to(where(i == j, 1.0, 0.0), (3, 3))"), "float64 [3, 3]");
  EXPECT_EQ(NodesOf("i + 1", {Input("i", "float32 3")}), "add(view0, 1:float32)");  // a name that is given comes first
  EXPECT_EQ(NodesOf("pi*e", {}, {Given("e", DType::kInt64)}), "multiply(3.14159265:float64, e:float64)");
  EXPECT_EQ(ErrorOf("x + k", kX),
            "index 4+1: k is the index along axis 2, but the results run over [3, 4]; broadcast_to(..., shape) gives "
            "them a shape");
  EXPECT_EQ(ErrorOf("x + index(8)", kX), "index 10+1: 8 is no axis; that of an index is from 0 to 7");
  EXPECT_EQ(ErrorOf("x + index(x)", kX),
            "type 10+1: \"x\" stands where an axis is expected: integers that the text writes out");
  EXPECT_EQ(ErrorOf("a = broadcast_to(i, (4,)); b = x", kX),
            "value 4+12: broadcast_to(i, (4,)) is [4] and contains indices, but the results run over [3, 4]");
  EXPECT_EQ(ErrorOf("a = broadcast_to(i, (4,)); b = broadcast_to(j, (3, 4))", {}),
            "value 4+12: broadcast_to(i, (4,)) is [4] and contains indices, but the results run over [3, 4]");
  EXPECT_EQ(ErrorOf("b = broadcast_to(j, (3, 4)); a = broadcast_to(i, (4,))", {}),
            "value 33+12: broadcast_to(i, (4,)) is [4] and contains indices, but the results run over [3, 4]");
}

TEST(ExpressionCheckTest, BroadcastTo) {
  const Program program = Checked("broadcast_to(x, (2, 3, 4))", kX);
  EXPECT_THAT(program.space, ElementsAre(2, 3, 4));
  EXPECT_THAT(program.views[0].strides, ElementsAre(0, 4, 1));
  EXPECT_EQ(ResultOf("broadcast_to(2, 5)"), "int64 [5]");
  EXPECT_EQ(ResultOf("x + broadcast_to(1.0, (2, 1, 1))", kX), "float64 [2, 3, 4]");
  EXPECT_EQ(ErrorOf("broadcast_to(x, (4, 3))", kX), "value 0+12: x is [3, 4] and does not broadcast to [4, 3]");
  EXPECT_EQ(ErrorOf("broadcast_to(x, (4,))", kX), "value 0+12: x is [3, 4] and does not broadcast to [4]");
  EXPECT_EQ(ErrorOf("broadcast_to(x, (-1, 4))", kX), "value 16+1: [-1, 4] is no shape; a size cannot be negative");
  EXPECT_EQ(ErrorOf("broadcast_to(x, (1,1,1,1,1,1,1,3,4))", kX),
            "limit 16+1: a shape of 9 axes; at most 8 are possible");
  EXPECT_EQ(ErrorOf("broadcast_to(1, (4611686018427387904, 4))"),
            "limit 16+1: [4611686018427387904, 4] is too large a shape");
  EXPECT_EQ(
      ErrorOf("broadcast_to(1, (4611686018427387904,))"),
      "limit 0+12: out would be int64 [4611686018427387904], more than the 70368744177664 bytes that an array may "
      "have");
  EXPECT_EQ(ErrorOf("a = broadcast_to(1, (4294967296, 1)); b = sum(a); broadcast_to(2, (1, 4294967296))").substr(0, 11),
            "limit 0+1: ");
}

TEST(ExpressionCheckTest, Reductions) {
  const auto output = [](std::string_view text) { return Checked(text, kX).outputs.front(); };
  EXPECT_THAT(output("sum(x)").axes, ElementsAre(0, 1));
  EXPECT_THAT(output("sum(x, axis=-1)").axes, ElementsAre(1));
  EXPECT_THAT(output("sum(x, 0)").axes, ElementsAre(0));
  EXPECT_THAT(output("max(x, axis=(1, 0))").axes, ElementsAre(0, 1));
  EXPECT_THAT(output("argmin(x, axis=None)").axes, ElementsAre(0, 1));
  EXPECT_EQ(output("argmin(x, axis=1)").signature, (Signature{DType::kInt64, {3}}));
  EXPECT_EQ(output("mean(x, axis=0, keepdims=True)").signature, (Signature{DType::kFloat32, {1, 4}}));
  EXPECT_EQ(output("std(x, ddof=1.5)").ddof, 1.5);
  EXPECT_EQ(output("var(x, correction=-1)").ddof, -1);
  EXPECT_THAT(Checked("sum(2)").outputs.front().axes, IsEmpty());
  EXPECT_EQ(ResultOf("sum(x[0, 0], axis=-1)", kX), "float32 []");  // NumPy allows this axis
  // Accumulated in float32, and rounded once.
  const std::vector<NamedInput> half = {Input("x", "float16 8")};
  EXPECT_EQ(NodesOf("mean(x)", half), "float32(view0)");
  EXPECT_EQ(ResultOf("mean(x)", half), "float16 []");
  EXPECT_EQ(NodesOf("sum(x, dtype=float16)", kX), "float32(float16(view0))");
  EXPECT_EQ(NodesOf("sum(x > 0)", kX), "int64(greater(view0, 0:float32))");
  EXPECT_EQ(NodesOf("any(x)", kX), "bool(view0)");
  EXPECT_EQ(NodesOf("max(x > 0)", kX), "greater(view0, 0:float32)");
  EXPECT_EQ(output("prod(x, dtype=bool)").reduction, Reduction::kAll);
  EXPECT_EQ(ResultOf("sum(x, dtype=complex)", kX), "complex128 []");
  EXPECT_EQ(ResultOf("std(x)", {Input("x", "complex64 3")}), "float32 []");
}

TEST(ExpressionCheckTest, ReductionsThatAreWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"2*sum(x)",
       "value 2+3: sum(...) has to be the whole of a statement; give it a name and use that in another expression"},
      {"m = mean(x); x - m",
       "value 17+1: m is a reduction, mean(...), and has its value only when all is computed; use it in another "
       "expression"},
      {"sum(sum(x))",
       "value 4+3: sum(...) has to be the whole of a statement; give it a name and use that in another expression"},
      {"sum(x, axis=2)", "value 12+1: axis 2 is out of bounds for array of dimension 2"},
      {"sum(x, axis=(0, -2))", "value 12+1: duplicate value in 'axis'"},
      {"sum(x, axis=())", "value 12+1: an empty tuple of axes reduces nothing"},
      {"sum(x, axis=1.0)", "type 12+3: \"1.0\" stands where an axis is expected: integers that the text writes out"},
      {"argmax(x, axis=(0, 1))", "type 15+1: argmin and argmax take one axis, or all without axis="},
      {"max(x, x)", "type 0+3: max reduces one array; maximum(x, y) takes two"},
      {"sum(x, 0, float64)", "type 0+3: sum reduces one array, along an axis; 3 arguments without a name are given"},
      {"sum(axis=0)", "type 0+3: sum reduces one array, along an axis; 0 arguments without a name are given"},
      {"sum(x, 0, axis=1)", "type 10+4: axis is given twice"},
      {"sum(x, keepdims=2)", "type 16+1: keepdims is True or False"},
      {"sum(x, ddof=1)", "type 7+4: sum has no argument by the name ddof; it has axis, keepdims and dtype"},
      {"any(x, dtype=int8)", "type 7+5: any has no argument by the name dtype; it has axis and keepdims"},
      {"std(x, ddof=i)", "type 12+1: ddof is a number that the text writes out"},
      {"sum(x, dtype=x)", "type 13+1: \"x\" is no dtype; float32, int64 and so on are"},
      {"max(x*1j)",
       "type 0+3: max is not for complex64; complex numbers have no order here, but real(x) and abs(x) have"},
      {"sum(x*1j, dtype=float32)", "type 0+3: float32 of a complex number loses its imaginary part; write real(x)"},
      {"min(x[:0])", "value 0+3: zero-size array to reduction operation minimum which has no identity"},
      {"min(x[:0, :0], axis=0)", "value 0+3: zero-size array to reduction operation minimum which has no identity"},
      {"argmax(x[:0], axis=0)", "value 0+6: attempt to get argmax of an empty sequence"},
  };
  for (const auto& [text, expected] : wrong) EXPECT_EQ(ErrorOf(text, kX), expected) << text;
  EXPECT_EQ(ResultOf("max(x[:0], axis=1)", kX), "float32 [0]");
  EXPECT_EQ(ResultOf("argmax(x[:0], axis=1)", kX), "int64 [0]");
  EXPECT_EQ(ResultOf("sum(x[:0])", kX), "float32 []");
}

TEST(ExpressionCheckTest, Names) {
  const std::pair<const char*, const char*> wrong[] = {
      {"x + yy", "name 4+2: there is no name \"yy\""},
      {"x + y + zeta", "name 8+4: there is no name \"zeta\""},
      {"x + y + lengthh*length", "name 8+7: there is no name \"lengthh\""},
      {"exq(x) + y", "name 0+3: there is no function \"exq\"; nearest: exp"},
      {"y(x)", "type 0+1: y is no function; \"*\" multiplies, \"[\" takes a part"},
      {"x + y + exp", "name 8+3: exp is a function; write exp(...)"},
      {"x + y + float32", "type 8+7: float32 is a dtype where a value is expected"},
      {"a = x + b; b = y", "name 8+1: b is used before the statement that computes it"},
      {"a = a + x + y", "name 4+1: a is used before the statement that computes it"},
      {"x = y", "name 0+1: x is an input; give the result another name"},
      {"a = x; a = y", "name 7+1: a is the name of two results"},
      {"out = x; y", "name 9+1: out is the name of two results"},
      {"x; y", "syntax 0+1: only the last statement may be without a name; write name = ..."},
      {"_a = x; b = y", "name 0+2: nothing uses _a, and a result whose name begins with _ is no output"},
      {"x + None + y", "type 4+4: \"None\" stands where a value is expected"},
      {"x + (1, 2) + y", "type 4+1: a tuple stands where a value is expected"},
      {"exp(x, y)", "type 0+3: exp takes 1 argument, but 2 are given"},
      {"where(x, y)", "type 0+5: where takes 3 arguments, but 2 are given"},
      {"transpose() + x + y", "type 0+9: transpose takes at least 1 argument, but 0 are given"},
      {"transpose(x, 0, 1, 2, 3, 4, 5, 6, 7, 8) + y",
       "type 0+9: transpose takes at most 9 arguments, but 10 are given"},
      {"add(x, y, out=x)", "type 10+3: add has no argument by the name out"},
  };
  for (const auto& [text, expected] : wrong) EXPECT_EQ(ErrorOf(text, kXY), expected) << text;
  EXPECT_EQ(ErrorOf("x", kXY), "name 0+0: the input y is not in the text");
  EXPECT_EQ(ErrorOf("x", kX, {Given("a", DType::kInt64)}), "name 0+0: the number a is not in the text");
  EXPECT_EQ(ErrorOf("a = x", kX, {Given("a", DType::kInt64)}),
            "name 0+1: a is a number that is given; give the result another name");
  EXPECT_EQ(ErrorOf("x", {kX[0], kX[0]}), "name 0+0: the input x is given twice");
  EXPECT_EQ(ErrorOf("x", kX, {Given("x", DType::kInt64)}), "name 0+0: x is given twice");
  EXPECT_EQ(ErrorOf("x", {Input("a-b", "float32")}),
            "name 0+0: \"a-b\" is no name for an input; letters, digits and _ are");
  EXPECT_EQ(ErrorOf("x", {Input("not", "float32")}), "name 0+0: \"not\" is no name for an input: Python has the word");
  EXPECT_EQ(ErrorOf("x", kX, {Given("\x1b[2J", DType::kInt64)}),
            "name 0+0: \"\\x1b[2J\" is no name for a number; letters, digits and _ are");
}

TEST(ExpressionCheckTest, Types) {
  const std::pair<const char*, const char*> wrong[] = {
      {"x & 1", "type 2+1: \"&\" is not for float32 and int64"},
      {"~x", "type 0+1: \"~\" is not for float32"},
      {"(x > 0) - (x > 1)", "type 8+1: \"-\" is not for bool; \"^\" and logical_xor are"},
      {"-(x > 0)", "type 0+1: \"-\" is not for bool; \"~\" and logical_not are"},
      {"x*1j < 2",
       "type 5+1: \"<\" is not for complex64 and int64; complex numbers have no order here, but real(x) and abs(x) "
       "have"},
      {"x*1j // 2", "type 5+2: \"//\" is not for complex64 and int64"},
      {"1j < 2*x[0,0]",
       "type 3+1: \"<\" is not for complex128 and float32; complex numbers have no order here, but real(x) and abs(x) "
       "have"},
      {"x + (1j // 2)", "type 8+2: \"//\" is not for complex128 and int64"},
      {"x + (1.5 & 2)", "type 9+1: \"&\" is not for float64 and int64"},
      {"uint64(x) | int64(x)", "type 10+1: \"|\" is not for uint64 and int64: no integer dtype holds both; cast one"},
      {"float32(x*1j)", "type 0+7: float32 of a complex number loses its imaginary part; write real(x)"},
      {"bfloat16(x)", "type 0+8: expressions have no bfloat16; float32 holds it"},
      {"astype(x, 3)", "type 10+1: \"3\" is no dtype; float32, int64 and so on are"},
      {"astype(x, bfloat16)", "type 10+8: expressions have no bfloat16; float32 holds it"},
      {"uint8(x) + 300", "value 11+3: Python integer 300 out of bounds for uint8"},
      {"uint8(x) + -1", "value 11+1: Python integer -1 out of bounds for uint8"},
      {"int64(x) + 2**63", "value 12+2: Python integer 9223372036854775808 out of bounds for int64"},
      {"int8(x) + uint8(300)", "value 16+3: Python integer 300 out of bounds for uint8"},
      {"x + int64(inf)", "value 10+3: cannot convert inf to int64"},
      {"int8(x) ** -1", "value 8+2: Integers to negative integer powers are not allowed."},
      {"x + 1//0", "value 5+2: division by zero"},
      {"x + 2**64", "limit 5+2: the integer has more than 64 bits; write it as a float"},
      {"x + (1 << 64)", "limit 7+2: the integer has more than 64 bits; write it as a float"},
      {"x + (1 << -1)", "value 7+2: negative shift count"},
      {"2**2**2**2**2**2 + x", "limit 4+2: the integer has more than 64 bits; write it as a float"},
  };
  for (const auto& [text, expected] : wrong) EXPECT_EQ(ErrorOf(text, kX), expected) << text;
  EXPECT_EQ(ErrorOf("2 + x[0]", {Input("x", "bfloat16 3")}),
            "type 5+1: x[0] is bfloat16, which NumPy lacks and expressions do too; send float32");
  EXPECT_EQ(ErrorOf("x", kX, {Given("a", DType::kFloat32)}),
            "type 0+0: a is float32; a number is bool, int64 or float64");
}

TEST(ExpressionCheckTest, Limits) {
  std::vector<NamedInput> inputs;
  std::string text;
  for (std::size_t i = 0; i <= kMaxInputs; ++i) {
    inputs.push_back(Input("x" + std::to_string(i), "float32 3"));
    text += (i > 0 ? "+x" : "x") + std::to_string(i);
  }
  EXPECT_EQ(ErrorOf(text, inputs), "limit 0+0: 65 inputs are given; at most 64 are possible");
  std::string outputs = "a0 = x";
  for (std::size_t i = 1; i <= kMaxOutputs; ++i) outputs += "; a" + std::to_string(i) + " = x";
  EXPECT_EQ(ErrorOf(outputs, kX), "limit 566+3: there are more than 64 outputs");
  EXPECT_EQ(ErrorOf("x", {Input("x", "float32 1,1,1,1,1,1,1,1,1")}),
            "limit 0+0: x is an array of 9 dimensions; at most 8 are possible");
  EXPECT_EQ(ErrorOf("x", {{"x", {DType::kFloat32, {3, -1}}}}),
            "limit 0+0: x is float32 [3, -1]; no array can have this shape");
  EXPECT_EQ(ErrorOf("x", {{"x", {DType::kFloat32, {1 << 30, 1 << 30}}}}),
            "limit 0+0: x is float32 [1073741824, 1073741824]; no array can have this shape");
  // Casts count too.
  std::string casts;
  for (int i = 0; i < 250; ++i) casts += (i > 0 ? "+ x*" : "x*") + std::to_string(i) + ".5";
  EXPECT_EQ(ErrorOf(casts, {Input("x", "float32 3")}), "no error");
  std::string apart;
  for (int i = 2; i < 125; ++i) apart += "(x+" + std::to_string(i) + "<u*" + std::to_string(i) + ")|";
  apart += "(x<u)";
  EXPECT_EQ(ErrorOf(apart, {Input("x", "int64 3"), Input("u", "uint64 3")}),
            "limit 0+1: the expression needs more than 1024 operations; send it in parts");
}

TEST(ExpressionCheckTest, EachFunctionCanBeCalled) {
  const std::vector<NamedInput> inputs = {Input("x", "float32 2")};
  for (const std::string& name : FunctionNames()) {
    const Function& function = *FindFunction(name);
    std::string text = name + "(x";
    switch (function.kind) {
      case Function::Kind::kOperator:
        for (int i = 1; i < RowOf(function.op).arguments; ++i) text += ", x";
        break;
      case Function::Kind::kAstype:
        text += ", int8";
        break;
      case Function::Kind::kClip:
        text += ", 0, 1";
        break;
      case Function::Kind::kStrided:
        text += ", 0, 2, 1";
        break;
      case Function::Kind::kBroadcastTo:
        text += ", (3, 2)";
        break;
      case Function::Kind::kIndex:
        text = "x + index(0";
        break;
      default:
        break;
    }
    const std::string result = ErrorOf(text + ")", inputs);
    const bool takes_bits =
        function.kind == Function::Kind::kOperator &&
        (RowOf(function.op).operands == Operands::kBits || RowOf(function.op).operands == Operands::kIntegers);
    const bool is_of_bits = takes_bits && result.starts_with("type") && result.ends_with(" is not for float32");
    EXPECT_TRUE(result == "no error" || is_of_bits || name == "bfloat16") << text << "): " << result;
  }
}

TEST(ExpressionCaretTest, ShowsThePlace) {
  const auto shown = [](std::string_view text, std::size_t offset, std::size_t length) {
    return WithCaret({.message = "", .offset = offset, .length = length}, text);
  };
  EXPECT_EQ(shown("x + yy", 4, 2), "x + yy\n    ^~");
  EXPECT_EQ(shown("x +", 3, 1), "x +\n   ^");
  EXPECT_EQ(shown("a = x\nb = y +\n", 13, 1), "b = y +\n       ^");
  EXPECT_EQ(shown("a = x\nb = y", 4, 10), "a = x\n    ^");
  EXPECT_EQ(shown("x", 0, 0), "x");
  EXPECT_EQ(shown("", 0, 1), "\n^");
  EXPECT_EQ(shown("\xc3\xa4 + \xc3\xb6", 5, 2), "\xc3\xa4 + \xc3\xb6\n    ^");
  EXPECT_EQ(shown("\tx\x1b", 1, 1), " x \n ^");
  EXPECT_EQ(shown("x # \u009b31m", 0, 1), "x #  31m\n^");
  const std::string line(300, 'x');
  EXPECT_EQ(shown(line, 200, 3), "..." + std::string(100, 'x') + "...\n" + std::string(63, ' ') + "^~~");
  EXPECT_EQ(shown(line, 299, 5), "..." + std::string(61, 'x') + "\n" + std::string(63, ' ') + "^");
  EXPECT_EQ(shown(line, 10, 200), std::string(100, 'x') + "...\n" + std::string(10, ' ') + "^" + std::string(89, '~'));
  EXPECT_EQ(shown("x", 1000, 1000), "x\n ^");
}

}  // namespace
}  // namespace hotplate::expression
