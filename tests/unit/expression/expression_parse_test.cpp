// The grammar: what binds to what, and what is refused before anyone asks what the names are.
#include <gtest/gtest.h>

#include <string>

#include "kernels/expression/lexer.h"
#include "kernels/expression/parse.h"
#include "tests/unit/expression/checked.h"

namespace hotplate::expression {
namespace {

// With all parentheses.
std::string Shown(const Syntax& syntax, int at) {
  const SyntaxNode& node = syntax.nodes[static_cast<std::size_t>(at)];
  const std::span<const int> children = syntax.ChildrenOf(node);
  const auto list = [&](std::size_t from) {
    std::string text;
    for (std::size_t i = from; i < children.size(); ++i) text += (i > from ? ", " : "") + Shown(syntax, children[i]);
    return text;
  };
  const auto child = [&](std::size_t i) { return Shown(syntax, children[i]); };
  switch (node.kind) {
    case SyntaxNode::Kind::kInteger:
      return std::to_string(node.integer);
    case SyntaxNode::Kind::kFloat:
    case SyntaxNode::Kind::kImaginary: {
      char text[32];
      std::snprintf(text, sizeof text, "%g%s", node.number, node.kind == SyntaxNode::Kind::kImaginary ? "j" : "");
      return text;
    }
    case SyntaxNode::Kind::kBool:
      return node.integer != 0 ? "True" : "False";
    case SyntaxNode::Kind::kNone:
      return "None";
    case SyntaxNode::Kind::kEllipsis:
      return "...";
    case SyntaxNode::Kind::kName:
      return std::string(node.text);
    case SyntaxNode::Kind::kUnary:
      return "(" + std::string(RowOf(node.op).name) + " " + child(0) + ")";
    case SyntaxNode::Kind::kBinary:
      return "(" + child(0) + " " + std::string(RowOf(node.op).name) + " " + child(1) + ")";
    case SyntaxNode::Kind::kCall:
      return std::string(node.text) + "(" + list(0) + ")";
    case SyntaxNode::Kind::kKeyword:
      return std::string(node.text) + "=" + child(0);
    case SyntaxNode::Kind::kTuple:
      return "tuple(" + list(0) + ")";
    case SyntaxNode::Kind::kSubscript:
      return child(0) + "[" + list(1) + "]";
    case SyntaxNode::Kind::kSlice:
      return child(0) + ":" + child(1) + ":" + child(2);
    case SyntaxNode::Kind::kTranspose:
      return child(0) + ".T";
  }
  return "?";
}

// Statements, or the error: "2+1: ...".
std::string Parsed(std::string_view text) {
  const std::variant<Syntax, Error> parsed = Parse(text);
  if (const Error* const error = std::get_if<Error>(&parsed)) {
    return std::string(NameOf(error->kind)) + " " + std::to_string(error->offset) + "+" +
           std::to_string(error->length) + ": " + error->message;
  }
  const Syntax& syntax = std::get<Syntax>(parsed);
  std::string shown;
  for (const Statement& statement : syntax.statements) {
    if (!shown.empty()) shown += "; ";
    if (!statement.name.empty()) shown += std::string(statement.name) + " = ";
    shown += Shown(syntax, statement.root);
  }
  return shown;
}

TEST(ExpressionParseTest, BindsAsPythonDoes) {
  const std::pair<const char*, const char*> shown[] = {
      {"a + b*c", "(a add (b multiply c))"},
      {"a - b - c", "((a subtract b) subtract c)"},
      {"a / b // c % d", "(((a divide b) floor_divide c) remainder d)"},
      {"-a ** -b ** c", "(negative (a power (negative (b power c))))"},
      {"a ** b ** c", "(a power (b power c))"},
      {"(a ** b) ** c", "((a power b) power c)"},
      {"-a * b", "((negative a) multiply b)"},
      {"~a & b | c ^ d", "(((invert a) bitwise_and b) bitwise_or (c bitwise_xor d))"},
      {"a << 1 + b >> c", "((a left_shift (1 add b)) right_shift c)"},
      {"a < b | c", "(a less (b bitwise_or c))"},
      {"a < b and not c == d or e", "(((a less b) bitwise_and (invert (c equal d))) bitwise_or e)"},
      {"not not a", "(invert (invert a))"},
      {"(a != b) >= (c <= d) > e", "syntax 21+1: comparisons do not chain; write (a < b) & (b < c)"},
      {"+-~a", "(positive (negative (invert a)))"},
      {"f(a, g(), h(b)[0].T)", "f(a, g(), h(b)[0].T)"},
      {"sum(x*y, axis=(0, 1), keepdims=True,)", "sum((x multiply y), axis=tuple(0, 1), keepdims=True)"},
      {"x[1:-1, ::2, :, 3, None, ..., a:b:c]",
       "x[1:(negative 1):None, None:None:2, None:None:None, 3, None, ..., a:b:c]"},
      {"x[i, (j + 1) % 10][0]", "x[i, ((j add 1) remainder 10)][0]"},
      {"x[0,]", "x[0]"},
      {"((a,), ())", "tuple(tuple(a), tuple())"},
      {"((a))", "a"},
  };
  for (const auto& [text, expected] : shown) EXPECT_EQ(Parsed(text), expected) << text;
}

TEST(ExpressionParseTest, Statements) {
  EXPECT_EQ(Parsed("_d = x - y; d = sqrt(_d*_d);\n\n near = _d < 1\n;"),
            "_d = (x subtract y); d = sqrt((_d multiply _d)); near = (_d less 1)");
  EXPECT_EQ(Parsed("a == b"), "(a equal b)");
  EXPECT_EQ(Parsed("sum(x,\n axis=0) # a comment; with = signs\nx[\n0\n]"), "sum(x, axis=0); x[0]");
  EXPECT_EQ(Parsed("a + \\\n b"), "(a add b)");
}

TEST(ExpressionParseTest, Numbers) {
  EXPECT_EQ(Parsed("0; 12; 1_000; 0x1F; 0o17; 0b101; 18446744073709551615"),
            "0; 12; 1000; 31; 15; 5; 18446744073709551615");
  EXPECT_EQ(Parsed("2.5; .5; 1.; 1e-3; 1E+3; 2j; 1.5e1J; 1_0.2_5; 0e0; 00"),
            "2.5; 0.5; 1; 0.001; 1000; 2j; 15j; 10.25; 0; 0");
  const std::pair<const char*, const char*> wrong[] = {
      {"x + 012", "syntax 4+3: 012 is no number"},
      {"1__0", "syntax 0+4: 1__0 is no number"},
      {"1_", "syntax 0+2: 1_ is no number"},
      {"1_.5", "syntax 0+4: 1_.5 is no number"},
      {"1.5_", "syntax 0+4: 1.5_ is no number"},
      {"0x", "syntax 0+2: 0x is no number"},
      {"0b2", "syntax 0+3: 0b2 is no number"},
      {"0z1", "syntax 0+3: 0z1 is no number"},
      {"2x", "syntax 0+2: 2x is no number"},
      {"1.2.3", "syntax 0+5: 1.2.3 is no number"},
      {"1e", "syntax 0+2: 1e is no number"},
      {"1e400", "limit 0+5: 1e400 is out of the range of float64"},
      {"18446744073709551616",
       "limit 0+20: the integer 18446744073709551616 has more than 64 bits; write it as a float"},
  };
  for (const auto& [text, expected] : wrong) EXPECT_EQ(Parsed(text), expected) << text;
}

TEST(ExpressionParseTest, WhatIsWrong) {
  const std::pair<std::string, const char*> wrong[] = {
      {"", "syntax 0+1: the text is empty"},
      {" ;\n# nothing", "syntax 0+1: the text is empty"},
      {"x +", "syntax 3+1: the text ends where a value is expected"},
      {"x +; y", "syntax 3+1: the statement ends where a value is expected"},
      {"x + * y", "syntax 4+1: \"*\" stands where a value is expected"},
      {"x y", "syntax 2+1: \"y\" stands where an operator is expected"},
      {"(x + y", "syntax 0+1: \"(\" is never closed"},
      {"f(x[1", "syntax 3+1: \"[\" is never closed"},
      {"(x]", "syntax 2+1: \"]\" stands where \")\" is expected"},
      {"x[1)", "syntax 3+1: \")\" stands where \"]\" is expected"},
      {"x)", "syntax 1+1: \")\" was never opened"},
      {"x, y", "syntax 1+1: a statement is one expression; \";\" separates statements"},
      {"x[]", "syntax 2+1: \"]\" stands where an index is expected"},
      {"x[,]", "syntax 2+1: \",\" stands where a value is expected"},
      {"x[1:2:3:4]", "syntax 7+1: \":\" stands where \"]\" is expected"},
      {"x[0] = y", "syntax 5+1: only a name may stand before \"=\"; \"==\" compares"},
      {"True = y", "syntax 0+4: \"True\" is no name for a result"},
      {"x @ y", "syntax 2+1: there is no matrix product in an expression; the kernel matmul computes it"},
      {"!x", "syntax 0+1: \"!\" has no meaning in an expression; \"~\" or \"not\" negates"},
      {"x if y else z", "syntax 2+2: there is no if in an expression; write where(condition, x, y)"},
      {"x + not y", "syntax 4+3: \"not\" has to stand in parentheses here, as (not x)"},
      {"lambda", "syntax 0+6: \"lambda\" stands where a value is expected"},
      {"x(1)(2)", "syntax 4+1: only a function's name may stand before \"(\"; \"*\" multiplies"},
      {"2(x)", "syntax 1+1: only a function's name may stand before \"(\"; \"*\" multiplies"},
      {"f(axis=1, x)", "syntax 10+1: an argument without a name stands after one with a name"},
      {"np.exp(x)", "syntax 3+3: .exp has no meaning in an expression, write exp alone"},
      {"x.sum()", "syntax 2+3: .sum has no meaning in an expression, only .T has; functions are written as in sum(x)"},
      {"x.1", "syntax 1+2: \".1\" stands where an operator is expected"},
      {"x $ y", "syntax 2+1: \"$\" has no meaning in an expression"},
      {"x \xc3\x97 y", "syntax 2+2: \"\xc3\x97\" has no meaning in an expression"},
      {std::string("x # \0\ny", 7), "syntax 4+1: the byte 0x00 has no meaning in an expression"},
      {"x \u202e y", "syntax 2+3: the byte 0xe2 has no meaning in an expression"},
      {"x \x1b[2J", "syntax 2+1: the byte 0x1b has no meaning in an expression"},
      {"x \xff", "syntax 2+1: the byte 0xff has no meaning in an expression"},
      {"x \xe2\x80", "syntax 2+1: the byte 0xe2 has no meaning in an expression"},
      {std::string("x\0y", 3), "syntax 1+1: the byte 0x00 has no meaning in an expression"},
      {"'x'", "syntax 0+1: \"'\" has no meaning in an expression"},
      {"a < b < c", "syntax 6+1: comparisons do not chain; write (a < b) & (b < c)"},
  };
  for (const auto& [text, expected] : wrong) EXPECT_EQ(Parsed(text), expected) << text;
}

TEST(ExpressionParseTest, Limits) {
  const auto repeated = [](const std::string& part, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += part;
    return text;
  };
  EXPECT_EQ(Parsed(std::string(1'000'000, '(')), "limit 0+1: the text has 1000000 bytes; at most 65536 are possible");
  // The statement is one level itself. Brackets are told at what follows them.
  const std::string deep = "+1: brackets and signs nest deeper than 200 levels";
  EXPECT_EQ(Parsed(repeated("(", 60'000)), "limit 200" + deep);
  EXPECT_EQ(Parsed(repeated("-", 60'000)), "limit 199" + deep);
  EXPECT_EQ(Parsed(repeated("~", 60'000) + "x"), "limit 199" + deep);
  EXPECT_EQ(Parsed(repeated("f(", 20'000)).substr(0, 13), "limit 400+1: ");
  EXPECT_EQ(Parsed(repeated("x[", 20'000)).substr(0, 13), "limit 400+1: ");
  EXPECT_EQ(Parsed(repeated("not ", 10'000)).substr(0, 13), "limit 796+3: ");
  EXPECT_EQ(Parsed("x" + repeated("**x", 300)).substr(0, 9), "limit 598");
  EXPECT_EQ(Parsed(repeated("(", 199) + "x" + repeated(")", 199)), "x");
  // Long chains do not nest.
  EXPECT_EQ(Parsed("x" + repeated("+x", 511)).substr(0, 1), "(");
  EXPECT_EQ(Parsed("x" + repeated("+x", 512)),
            "limit 1023+1: the text has more than 1024 names, numbers and operations");
  EXPECT_EQ(Parsed(repeated("a;", 1025)), "limit 2048+1: the text has more than 1024 names, numbers and operations");
}

TEST(ExpressionParseTest, Identifiers) {
  for (const char* const name : {"x", "_", "_x1", "T", "Not", "exp"}) EXPECT_TRUE(IsIdentifier(name)) << name;
  for (const char* const name : {"", "1x", "x y", "x-y", "x\n", "not", "None", "lambda", "\xc3\xa4"}) {
    EXPECT_FALSE(IsIdentifier(name)) << name;
  }
}

}  // namespace
}  // namespace hotplate::expression
