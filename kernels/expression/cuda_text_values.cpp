#include "kernels/expression/cuda_text_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "kernels/expression/cuda_text.h"

namespace hotplate::expression {
namespace {

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

constexpr struct {
  Operator op;
  const char* name;
} kFunctions[] = {
    // clang-format off
    {Operator::kAdd, "Add"},
    {Operator::kSubtract, "Subtract"},
    {Operator::kMultiply, "Multiply"},
    {Operator::kDivide, "Divide"},
    {Operator::kFloorDivide, "FloorDivide"},
    {Operator::kRemainder, "Remainder"},
    {Operator::kFmod, "Fmod"},
    {Operator::kPower, "Power"},
    {Operator::kArctan2, "Arctan2"},
    {Operator::kHypot, "Hypot"},
    {Operator::kCopysign, "Copysign"},
    {Operator::kMaximum, "Maximum"},
    {Operator::kMinimum, "Minimum"},
    {Operator::kFmax, "Fmax"},
    {Operator::kFmin, "Fmin"},
    {Operator::kLogAddExp, "LogAddExp"},
    {Operator::kBitAnd, "BitAnd"},
    {Operator::kBitOr, "BitOr"},
    {Operator::kBitXor, "BitXor"},
    {Operator::kLeftShift, "LeftShift"},
    {Operator::kRightShift, "RightShift"},
    {Operator::kEqual, "Equal"},
    {Operator::kLess, "Less"},
    {Operator::kLessEqual, "LessEqual"},
    {Operator::kComplex, "Pair"},
    {Operator::kNegative, "Negative"},
    {Operator::kAbsolute, "Absolute"},
    {Operator::kSign, "Sign"},
    {Operator::kSquare, "Square"},
    {Operator::kSqrt, "Sqrt"},
    {Operator::kCbrt, "Cbrt"},
    {Operator::kReciprocal, "Reciprocal"},
    {Operator::kExp, "Exp"},
    {Operator::kExp2, "Exp2"},
    {Operator::kExpm1, "Expm1"},
    {Operator::kLog, "Log"},
    {Operator::kLog2, "Log2"},
    {Operator::kLog10, "Log10"},
    {Operator::kLog1p, "Log1p"},
    {Operator::kSin, "Sin"},
    {Operator::kCos, "Cos"},
    {Operator::kTan, "Tan"},
    {Operator::kArcsin, "Arcsin"},
    {Operator::kArccos, "Arccos"},
    {Operator::kArctan, "Arctan"},
    {Operator::kSinh, "Sinh"},
    {Operator::kCosh, "Cosh"},
    {Operator::kTanh, "Tanh"},
    {Operator::kArcsinh, "Arcsinh"},
    {Operator::kArccosh, "Arccosh"},
    {Operator::kArctanh, "Arctanh"},
    {Operator::kFloor, "Floor"},
    {Operator::kCeil, "Ceil"},
    {Operator::kTrunc, "Trunc"},
    {Operator::kRint, "Rint"},
    {Operator::kIsNan, "IsNan"},
    {Operator::kIsInf, "IsInf"},
    {Operator::kIsFinite, "IsFinite"},
    {Operator::kSignbit, "Signbit"},
    {Operator::kInvert, "Invert"},
    {Operator::kReal, "Real"},
    {Operator::kImag, "Imag"},
    {Operator::kConjugate, "Conjugate"},
    // clang-format on
};

}  // namespace

const char* FunctionOf(Operator op) {
  const auto* const found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions), [op](const auto& row) { return row.op == op; });
  return found == std::end(kFunctions) ? nullptr : found->name;
}

const char* ValueType(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kInt8:
      return "signed char";
    case DType::kInt16:
      return "short";
    case DType::kInt32:
      return "int";
    case DType::kInt64:
      return "I64";
    case DType::kUInt8:
      return "unsigned char";
    case DType::kUInt16:
      return "unsigned short";
    case DType::kUInt32:
      return "unsigned";
    case DType::kUInt64:
      return "U64";
    case DType::kFloat64:
      return "double";
    case DType::kComplex64:
      return "C64";
    case DType::kComplex128:
      return "C128";
    default:
      return "float";
  }
}

const char* MemoryType(DType dtype) {
  if (dtype == DType::kFloat16) return "Half";
  return dtype == DType::kBFloat16 ? "Brain" : ValueType(dtype);
}

std::string CastText(DType from, DType to, const std::string& value, bool exact) {
  std::string source = value;
  if (from == to && (!IsHalf(to) || exact)) return source;
  if (IsHalf(from) && !exact) source = (from == DType::kFloat16 ? "AsHalf(" : "AsBrain(") + source + ")";
  if (from == to) return source;
  if (to == DType::kBool) return "Truth(" + source + ")";
  const std::string type = ValueType(to);
  if (IsComplex(to)) {
    const std::string part = to == DType::kComplex64 ? "(float)" : "(double)";
    if (IsComplex(from)) return "Pair(" + part + source + ".re, " + part + source + ".im)";
    return "Pair(" + part + source + ", " + part + "0)";
  }
  if (IsComplex(from)) {
    source += ".re";
    from = RealPart(from);
  }
  if (IsHalf(to)) {
    const std::string argument = IsFloating(from) && to == DType::kFloat16 ? source : "(float)" + source;
    return (to == DType::kFloat16 ? "AsHalf(" : "AsBrain(") + argument + ")";
  }
  if (IsFloating(from) && IsInteger(to)) return "Integer<" + type + ">::Of((double)" + source + ")";
  return "(" + type + ")" + source;
}

std::uint64_t SlotBits(DType dtype, std::int64_t integer, double number, bool is_integer) {
  std::uint64_t bits = 0;
  const auto put = [&bits](auto value) { std::memcpy(&bits, &value, sizeof value); };
  const double real = is_integer ? static_cast<double>(integer) : number;
  switch (RealPart(dtype)) {
    case DType::kFloat64:
      put(real);
      return bits;
    case DType::kFloat32:
      put(static_cast<float>(real));
      return bits;
    case DType::kBFloat16: {
      const auto narrow = std::bit_cast<std::uint32_t>(static_cast<float>(real));
      put(std::isnan(real) ? narrow : (narrow + 0x7fff + (narrow >> 16 & 1)) & 0xffff0000);
      return bits;
    }
    case DType::kFloat16: {
      // To 11 binary digits, or a multiple of 2^-24; from 65520 on it is infinite.
      if (std::isnan(real) || std::isinf(real) || real == 0) {
        put(static_cast<float>(real));
        return bits;
      }
      const int exponent = std::max(std::ilogb(real), -14);
      const double rounded = std::scalbn(std::nearbyint(std::scalbn(real, 10 - exponent)), exponent - 10);
      put(std::fabs(rounded) >= 65520 ? std::copysign(INFINITY, static_cast<float>(real))
                                      : static_cast<float>(rounded));
      return bits;
    }
    case DType::kBool:
      return (is_integer ? integer != 0 : number != 0) ? 1 : 0;
    default:
      break;
  }
  if (is_integer) return static_cast<std::uint64_t>(integer);
  if (number >= 9223372036854775808.0) return static_cast<std::uint64_t>(number - 9223372036854775808.0) ^ (1ULL << 63);
  return number >= -9223372036854775808.0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) : 1ULL << 63;
}

}  // namespace hotplate::expression
