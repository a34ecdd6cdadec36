// The operators and functions of expressions: a visible table with the name of each in texts, in NumPy and in CUDA.
// Standard library only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hotplate::expression {

enum class Operator : std::uint8_t {
  // of two
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kFmod,
  kPower,
  kArctan2,
  kHypot,
  kCopysign,
  kMaximum,
  kMinimum,
  kFmax,
  kFmin,
  kLogAddExp,
  kBitAnd,
  kBitOr,
  kBitXor,
  kLeftShift,
  kRightShift,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kComplex,  // complex(real, imag)
  // of one
  kNegative,
  kPositive,
  kAbsolute,
  kSign,
  kSquare,
  kSqrt,
  kCbrt,
  kReciprocal,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kArcsin,
  kArccos,
  kArctan,
  kSinh,
  kCosh,
  kTanh,
  kArcsinh,
  kArccosh,
  kArctanh,
  kFloor,
  kCeil,
  kTrunc,
  kRint,
  kIsNan,
  kIsInf,
  kIsFinite,
  kSignbit,
  kInvert,
  kLogicalNot,
  kReal,
  kImag,
  kConjugate,
  // of three
  kWhere,  // where(condition, x, y)
};

inline constexpr int kOperatorCount = static_cast<int>(Operator::kWhere) + 1;

// Which dtypes an operator computes in, after NumPy's promotion of its arguments.
enum class Operands : std::uint8_t {
  kAny,         // bool, integers, floats, complex
  kNumbers,     // not bool (NumPy: TypeError, "the boolean subtract is not supported")
  kReal,        // bool, integers and floats: ordered
  kInexact,     // floats and complex; integers and bool become float64, or the smallest float that NumPy takes for them
  kFloats,      // the same without complex
  kIntegers,    // integers only; bool becomes int8
  kBits,        // bool and integers
  kBool,        // all are converted to bool
  kArithmetic,  // integers, floats and complex; bool becomes int8
  kCountable,   // the same without complex
  kQuotient,    // floats and complex; integers and bool become float64
  kParts,       // float32 and float64, of a complex number; integers and bool become float64, float16 float32
};

enum class Result : std::uint8_t {
  kSame,  // as the operands
  kBool,
  kReal,     // the real part's dtype (absolute of a complex number)
  kComplex,  // the complex dtype of a float
};

struct OperatorRow {
  Operator op;
  std::string_view name;   // in texts and in NumPy: "add", "arctan2"
  std::string_view alias;  // another one, as the Array API standard has it ("atan2"), or ""
  int arguments;
  Operands operands;
  Result result;
};

// Sorted as the enumeration is.
std::span<const OperatorRow> Operators();
inline const OperatorRow& RowOf(Operator op) { return Operators()[static_cast<std::size_t>(op)]; }

}  // namespace hotplate::expression
