// Sums, products and means. float16 and float32 are accumulated in float64, complex numbers in complex128, and integers
// in their own dtype, where they wrap.
#include "kernels/catalogue/expression/cpu/fold_loops.h"

namespace hotplate::expression {
namespace {

template <typename A>
struct Plus {
  static A Empty() { return A(0); }
  HOTPLATE_INLINE static A Of(A x, A y) { return static_cast<A>(x + y); }
};
// Formulas that GCC vectorises, without its check for NaN.
template <typename A>
struct Times {
  static A Empty() { return A(1); }
  HOTPLATE_INLINE static A Of(A x, A y) {
    if constexpr (std::is_integral_v<A>) {
      return static_cast<A>(std::uint64_t{x} * y);
    } else if constexpr (std::is_floating_point_v<A>) {
      return x * y;
    } else {
      return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
    }
  }
};

// E: the element; A: what it is accumulated in.
template <typename E, typename A, template <typename> typename By>
struct Total {
  using Element = E;
  using State = A;
  static constexpr std::size_t kLaneBytes = sizeof(A);
  struct Lanes {
    A* total;
    Lanes(void* memory, std::size_t) : total(static_cast<A*>(memory)) {}
  };

  HOTPLATE_INLINE static void Begin(const Lanes& lanes, std::size_t i, E x, std::int64_t) { lanes.total[i] = A(x); }
  HOTPLATE_INLINE static void Add(const Lanes& lanes, std::size_t i, E x, std::int64_t) {
    lanes.total[i] = By<A>::Of(lanes.total[i], A(x));
  }
  static State Lift(const Lanes& lanes, std::size_t i, std::uint32_t, std::int64_t) { return lanes.total[i]; }
  static void Merge(State& state, State other) { state = By<A>::Of(state, other); }
  static State Column(const E* x, std::size_t rows, std::size_t stride) {
    A total(x[0]);
    for (std::size_t row = 1; row < rows; ++row) total = By<A>::Of(total, A(x[row * stride]));
    return total;
  }
  static State None() { return By<A>::Empty(); }
  static void Done(State total, const Finish& how, void* out, std::size_t i) {
    if constexpr (std::is_integral_v<A>) {
      static_cast<A*>(out)[i] = total;
    } else {
      Store(how.reduction == Reduction::kMean ? total / how.count : total, how.dtype, out, i);
    }
  }
};

template <template <typename> typename By>
const Accumulator* Of(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
      return &kAccumulator<Total<std::uint8_t, std::uint8_t, By>, false>;
    case DType::kInt16:
    case DType::kUInt16:
      return &kAccumulator<Total<std::uint16_t, std::uint16_t, By>, false>;
    case DType::kInt32:
    case DType::kUInt32:
      return &kAccumulator<Total<std::uint32_t, std::uint32_t, By>, false>;
    case DType::kInt64:
    case DType::kUInt64:
      return &kAccumulator<Total<std::uint64_t, std::uint64_t, By>, true>;
    case DType::kFloat16:
    case DType::kFloat32:
      return &kAccumulator<Total<float, double, By>, true>;
    case DType::kFloat64:
      return &kAccumulator<Total<double, double, By>, true>;
    case DType::kComplex64:
      return &kAccumulator<Total<std::complex<float>, std::complex<double>, By>, false>;
    case DType::kComplex128:
      return &kAccumulator<Total<std::complex<double>, std::complex<double>, By>, false>;
    default:
      return nullptr;
  }
}

}  // namespace

const Accumulator* SumAccumulator(Reduction reduction, DType dtype) {
  return reduction == Reduction::kProd ? Of<Times>(dtype) : Of<Plus>(dtype);
}

}  // namespace hotplate::expression
