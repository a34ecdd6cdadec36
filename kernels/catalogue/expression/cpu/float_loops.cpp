// Arithmetic, comparisons and tests of float32 and float64.
#include <cmath>
#include <limits>

#include "kernels/catalogue/expression/cpu/make_loop.h"

namespace hotplate::expression {
namespace {

// Python's: the sign of the result is that of y.
template <typename T>
T Remainder(T x, T y) {
  const T rest = std::fmod(x, y);
  if (y == 0) return rest;  // NaN
  if (rest == 0) return std::copysign(T(0), y);
  return (y < 0) != (rest < 0) ? rest + y : rest;
}

// NumPy's, which differs from floor(x / y) where the quotient rounds up to an integer.
template <typename T>
T FloorDivide(T x, T y) {
  if (y == 0) return x / y;
  const T rest = std::fmod(x, y);
  T quotient = (x - rest) / y;
  if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), x / y);
  const T whole = std::floor(quotient);
  return quotient - whole > T(0.5) ? whole + 1 : whole;
}

template <typename T>
Loop ArithmeticOf(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return Wide<T>([](T x, T y) { return x + y; });
    case Operator::kSubtract:
      return Wide<T>([](T x, T y) { return x - y; });
    case Operator::kMultiply:
      return Wide<T>([](T x, T y) { return x * y; });
    case Operator::kDivide:
      return Wide<T>([](T x, T y) { return x / y; });
    case Operator::kFloorDivide:
      return Plain<T>([](T x, T y) { return FloorDivide(x, y); });
    case Operator::kRemainder:
      return Plain<T>([](T x, T y) { return Remainder(x, y); });
    case Operator::kFmod:
      return Plain<T>([](T x, T y) { return std::fmod(x, y); });
    case Operator::kCopysign:
      return Wide<T>([](T x, T y) { return std::copysign(x, y); });
    case Operator::kMaximum:  // NaN if one is; fmax and fmin: the other one
      return Wide<T>([](T x, T y) { return x >= y || x != x ? x : y; });
    case Operator::kMinimum:
      return Wide<T>([](T x, T y) { return x <= y || x != x ? x : y; });
    case Operator::kFmax:
      return Wide<T>([](T x, T y) { return x >= y || y != y ? x : y; });
    case Operator::kFmin:
      return Wide<T>([](T x, T y) { return x <= y || y != y ? x : y; });
    case Operator::kNegative:
      return Wide<T>([](T x) { return -x; });
    case Operator::kAbsolute:
      return Wide<T>([](T x) { return std::fabs(x); });
    case Operator::kSign:  // NaN stays NaN
      return Wide<T>([](T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; });
    case Operator::kSquare:
      return Wide<T>([](T x) { return x * x; });
    case Operator::kSqrt:
      return Wide<T>([](T x) { return std::sqrt(x); });
    case Operator::kReciprocal:
      return Wide<T>([](T x) { return T(1) / x; });
    case Operator::kFloor:
      return Wide<T>([](T x) { return std::floor(x); });
    case Operator::kCeil:
      return Wide<T>([](T x) { return std::ceil(x); });
    case Operator::kTrunc:
      return Wide<T>([](T x) { return std::trunc(x); });
    case Operator::kRint:
      return Wide<T>([](T x) { return std::rint(x); });
    default:
      return nullptr;
  }
}

template <typename T>
Loop TestOf(Operator op) {
  constexpr T kLargest = std::numeric_limits<T>::max();
  switch (op) {
    case Operator::kEqual:
      return Wide<T>([](T x, T y) { return x == y; });
    case Operator::kNotEqual:
      return Wide<T>([](T x, T y) { return x != y; });
    case Operator::kLess:
      return Wide<T>([](T x, T y) { return x < y; });
    case Operator::kLessEqual:
      return Wide<T>([](T x, T y) { return x <= y; });
    case Operator::kGreater:
      return Wide<T>([](T x, T y) { return x > y; });
    case Operator::kGreaterEqual:
      return Wide<T>([](T x, T y) { return x >= y; });
    case Operator::kIsNan:
      return Wide<T>([](T x) { return x != x; });
    case Operator::kIsInf:
      return Wide<T>([](T x) { return std::fabs(x) > kLargest; });
    case Operator::kIsFinite:
      return Wide<T>([](T x) { return std::fabs(x) <= kLargest; });
    case Operator::kSignbit:
      return Wide<T>([](T x) { return std::copysign(T(1), x) < 0; });
    default:
      return nullptr;
  }
}

}  // namespace

Loop FloatLoop(Operator op, DType operands) {
  const bool wide = operands == DType::kFloat64;
  if (const Loop loop = wide ? ArithmeticOf<double>(op) : ArithmeticOf<float>(op)) return loop;
  return wide ? TestOf<double>(op) : TestOf<float>(op);
}

}  // namespace hotplate::expression
