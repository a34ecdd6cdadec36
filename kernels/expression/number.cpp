#include "kernels/expression/number.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace hotplate::expression {
namespace {

constexpr WideInteger kLimit = WideInteger{1} << 64;

using Outcome = std::variant<Number, NumberError>;

Outcome DivisionByZero() { return NumberError{Error::Kind::kValue, "division by zero"}; }

Outcome Bounded(WideInteger value) {
  if (value >= kLimit || value <= -kLimit) {
    return NumberError{Error::Kind::kLimit, "the integer has more than 64 bits; write it as a float"};
  }
  return Number::Int(value);
}

std::complex<double> AsComplex(const Number& number) {
  return number.kind <= Weak::kInt ? std::complex<double>(static_cast<double>(number.integer)) : number.number;
}
double AsFloat(const Number& number) { return AsComplex(number).real(); }

// Towards minus infinity, and with the divisor's sign.
WideInteger FloorDivide(WideInteger a, WideInteger b) {
  const WideInteger quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// As CPython's float.__divmod__ does: the remainder has the divisor's sign.
struct FloatQuotient {
  double quotient = 0, remainder = 0;
};
FloatQuotient DivideWithRemainder(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((b < 0) != (remainder < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  const double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, remainder};
}

Outcome IntegerPower(WideInteger base, WideInteger exponent) {
  WideInteger power = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && (__builtin_mul_overflow(power, base, &power) || power >= kLimit || power <= -kLimit)) {
      return Bounded(kLimit);
    }
    exponent >>= 1;
    if (exponent == 0) break;
    // Either the power is that of 0, 1 or -1, or it soon has more than 64 bits.
    if (base >= kLimit || base <= -kLimit) return Bounded(kLimit);
    if (__builtin_mul_overflow(base, base, &base)) return Bounded(kLimit);
  }
  return Number::Int(power);
}

Outcome OfFloats(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Number::Float(a + b);
    case Operator::kSubtract:
      return Number::Float(a - b);
    case Operator::kMultiply:
      return Number::Float(a * b);
    case Operator::kDivide:
      return b == 0 ? DivisionByZero() : Number::Float(a / b);
    case Operator::kFloorDivide:
      return b == 0 ? DivisionByZero() : Number::Float(DivideWithRemainder(a, b).quotient);
    case Operator::kRemainder:
      return b == 0 ? DivisionByZero() : Number::Float(DivideWithRemainder(a, b).remainder);
    case Operator::kPower:
      if (a == 0 && b < 0) return DivisionByZero();
      if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
        return Number::Complex(std::pow(std::complex<double>(a), b));
      }
      return Number::Float(std::pow(a, b));
    default:
      return NumberError{Error::Kind::kType, "floats have no such operator"};
  }
}

// By products where the exponent is a small whole number, as CPython does: exact for 2j ** 3.
std::complex<double> ComplexPower(std::complex<double> base, std::complex<double> exponent) {
  constexpr double kMostProducts = 100;
  const double size = std::abs(exponent.real());
  if (exponent.imag() != 0 || size > kMostProducts || size != std::floor(size)) return std::pow(base, exponent);
  std::complex<double> power = 1;
  for (int left = static_cast<int>(size); left > 0; left >>= 1) {
    if ((left & 1) != 0) power *= base;
    base *= base;
  }
  return exponent.real() < 0 ? 1.0 / power : power;
}

Outcome OfComplex(Operator op, std::complex<double> a, std::complex<double> b) {
  switch (op) {
    case Operator::kAdd:
      return Number::Complex(a + b);
    case Operator::kSubtract:
      return Number::Complex(a - b);
    case Operator::kMultiply:
      return Number::Complex(a * b);
    case Operator::kDivide:
      return b == 0.0 ? DivisionByZero() : Number::Complex(a / b);
    case Operator::kPower:
      if (b == 0.0) return Number::Complex(1);
      if (a == 0.0) return b.real() < 0 || b.imag() != 0 ? DivisionByZero() : Number::Complex(0);
      return Number::Complex(ComplexPower(a, b));
    default:
      return NumberError{Error::Kind::kType, "complex numbers have no such operator"};
  }
}

Outcome OfIntegers(Operator op, WideInteger a, WideInteger b, bool are_bools) {
  const auto bits = [&](WideInteger value) { return are_bools ? Number::Bool(value != 0) : Number::Int(value); };
  switch (op) {
    case Operator::kAdd:
      return Bounded(a + b);
    case Operator::kSubtract:
      return Bounded(a - b);
    case Operator::kMultiply: {
      WideInteger product = 0;
      return Bounded(__builtin_mul_overflow(a, b, &product) ? kLimit : product);
    }
    case Operator::kDivide:
      return OfFloats(op, static_cast<double>(a), static_cast<double>(b));
    case Operator::kFloorDivide:
      return b == 0 ? DivisionByZero() : Bounded(FloorDivide(a, b));
    case Operator::kRemainder:
      return b == 0 ? DivisionByZero() : Bounded(a - FloorDivide(a, b) * b);
    case Operator::kPower:
      if (b < 0) return OfFloats(op, static_cast<double>(a), static_cast<double>(b));
      return IntegerPower(a, b);
    case Operator::kBitAnd:
      return bits(a & b);
    case Operator::kBitOr:
      return bits(a | b);
    case Operator::kBitXor:
      return bits(a ^ b);
    case Operator::kLeftShift:
      if (b < 0) return NumberError{Error::Kind::kValue, "negative shift count"};
      if (a == 0) return Number::Int(0);
      return b >= 64 ? Bounded(kLimit)
                     : OfIntegers(Operator::kMultiply, a, WideInteger{1} << static_cast<int>(b), false);
    case Operator::kRightShift:
      if (b < 0) return NumberError{Error::Kind::kValue, "negative shift count"};
      return Number::Int(a >> (b > 100 ? 100 : static_cast<int>(b)));
    default:
      return NumberError{Error::Kind::kType, "integers have no such operator"};
  }
}

template <typename T>
bool Compared(Operator op, T a, T b) {
  switch (op) {
    case Operator::kLess:
      return a < b;
    case Operator::kLessEqual:
      return a <= b;
    case Operator::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

Outcome OfOne(Operator op, const Number& number) {
  const bool is_integer = number.kind <= Weak::kInt;
  switch (op) {
    case Operator::kPositive:
      return is_integer ? Number::Int(number.integer) : number;
    case Operator::kReal:
      return is_integer ? Number::Int(number.integer) : Number::Float(number.number.real());
    case Operator::kImag:
      return is_integer ? Number::Int(0) : Number::Float(number.number.imag());
    case Operator::kNegative:
      if (is_integer) return Number::Int(-number.integer);
      // A complex number's zeros change their signs too.
      return Number{number.kind, 0, number.kind == Weak::kFloat ? -number.number.real() : -number.number};
    case Operator::kInvert:
      return number.kind == Weak::kBool ? Number::Bool(number.integer == 0) : Bounded(~number.integer);
    default:
      return NumberError{Error::Kind::kType, "numbers have no such operator"};
  }
}

// To the nearest of dtype's numbers, ties to the even one.
double Rounded(double value, DType dtype) {
  if (dtype == DType::kFloat32 || dtype == DType::kComplex64) return static_cast<double>(static_cast<float>(value));
  if (dtype != DType::kFloat16 || value == 0 || !std::isfinite(value)) return value;
  constexpr int kFractionBits = 10, kLeastExponent = -14;
  constexpr double kBeyond = 65536;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), kLeastExponent) - kFractionBits);
  const double rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) >= kBeyond ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

}  // namespace

Outcome Compute(Operator op, std::span<const Number> arguments) {
  const Number& a = arguments.front();
  if (arguments.size() == 1) return OfOne(op, a);
  const Number& b = arguments.back();
  const Weak kind = std::max(a.kind, b.kind);
  if (op == Operator::kEqual || op == Operator::kNotEqual) {
    const bool equal = kind <= Weak::kInt ? a.integer == b.integer : AsComplex(a) == AsComplex(b);
    return Number::Bool(equal == (op == Operator::kEqual));
  }
  if (op >= Operator::kLess && op <= Operator::kGreaterEqual && kind < Weak::kComplex) {
    return Number::Bool(kind <= Weak::kInt ? Compared(op, a.integer, b.integer) : Compared(op, AsFloat(a), AsFloat(b)));
  }
  if (kind == Weak::kComplex) return OfComplex(op, AsComplex(a), AsComplex(b));
  if (kind == Weak::kFloat) return OfFloats(op, AsFloat(a), AsFloat(b));
  return OfIntegers(op, a.integer, b.integer, kind == Weak::kBool);
}

int Side(WideInteger integer, DType dtype) {
  const bool is_unsigned = dtype >= DType::kUInt8 && dtype <= DType::kUInt64;
  const int bits = static_cast<int>(8 * SizeOf(dtype)) - (is_unsigned ? 0 : 1);
  const WideInteger beyond = WideInteger{1} << bits;
  return integer >= beyond ? 1 : integer < (is_unsigned ? 0 : -beyond) ? -1 : 0;
}

std::variant<Constant, NumberError> ConstantOf(const Number& number, DType dtype) {
  if (IsInteger(dtype)) {
    if (Side(number.integer, dtype) != 0) {
      return NumberError{Error::Kind::kValue,
                         "Python integer " + TextOf(number) + " out of bounds for " + std::string(Name(dtype))};
    }
    return Constant{.integer = static_cast<std::int64_t>(number.integer)};
  }
  if (dtype == DType::kBool) {
    return Constant{.integer = number.kind <= Weak::kInt ? number.integer != 0 : number.number != 0.0};
  }
  const std::complex<double> value = AsComplex(number);
  return Constant{.number = {Rounded(value.real(), dtype), IsComplex(dtype) ? Rounded(value.imag(), dtype) : 0.0}};
}

std::variant<Constant, NumberError> Converted(const Number& number, DType dtype) {
  if (!IsInteger(dtype) || number.kind != Weak::kFloat) return ConstantOf(number, dtype);
  const double value = std::trunc(number.number.real());
  if (!(std::abs(value) < 0x1p64)) {
    return NumberError{Error::Kind::kValue, "cannot convert " + TextOf(number) + " to " + std::string(Name(dtype))};
  }
  return ConstantOf(Number::Int(static_cast<WideInteger>(value)), dtype);
}

std::string TextOf(const Number& number) {
  if (number.kind == Weak::kBool) return number.integer != 0 ? "True" : "False";
  if (number.kind == Weak::kInt) {
    const bool negative = number.integer < 0;
    const WideInteger size = negative ? -number.integer : number.integer;
    return (negative ? "-" : "") + std::to_string(static_cast<std::uint64_t>(size));
  }
  if (number.kind == Weak::kFloat) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", number.number.real());
    return text;
  }
  return "a complex number";
}

}  // namespace hotplate::expression
