// The dtypes of all functions for all pairs of dtypes, as NumPy 2 told them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/expression/functions.h"
#include "kernels/expression/operators.h"
#include "kernels/expression/promote.h"
#include "tests/unit/expression/checked.h"
#include "tests/unit/expression/numpy2_promotion.h"

namespace hotplate::expression {
namespace {

constexpr std::size_t kDTypes = std::size(numpy2::kDTypes), kNumbers = std::size(numpy2::kNumbers);

std::string Array(std::size_t dtype) { return std::string(numpy2::kDTypes[dtype]) + " 2"; }
std::string Number(std::size_t number) { return std::string(numpy2::kNumbers[number]); }
bool IsComplexLetter(std::size_t dtype) { return numpy2::kDTypes[dtype].starts_with("complex"); }

// The letter of a text's result.
char LetterOf(const std::string& text, const std::vector<NamedInput>& inputs) {
  const std::variant<Program, Error> checked = Check(text, inputs, {});
  if (const Error* const error = std::get_if<Error>(&checked)) {
    EXPECT_EQ(error->kind, Error::Kind::kType) << text << ": " << error->message;
    return '-';
  }
  const std::string_view dtype = Name(std::get<Program>(checked).outputs.front().signature.dtype);
  const auto place = std::ranges::find(numpy2::kDTypes, dtype) - std::begin(numpy2::kDTypes);
  return numpy2::kLetters[static_cast<std::size_t>(place)];
}

// NumPy orders complex numbers by their real parts first; here they have no order.
bool HasOrder(std::string_view name) {
  constexpr std::string_view kNames[] = {"maximum", "minimum",       "fmax", "fmin", "less",   "less_equal",
                                         "greater", "greater_equal", "min",  "max",  "argmin", "argmax"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

TEST(ExpressionPromotionTest, FunctionsOfOne) {
  for (const numpy2::One& row : numpy2::kOne) {
    const std::string name(row.name);
    std::string dtypes, numbers;
    for (std::size_t i = 0; i < kDTypes; ++i) dtypes += LetterOf(name + "(x)", {Input("x", Array(i))});
    for (std::size_t i = 0; i < kNumbers; ++i) numbers += LetterOf(name + "(" + Number(i) + ")", {});
    EXPECT_EQ(dtypes, row.dtypes) << name;
    EXPECT_EQ(numbers, row.numbers) << name;
  }
}

std::string CallOf(std::string_view name, const std::string& x, const std::string& y) {
  return std::string(name) + (name == "where" ? "(True, " : "(") + x + ", " + y + ")";
}

TEST(ExpressionPromotionTest, FunctionsOfTwo) {
  for (const numpy2::Two& row : numpy2::kTwo) {
    std::string dtypes, right, left, numbers, expected(row.dtypes);
    std::string expected_right(row.number_on_the_right), expected_left(row.number_on_the_left),
        expected_numbers(row.numbers);
    constexpr std::size_t kComplexNumber = kNumbers - 1;
    for (std::size_t i = 0; i < kDTypes; ++i) {
      const std::string blank = i == 0 ? "" : " ";
      dtypes += blank, right += blank, left += blank;
      for (std::size_t j = 0; j < kDTypes; ++j) {
        dtypes += LetterOf(CallOf(row.name, "x", "y"), {Input("x", Array(i)), Input("y", Array(j))});
        if (HasOrder(row.name) && (IsComplexLetter(i) || IsComplexLetter(j))) expected[i * (kDTypes + 1) + j] = '-';
      }
      for (std::size_t j = 0; j < kNumbers; ++j) {
        right += LetterOf(CallOf(row.name, "x", Number(j)), {Input("x", Array(i))});
        left += LetterOf(CallOf(row.name, Number(j), "x"), {Input("x", Array(i))});
        if (!HasOrder(row.name) || (!IsComplexLetter(i) && j != kComplexNumber)) continue;
        expected_right[i * (kNumbers + 1) + j] = expected_left[i * (kNumbers + 1) + j] = '-';
      }
    }
    for (std::size_t i = 0; i < kNumbers; ++i) {
      numbers += i == 0 ? "" : " ";
      for (std::size_t j = 0; j < kNumbers; ++j) {
        numbers += LetterOf(CallOf(row.name, Number(i), Number(j)), {});
        const bool refused = HasOrder(row.name) && (i == kComplexNumber || j == kComplexNumber);
        if (refused) expected_numbers[i * (kNumbers + 1) + j] = '-';
      }
    }
    EXPECT_EQ(dtypes, expected) << row.name;
    EXPECT_EQ(right, expected_right) << row.name;
    EXPECT_EQ(left, expected_left) << row.name;
    EXPECT_EQ(numbers, expected_numbers) << row.name;
  }
}

TEST(ExpressionPromotionTest, Reductions) {
  for (const numpy2::Reduced& row : numpy2::kReductions) {
    std::string dtypes, expected(row.dtypes);
    for (std::size_t i = 0; i < kDTypes; ++i) {
      dtypes += LetterOf(std::string(row.name) + "(x)", {Input("x", Array(i))});
      if (HasOrder(row.name) && IsComplexLetter(i)) expected[i] = '-';
    }
    EXPECT_EQ(dtypes, expected) << row.name;
  }
}

TEST(ExpressionPromotionTest, TheTableHasEachOperator) {
  std::set<std::string_view> tested = {"complex"};  // which NumPy has not; below
  for (const numpy2::One& row : numpy2::kOne) tested.insert(row.name);
  for (const numpy2::Two& row : numpy2::kTwo) tested.insert(row.name);
  for (const OperatorRow& row : Operators()) {
    EXPECT_TRUE(tested.contains(row.name)) << row.name;
    EXPECT_EQ(FindFunction(row.name)->op, row.op);
    const std::string_view other = row.alias.empty() ? row.name : row.alias;
    EXPECT_EQ(FindFunction(other)->op, row.op);
  }
}

TEST(ExpressionPromotionTest, ComplexOfParts) {
  std::string dtypes;
  for (std::size_t i = 0; i < kDTypes; ++i) dtypes += LetterOf("complex(x, x)", {Input("x", Array(i))});
  EXPECT_EQ(dtypes, "DDDDDDDDDFFD--");
  EXPECT_EQ(LetterOf("complex(x, 1)", {Input("x", "float32 2")}), 'F');
  EXPECT_EQ(LetterOf("complex(1, 2)", {}), 'D');
}

// Signs between numbers are Python's: what they give is still a number, and takes the dtype beside it.
TEST(ExpressionPromotionTest, NumbersStayWeakThroughSigns) {
  const std::vector<NamedInput> half = {Input("x", "float16 2")};
  EXPECT_EQ(ResultOf("2*3.5*x + 1/3", half), "float16 [2]");
  EXPECT_EQ(ResultOf("x * (pi > 3)", half), "float16 [2]");
  EXPECT_EQ(ResultOf("exp(2)*x", half), "float64 [2]");  // as in NumPy, where exp(2) is a float64
  EXPECT_EQ(ResultOf("x * (a*2)", half, {Given("a", DType::kFloat64)}), "float16 [2]");
  EXPECT_EQ(ResultOf("x * (a/2)", {Input("x", "int8 2")}, {Given("a", DType::kInt64)}), "float64 [2]");
  EXPECT_EQ(ResultOf("_c = 2.0; x*_c", half), "float16 [2]");
  EXPECT_EQ(ResultOf("True + True"), "int64 []");
  EXPECT_EQ(ResultOf("(-8) ** (1/3)"), "complex128 []");
  EXPECT_EQ(ResultOf("2 ** -1"), "float64 []");
}

TEST(ExpressionPromotionTest, GivenNumbersAreWeakByTheirDType) {
  const std::pair<DType, std::string> kinds[] = {
      {DType::kBool, "obBhHiIlLefdFD"}, {DType::kInt64, "lbBhHiIlLefdFD"}, {DType::kFloat64, "dddddddddefdFD"}};
  for (const auto& [dtype, expected] : kinds) {
    std::string dtypes;
    for (std::size_t i = 0; i < kDTypes; ++i) {
      const std::vector<NamedInput> inputs = {Input("x", Array(i))};
      const std::vector<Scalar> scalars = {Given("a", dtype)};
      const Program program = Checked("x * a", inputs, scalars);
      const auto place = std::ranges::find(numpy2::kDTypes, Name(program.outputs.front().signature.dtype));
      dtypes += numpy2::kLetters[static_cast<std::size_t>(place - std::begin(numpy2::kDTypes))];
      EXPECT_EQ(Checked("a * x", inputs, scalars).outputs.front().signature, program.outputs.front().signature);
    }
    EXPECT_EQ(dtypes, expected) << Name(dtype);
  }
}

}  // namespace
}  // namespace hotplate::expression
