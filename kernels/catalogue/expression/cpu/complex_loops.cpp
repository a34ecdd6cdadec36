// Complex numbers: arithmetic by NumPy's formulas, functions by the C library's.
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/catalogue/expression/cpu/make_loop.h"

namespace hotplate::expression {
namespace {

template <typename R>
HOTPLATE_INLINE std::complex<R> Product(std::complex<R> x, std::complex<R> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

// Smith's.
template <typename R>
std::complex<R> Quotient(std::complex<R> x, std::complex<R> y) {
  if (std::fabs(y.real()) >= std::fabs(y.imag())) {
    if (y.real() == 0 && y.imag() == 0) return {x.real() / std::fabs(y.real()), x.imag() / std::fabs(y.real())};
    const R ratio = y.imag() / y.real(), scale = R(1) / (y.real() + y.imag() * ratio);
    return {(x.real() + x.imag() * ratio) * scale, (x.imag() - x.real() * ratio) * scale};
  }
  const R ratio = y.real() / y.imag(), scale = R(1) / (y.imag() + y.real() * ratio);
  return {(x.real() * ratio + x.imag()) * scale, (x.imag() * ratio - x.real()) * scale};
}

template <typename R>
std::complex<R> Reciprocal(std::complex<R> x) {
  if (std::fabs(x.imag()) <= std::fabs(x.real())) {
    const R ratio = x.imag() / x.real(), size = x.real() + x.imag() * ratio;
    return {R(1) / size, -ratio / size};
  }
  const R ratio = x.real() / x.imag(), size = x.real() * ratio + x.imag();
  return {ratio / size, R(-1) / size};
}

template <typename R>
std::complex<R> Sign(std::complex<R> x) {
  constexpr R kNan = std::numeric_limits<R>::quiet_NaN();
  const R size = std::hypot(x.real(), x.imag());
  if (std::isnan(size)) return {kNan, kNan};
  if (std::isinf(size)) {
    if (std::isinf(x.real()) && std::isinf(x.imag())) return {kNan, kNan};
    if (std::isinf(x.real())) return {x.real() > 0 ? R(1) : R(-1), R(0)};
    return {R(0), x.imag() > 0 ? R(1) : R(-1)};
  }
  if (size == 0) return {R(0), R(0)};
  return {x.real() / size, x.imag() / size};
}

// Small integer powers by multiplication, as in NumPy.
template <typename R>
std::complex<R> Power(std::complex<R> x, std::complex<R> y) {
  constexpr R kNan = std::numeric_limits<R>::quiet_NaN();
  if (y.real() == 0 && y.imag() == 0) return {R(1), R(0)};
  if (x.real() == 0 && x.imag() == 0) {
    return y.real() > 0 ? std::complex<R>(0, 0) : std::complex<R>(kNan, kNan);
  }
  if (y.imag() == 0 && std::fabs(y.real()) < 100 && y.real() == std::trunc(y.real())) {
    int exponent = std::abs(static_cast<int>(y.real()));
    if (y.real() == 1) return x;
    std::complex<R> power(1, 0);
    for (std::complex<R> base = x; exponent != 0; exponent >>= 1, base = Product(base, base)) {
      if ((exponent & 1) != 0) power = Product(power, base);
    }
    return y.real() < 0 ? Quotient(std::complex<R>(1, 0), power) : power;
  }
  return std::pow(x, y);
}

template <typename R>
std::complex<R> Expm1(std::complex<R> x) {
  const R half = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half, std::exp(x.real()) * std::sin(x.imag())};
}
template <typename R>
std::complex<R> Log1p(std::complex<R> x) {
  return {std::log(std::hypot(x.real() + 1, x.imag())), std::atan2(x.imag(), x.real() + 1)};
}

template <typename R>
bool IsNan(std::complex<R> x) {
  return std::isnan(x.real()) || std::isnan(x.imag());
}

template <typename R>
Loop ArithmeticOf(Operator op) {
  using C = std::complex<R>;
  switch (op) {
    case Operator::kAdd:
      return Wide<C>([](C x, C y) { return C(x.real() + y.real(), x.imag() + y.imag()); });
    case Operator::kSubtract:
      return Wide<C>([](C x, C y) { return C(x.real() - y.real(), x.imag() - y.imag()); });
    case Operator::kMultiply:
      return Wide<C>([](C x, C y) { return Product(x, y); });
    case Operator::kDivide:
      return Plain<C>([](C x, C y) { return Quotient(x, y); });
    case Operator::kPower:
      return Plain<C>([](C x, C y) { return Power(x, y); });
    case Operator::kNegative:
      return Wide<C>([](C x) { return C(-x.real(), -x.imag()); });
    case Operator::kConjugate:
      return Wide<C>([](C x) { return C(x.real(), -x.imag()); });
    case Operator::kAbsolute:
      return Plain<C>([](C x) { return std::hypot(x.real(), x.imag()); });
    case Operator::kReal:
      return Wide<C>([](C x) { return x.real(); });
    case Operator::kImag:
      return Wide<C>([](C x) { return x.imag(); });
    case Operator::kSign:
      return Plain<C>([](C x) { return Sign(x); });
    case Operator::kSquare:
      return Wide<C>([](C x) { return Product(x, x); });
    case Operator::kReciprocal:
      return Plain<C>([](C x) { return Reciprocal(x); });
    case Operator::kRint:
      return Plain<C>([](C x) { return C(std::rint(x.real()), std::rint(x.imag())); });
    default:
      return nullptr;
  }
}

template <typename R>
Loop TestOf(Operator op) {
  using C = std::complex<R>;
  switch (op) {
    case Operator::kEqual:
      return Plain<C>([](C x, C y) { return x == y; });
    case Operator::kNotEqual:
      return Plain<C>([](C x, C y) { return x != y; });
    case Operator::kIsNan:
      return Plain<C>([](C x) { return IsNan(x); });
    case Operator::kIsInf:
      return Plain<C>([](C x) { return std::isinf(x.real()) || std::isinf(x.imag()); });
    case Operator::kIsFinite:
      return Plain<C>([](C x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); });
    default:
      return nullptr;
  }
}

template <typename R>
Loop FunctionOf(Operator op) {
  using C = std::complex<R>;
  constexpr R kLn2 = R(0.693147180559945309417232121458176568L);
  constexpr R kLog2E = R(1.442695040888963407359924681001892137L);
  constexpr R kLog10E = R(0.434294481903251827651128918916605082L);
  switch (op) {
    case Operator::kSqrt:
      return Plain<C>([](C x) { return std::sqrt(x); });
    case Operator::kExp:
      return Plain<C>([](C x) { return std::exp(x); });
    case Operator::kExp2:
      return Plain<C>([](C x) { return std::exp(C(x.real() * kLn2, x.imag() * kLn2)); });
    case Operator::kExpm1:
      return Plain<C>([](C x) { return Expm1(x); });
    case Operator::kLog:
      return Plain<C>([](C x) { return std::log(x); });
    case Operator::kLog2:
      return Plain<C>([](C x) {
        const C log = std::log(x);
        return C(log.real() * kLog2E, log.imag() * kLog2E);
      });
    case Operator::kLog10:
      return Plain<C>([](C x) {
        const C log = std::log(x);
        return C(log.real() * kLog10E, log.imag() * kLog10E);
      });
    case Operator::kLog1p:
      return Plain<C>([](C x) { return Log1p(x); });
    case Operator::kSin:
      return Plain<C>([](C x) { return std::sin(x); });
    case Operator::kCos:
      return Plain<C>([](C x) { return std::cos(x); });
    case Operator::kTan:
      return Plain<C>([](C x) { return std::tan(x); });
    case Operator::kArcsin:
      return Plain<C>([](C x) { return std::asin(x); });
    case Operator::kArccos:
      return Plain<C>([](C x) { return std::acos(x); });
    case Operator::kArctan:
      return Plain<C>([](C x) { return std::atan(x); });
    case Operator::kSinh:
      return Plain<C>([](C x) { return std::sinh(x); });
    case Operator::kCosh:
      return Plain<C>([](C x) { return std::cosh(x); });
    case Operator::kTanh:
      return Plain<C>([](C x) { return std::tanh(x); });
    case Operator::kArcsinh:
      return Plain<C>([](C x) { return std::asinh(x); });
    case Operator::kArccosh:
      return Plain<C>([](C x) { return std::acosh(x); });
    case Operator::kArctanh:
      return Plain<C>([](C x) { return std::atanh(x); });
    default:
      return nullptr;
  }
}

template <typename R>
Loop Of(Operator op) {
  if (const Loop loop = ArithmeticOf<R>(op)) return loop;
  if (const Loop loop = TestOf<R>(op)) return loop;
  return FunctionOf<R>(op);
}

}  // namespace

Loop ComplexLoop(Operator op, DType operands) {
  return operands == DType::kComplex128 ? Of<double>(op) : Of<float>(op);
}

}  // namespace hotplate::expression
