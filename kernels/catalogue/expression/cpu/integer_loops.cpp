// Integers wrap: what does not depend on the sign is computed unsigned. Division by zero gives 0, as in NumPy.
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/catalogue/expression/cpu/convert.h"
#include "kernels/catalogue/expression/cpu/make_loop.h"

namespace hotplate::expression {
namespace {

// Narrow operands would become int, whose product may overflow.
template <typename U>
using AtLeast32 = std::conditional_t<sizeof(U) < 4, std::uint32_t, U>;

template <typename U>
U Power(U x, U exponent) {
  AtLeast32<U> power = 1, base = x;
  for (; exponent != 0; exponent = static_cast<U>(exponent >> 1), base *= base) {
    if ((exponent & 1) != 0) power *= base;
  }
  return static_cast<U>(power);
}

// The lowest number divided by -1 wraps; the processor would trap.
template <typename T>
T FloorDivide(T x, T y) {
  if (y == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x));
    return static_cast<T>(x / y - (x % y != 0 && (x < 0) != (y < 0)));
  }
  return static_cast<T>(x / y);
}
template <typename T>
T Fmod(T x, T y) {  // the sign is that of x
  if (y == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return 0;
  }
  return static_cast<T>(x % y);
}
template <typename T>
T Remainder(T x, T y) {  // the sign is that of y
  const T rest = Fmod(x, y);
  return static_cast<T>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

// A negative count of bits is as one that is too large.
template <typename T>
constexpr std::make_unsigned_t<T> kBits = std::numeric_limits<std::make_unsigned_t<T>>::digits;

template <typename T>
T RightShift(T x, T count) {
  using U = std::make_unsigned_t<T>;
  if (static_cast<U>(count) < kBits<T>) return static_cast<T>(x >> count);
  return static_cast<T>(x < 0 ? -1 : 0);
}

template <typename U>
Loop Unsigned(Operator op) {
  using W = AtLeast32<U>;
  switch (op) {
    case Operator::kAdd:
      return Plain<U>([](U x, U y) { return static_cast<U>(x + y); });
    case Operator::kSubtract:
      return Plain<U>([](U x, U y) { return static_cast<U>(x - y); });
    case Operator::kMultiply:
      return Plain<U>([](U x, U y) { return static_cast<U>(W{x} * W{y}); });
    case Operator::kPower:
      return Plain<U>([](U x, U y) { return Power(x, y); });
    case Operator::kSquare:
      return Plain<U>([](U x) { return static_cast<U>(W{x} * W{x}); });
    case Operator::kNegative:
      return Plain<U>([](U x) { return static_cast<U>(0 - x); });
    case Operator::kBitAnd:
      return Plain<U>([](U x, U y) { return static_cast<U>(x & y); });
    case Operator::kBitOr:
      return Plain<U>([](U x, U y) { return static_cast<U>(x | y); });
    case Operator::kBitXor:
      return Plain<U>([](U x, U y) { return static_cast<U>(x ^ y); });
    case Operator::kInvert:
      return Plain<U>([](U x) { return static_cast<U>(~x); });
    case Operator::kLeftShift:
      return Plain<U>([](U x, U y) { return static_cast<U>(y < kBits<U> ? W{x} << y : W{0}); });
    case Operator::kEqual:
      return Plain<U>([](U x, U y) { return x == y; });
    case Operator::kNotEqual:
      return Plain<U>([](U x, U y) { return x != y; });
    default:
      return nullptr;
  }
}

template <typename T>
Loop BySign(Operator op) {
  switch (op) {
    case Operator::kFloorDivide:
      return Plain<T>([](T x, T y) { return FloorDivide(x, y); });
    case Operator::kRemainder:
      return Plain<T>([](T x, T y) { return Remainder(x, y); });
    case Operator::kFmod:
      return Plain<T>([](T x, T y) { return Fmod(x, y); });
    case Operator::kMaximum:
    case Operator::kFmax:
      return Plain<T>([](T x, T y) { return x > y ? x : y; });
    case Operator::kMinimum:
    case Operator::kFmin:
      return Plain<T>([](T x, T y) { return x < y ? x : y; });
    case Operator::kRightShift:
      return Plain<T>([](T x, T y) { return RightShift(x, y); });
    case Operator::kLess:
      return Plain<T>([](T x, T y) { return x < y; });
    case Operator::kLessEqual:
      return Plain<T>([](T x, T y) { return x <= y; });
    case Operator::kGreater:
      return Plain<T>([](T x, T y) { return x > y; });
    case Operator::kGreaterEqual:
      return Plain<T>([](T x, T y) { return x >= y; });
    case Operator::kAbsolute:  // of the lowest number: itself
      return Plain<T>([](T x) { return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x; });
    case Operator::kSign:
      return Plain<T>([](T x) { return static_cast<T>((x > 0) - (x < 0)); });
    case Operator::kReciprocal:
      return Plain<T>([](T x) { return Convert<T>(1 / static_cast<double>(x)); });
    default:
      return nullptr;
  }
}

template <typename T>
Loop Of(Operator op) {
  const Loop loop = BySign<T>(op);
  return loop != nullptr ? loop : Unsigned<std::make_unsigned_t<T>>(op);
}

}  // namespace

Loop IntegerLoop(Operator op, DType operands) {
  switch (operands) {
    case DType::kInt8:
      return Of<std::int8_t>(op);
    case DType::kInt16:
      return Of<std::int16_t>(op);
    case DType::kInt32:
      return Of<std::int32_t>(op);
    case DType::kInt64:
      return Of<std::int64_t>(op);
    case DType::kUInt8:
      return Of<std::uint8_t>(op);
    case DType::kUInt16:
      return Of<std::uint16_t>(op);
    case DType::kUInt32:
      return Of<std::uint32_t>(op);
    case DType::kUInt64:
      return Of<std::uint64_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace hotplate::expression
