// Which loop an operator is; those of bool, of where and of complex(re, im).
#include "kernels/catalogue/expression/cpu/loops.h"

#include <complex>
#include <cstdint>

#include "kernels/catalogue/expression/cpu/make_loop.h"

namespace hotplate::expression {
namespace {

template <typename T>
HOTPLATE_MULTIVERSION static void Where(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  T* const to = static_cast<T*>(out);
  const std::uint8_t* const condition = static_cast<const std::uint8_t*>(a);
  const T* const x = static_cast<const T*>(b);
  const T* const y = static_cast<const T*>(c);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const T yes = x[i], no = y[i];
    to[i] = condition[i] != 0 ? yes : no;
  }
}

Loop WhereLoop(std::size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return Where<std::uint8_t>;
    case 2:
      return Where<std::uint16_t>;
    case 4:
      return Where<std::uint32_t>;
    case 8:
      return Where<std::uint64_t>;
    default:
      return Where<std::complex<double>>;
  }
}

template <typename R>
HOTPLATE_MULTIVERSION static void Complex(void* out, const void* a, const void* b, const void*, std::size_t n) {
  std::complex<R>* const to = static_cast<std::complex<R>*>(out);
  const R* const real = static_cast<const R*>(a);
  const R* const imag = static_cast<const R*>(b);
  for (std::size_t i = 0; i < n; ++i) to[i] = {real[i], imag[i]};
}

bool IsTrue(Truth x) { return x != Truth::kFalse; }

}  // namespace

Loop TruthLoop(Operator op) {
  using B = Truth;
  switch (op) {
    case Operator::kBitOr:
    case Operator::kLogicalOr:
      return Plain<B>([](B x, B y) { return IsTrue(x) | IsTrue(y) ? true : false; });
    case Operator::kBitAnd:
    case Operator::kLogicalAnd:
      return Plain<B>([](B x, B y) { return IsTrue(x) & IsTrue(y) ? true : false; });
    case Operator::kBitXor:
    case Operator::kLogicalXor:
    case Operator::kNotEqual:
      return Plain<B>([](B x, B y) { return IsTrue(x) != IsTrue(y); });
    case Operator::kEqual:
      return Plain<B>([](B x, B y) { return IsTrue(x) == IsTrue(y); });
    case Operator::kLess:
      return Plain<B>([](B x, B y) { return IsTrue(x) < IsTrue(y); });
    case Operator::kLessEqual:
      return Plain<B>([](B x, B y) { return IsTrue(x) <= IsTrue(y); });
    case Operator::kGreater:
      return Plain<B>([](B x, B y) { return IsTrue(x) > IsTrue(y); });
    case Operator::kGreaterEqual:
      return Plain<B>([](B x, B y) { return IsTrue(x) >= IsTrue(y); });
    case Operator::kLogicalNot:
      return Plain<B>([](B x) { return !IsTrue(x); });
    default:
      return nullptr;
  }
}

Loop LoopFor(Operator op, DType operands) {
  if (operands == DType::kFloat16) operands = DType::kFloat32;
  if (op == Operator::kWhere) return WhereLoop(SizeOf(operands));
  if (op == Operator::kComplex) return operands == DType::kFloat64 ? Complex<double> : Complex<float>;
  if (operands == DType::kBool) return TruthLoop(op);
  if (IsInteger(operands)) return IntegerLoop(op, operands);
  if (IsComplex(operands)) return ComplexLoop(op, operands);
  const Loop loop = FloatLoop(op, operands);
  return loop != nullptr ? loop : FunctionLoop(op, operands);
}

}  // namespace hotplate::expression
