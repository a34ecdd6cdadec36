// Functions of float32 and float64, by libmvec.
#include <cmath>

#include "kernels/catalogue/expression/cpu/make_loop.h"
#include "kernels/families/elementwise_math.h"

namespace hotplate::expression {
namespace {

// log(exp(x) + exp(y)) without overflow. Both may be the same infinity, whose difference would be NaN.
template <typename T>
HOTPLATE_INLINE T LogAddExp(T x, T y) {
  const T difference = x == y ? T(0) : x - y;
  return (x > y ? x : y) + math::Log1p(math::Exp(-std::fabs(difference)));
}

template <typename T>
Loop FunctionOf(Operator op) {
  switch (op) {
    case Operator::kPower:
      return Wide<T>([](T x, T y) { return math::Pow(x, y); });
    case Operator::kArctan2:
      return Wide<T>([](T x, T y) { return math::Atan2(x, y); });
    case Operator::kHypot:
      return Wide<T>([](T x, T y) { return math::Hypot(x, y); });
    case Operator::kLogAddExp:
      return Wide<T>([](T x, T y) { return LogAddExp(x, y); });
    case Operator::kCbrt:
      return Wide<T>([](T x) { return math::Cbrt(x); });
    case Operator::kExp:
      return Wide<T>([](T x) { return math::Exp(x); });
    case Operator::kExp2:
      return Wide<T>([](T x) { return math::Exp2(x); });
    case Operator::kExpm1:
      return Wide<T>([](T x) { return math::Expm1(x); });
    case Operator::kLog:
      return Wide<T>([](T x) { return math::Log(x); });
    case Operator::kLog2:
      return Wide<T>([](T x) { return math::Log2(x); });
    case Operator::kLog10:
      return Wide<T>([](T x) { return math::Log10(x); });
    case Operator::kLog1p:
      return Wide<T>([](T x) { return math::Log1p(x); });
    case Operator::kSin:
      return Wide<T>([](T x) { return math::Sin(x); });
    case Operator::kCos:
      return Wide<T>([](T x) { return math::Cos(x); });
    case Operator::kTan:
      return Wide<T>([](T x) { return math::Tan(x); });
    case Operator::kArcsin:
      return Wide<T>([](T x) { return math::Asin(x); });
    case Operator::kArccos:
      return Wide<T>([](T x) { return math::Acos(x); });
    case Operator::kArctan:
      return Wide<T>([](T x) { return math::Atan(x); });
    case Operator::kSinh:
      return Wide<T>([](T x) { return math::Sinh(x); });
    case Operator::kCosh:
      return Wide<T>([](T x) { return math::Cosh(x); });
    case Operator::kTanh:
      return Wide<T>([](T x) { return math::Tanh(x); });
    case Operator::kArcsinh:
      return Wide<T>([](T x) { return math::Asinh(x); });
    case Operator::kArccosh:
      return Wide<T>([](T x) { return math::Acosh(x); });
    case Operator::kArctanh:
      return Wide<T>([](T x) { return math::Atanh(x); });
    default:
      return nullptr;
  }
}

}  // namespace

Loop FunctionLoop(Operator op, DType operands) {
  return operands == DType::kFloat64 ? FunctionOf<double>(op) : FunctionOf<float>(op);
}

}  // namespace hotplate::expression
