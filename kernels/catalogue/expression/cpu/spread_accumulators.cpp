// Variances and standard deviations, in one pass: a lane sums its elements' differences from its first one, and their
// squares. A lane takes few elements, so that this loses little even where the first one is far from the others. States
// are merged by Chan's formula.
#include <limits>

#include "kernels/catalogue/expression/cpu/fold_loops.h"

namespace hotplate::expression {
namespace {

HOTPLATE_INLINE double SquareOf(double x) { return x * x; }
HOTPLATE_INLINE double SquareOf(std::complex<double> x) { return x.real() * x.real() + x.imag() * x.imag(); }

// Of `count` differences from the first element: their squares' sum about their mean. Where it overflows it is
// infinite, not NaN.
double Centred(double squares, double square_of_sum, double count) {
  return squares <= std::numeric_limits<double>::max() ? std::max(0.0, squares - square_of_sum / count)
         : square_of_sum == square_of_sum              ? squares
                                                       : square_of_sum;
}

// A: double or complex<double>.
template <typename E, typename A>
struct Spread {
  using Element = E;
  // The mean is first + offset: two numbers, since its last digits matter where it is large beside the differences.
  struct State {
    A first, offset;
    double squares;  // of the differences from the mean, summed
    double count;
  };
  static constexpr std::size_t kLaneBytes = 2 * sizeof(A) + sizeof(double);
  struct Lanes {
    A *first, *sum;
    double* squares;
    Lanes(void* memory, std::size_t capacity)
        : first(static_cast<A*>(memory)), sum(first + capacity), squares(reinterpret_cast<double*>(sum + capacity)) {}
  };

  HOTPLATE_INLINE static void Begin(const Lanes& lanes, std::size_t i, E x, std::int64_t) {
    lanes.first[i] = A(x);
    lanes.sum[i] = A(0);
    lanes.squares[i] = 0;
  }
  HOTPLATE_INLINE static void Add(const Lanes& lanes, std::size_t i, E x, std::int64_t) {
    const A difference = A(x) - lanes.first[i];
    lanes.sum[i] += difference;
    lanes.squares[i] += SquareOf(difference);
  }
  static State Lift(const Lanes& lanes, std::size_t i, std::uint32_t elements, std::int64_t) {
    const double count = elements;
    const A sum = lanes.sum[i];
    const double itself = SquareOf(sum - sum);  // NaN if an element is infinite
    return {lanes.first[i], sum / count, Centred(lanes.squares[i], SquareOf(sum), count) + itself, count};
  }
  static void Merge(State& state, const State& other) {
    const double count = state.count + other.count;
    const A difference = (other.first - state.first) + (other.offset - state.offset);
    state.offset += difference * (other.count / count);
    state.squares += other.squares + SquareOf(difference) * (state.count * other.count / count);
    state.count = count;
  }
  // In two passes.
  static State Column(const E* x, std::size_t rows, std::size_t stride) {
    const double count = static_cast<double>(rows);
    A sum(x[0]);
    for (std::size_t row = 1; row < rows; ++row) sum += A(x[row * stride]);
    const A mean = sum / count;
    double squares = 0;
    for (std::size_t row = 0; row < rows; ++row) squares += SquareOf(A(x[row * stride]) - mean);
    return {mean, A(0), squares, count};
  }
  static State None() { return {A(0), A(0), 0, 0}; }
  static void Done(const State& state, const Finish& how, void* out, std::size_t i) {
    // One element that is infinite or NaN has no difference from itself here, but not in NumPy.
    const double itself = SquareOf(state.first - state.first);
    const double variance = (state.squares + itself) / std::max(0.0, how.count - how.ddof);
    Store(how.reduction == Reduction::kStd ? std::sqrt(variance) : variance, how.dtype, out, i);
  }
};

}  // namespace

const Accumulator* SpreadAccumulator(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kFloat32:
      return &kAccumulator<Spread<float, double>, true>;
    case DType::kFloat64:
      return &kAccumulator<Spread<double, double>, true>;
    case DType::kComplex64:
      return &kAccumulator<Spread<std::complex<float>, std::complex<double>>, false>;
    case DType::kComplex128:
      return &kAccumulator<Spread<std::complex<double>, std::complex<double>>, false>;
    default:
      return nullptr;
  }
}

const Accumulator* AccumulatorFor(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::kNone:
      return nullptr;
    case Reduction::kSum:
    case Reduction::kProd:
    case Reduction::kMean:
      return SumAccumulator(reduction, dtype);
    case Reduction::kVar:
    case Reduction::kStd:
      return SpreadAccumulator(dtype);
    default:
      return ExtremeAccumulator(reduction, dtype);
  }
}

}  // namespace hotplate::expression
