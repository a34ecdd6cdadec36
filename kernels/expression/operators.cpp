#include "kernels/expression/operators.h"

#include <array>

namespace hotplate::expression {
namespace {

using enum Operator;

// The dtypes are those of NumPy 2's loops, except that complex numbers have no order here: NumPy compares their real
// parts first, which is seldom meant.
constexpr std::array<OperatorRow, kOperatorCount> kRows = {{
    {kAdd, "add", "", 2, Operands::kAny, Result::kSame},
    {kSubtract, "subtract", "", 2, Operands::kNumbers, Result::kSame},
    {kMultiply, "multiply", "", 2, Operands::kAny, Result::kSame},
    {kDivide, "divide", "true_divide", 2, Operands::kQuotient, Result::kSame},
    {kFloorDivide, "floor_divide", "", 2, Operands::kCountable, Result::kSame},
    {kRemainder, "remainder", "mod", 2, Operands::kCountable, Result::kSame},
    {kFmod, "fmod", "", 2, Operands::kCountable, Result::kSame},
    {kPower, "power", "pow", 2, Operands::kArithmetic, Result::kSame},
    {kArctan2, "arctan2", "atan2", 2, Operands::kFloats, Result::kSame},
    {kHypot, "hypot", "", 2, Operands::kFloats, Result::kSame},
    {kCopysign, "copysign", "", 2, Operands::kFloats, Result::kSame},
    {kMaximum, "maximum", "", 2, Operands::kReal, Result::kSame},
    {kMinimum, "minimum", "", 2, Operands::kReal, Result::kSame},
    {kFmax, "fmax", "", 2, Operands::kReal, Result::kSame},
    {kFmin, "fmin", "", 2, Operands::kReal, Result::kSame},
    {kLogAddExp, "logaddexp", "", 2, Operands::kFloats, Result::kSame},
    {kBitAnd, "bitwise_and", "", 2, Operands::kBits, Result::kSame},
    {kBitOr, "bitwise_or", "", 2, Operands::kBits, Result::kSame},
    {kBitXor, "bitwise_xor", "", 2, Operands::kBits, Result::kSame},
    {kLeftShift, "left_shift", "bitwise_left_shift", 2, Operands::kIntegers, Result::kSame},
    {kRightShift, "right_shift", "bitwise_right_shift", 2, Operands::kIntegers, Result::kSame},
    {kLogicalAnd, "logical_and", "", 2, Operands::kBool, Result::kBool},
    {kLogicalOr, "logical_or", "", 2, Operands::kBool, Result::kBool},
    {kLogicalXor, "logical_xor", "", 2, Operands::kBool, Result::kBool},
    {kEqual, "equal", "", 2, Operands::kAny, Result::kBool},
    {kNotEqual, "not_equal", "", 2, Operands::kAny, Result::kBool},
    {kLess, "less", "", 2, Operands::kReal, Result::kBool},
    {kLessEqual, "less_equal", "", 2, Operands::kReal, Result::kBool},
    {kGreater, "greater", "", 2, Operands::kReal, Result::kBool},
    {kGreaterEqual, "greater_equal", "", 2, Operands::kReal, Result::kBool},
    {kComplex, "complex", "", 2, Operands::kParts, Result::kComplex},
    {kNegative, "negative", "", 1, Operands::kNumbers, Result::kSame},
    {kPositive, "positive", "", 1, Operands::kNumbers, Result::kSame},
    {kAbsolute, "absolute", "abs", 1, Operands::kAny, Result::kReal},
    {kSign, "sign", "", 1, Operands::kNumbers, Result::kSame},
    {kSquare, "square", "", 1, Operands::kArithmetic, Result::kSame},
    {kSqrt, "sqrt", "", 1, Operands::kInexact, Result::kSame},
    {kCbrt, "cbrt", "", 1, Operands::kFloats, Result::kSame},
    {kReciprocal, "reciprocal", "", 1, Operands::kArithmetic, Result::kSame},
    {kExp, "exp", "", 1, Operands::kInexact, Result::kSame},
    {kExp2, "exp2", "", 1, Operands::kInexact, Result::kSame},
    {kExpm1, "expm1", "", 1, Operands::kInexact, Result::kSame},
    {kLog, "log", "", 1, Operands::kInexact, Result::kSame},
    {kLog2, "log2", "", 1, Operands::kInexact, Result::kSame},
    {kLog10, "log10", "", 1, Operands::kInexact, Result::kSame},
    {kLog1p, "log1p", "", 1, Operands::kInexact, Result::kSame},
    {kSin, "sin", "", 1, Operands::kInexact, Result::kSame},
    {kCos, "cos", "", 1, Operands::kInexact, Result::kSame},
    {kTan, "tan", "", 1, Operands::kInexact, Result::kSame},
    {kArcsin, "arcsin", "asin", 1, Operands::kInexact, Result::kSame},
    {kArccos, "arccos", "acos", 1, Operands::kInexact, Result::kSame},
    {kArctan, "arctan", "atan", 1, Operands::kInexact, Result::kSame},
    {kSinh, "sinh", "", 1, Operands::kInexact, Result::kSame},
    {kCosh, "cosh", "", 1, Operands::kInexact, Result::kSame},
    {kTanh, "tanh", "", 1, Operands::kInexact, Result::kSame},
    {kArcsinh, "arcsinh", "asinh", 1, Operands::kInexact, Result::kSame},
    {kArccosh, "arccosh", "acosh", 1, Operands::kInexact, Result::kSame},
    {kArctanh, "arctanh", "atanh", 1, Operands::kInexact, Result::kSame},
    {kFloor, "floor", "", 1, Operands::kReal, Result::kSame},
    {kCeil, "ceil", "", 1, Operands::kReal, Result::kSame},
    {kTrunc, "trunc", "", 1, Operands::kReal, Result::kSame},
    {kRint, "rint", "", 1, Operands::kInexact, Result::kSame},
    {kIsNan, "isnan", "", 1, Operands::kInexact, Result::kBool},
    {kIsInf, "isinf", "", 1, Operands::kInexact, Result::kBool},
    {kIsFinite, "isfinite", "", 1, Operands::kInexact, Result::kBool},
    {kSignbit, "signbit", "", 1, Operands::kFloats, Result::kBool},
    {kInvert, "invert", "bitwise_invert", 1, Operands::kBits, Result::kSame},
    {kLogicalNot, "logical_not", "", 1, Operands::kBool, Result::kBool},
    {kReal, "real", "", 1, Operands::kAny, Result::kReal},
    {kImag, "imag", "", 1, Operands::kAny, Result::kReal},
    {kConjugate, "conjugate", "conj", 1, Operands::kArithmetic, Result::kSame},
    {kWhere, "where", "", 3, Operands::kAny, Result::kSame},
}};

constexpr bool IsSortedAsTheEnumeration() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].op != static_cast<Operator>(i)) return false;
  }
  return true;
}
static_assert(IsSortedAsTheEnumeration());

}  // namespace

std::span<const OperatorRow> Operators() { return kRows; }

}  // namespace hotplate::expression
