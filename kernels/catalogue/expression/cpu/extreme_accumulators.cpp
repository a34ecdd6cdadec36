// The smallest and the largest element and their places, any and all.
#include "kernels/catalogue/expression/cpu/fold_loops.h"
#include "kernels/catalogue/expression/cpu/loops.h"

namespace hotplate::expression {
namespace {

// x comes before y: it is better, or NaN where y is not.
template <typename T, bool largest>
HOTPLATE_INLINE bool Before(T x, T y) {
  const bool better = largest ? x > y : x < y;
  if constexpr (std::is_floating_point_v<T>) {
    return better | ((x != x) & (y == y));
  } else {
    return better;
  }
}

template <typename T>
void StoreOne(T value, const Finish& how, void* out, std::size_t i) {
  if constexpr (std::is_floating_point_v<T>) {
    Store(value, how.dtype, out, i);
  } else {
    static_cast<T*>(out)[i] = value;
  }
}

template <typename T, bool largest>
struct Extreme {
  using Element = T;
  using State = T;
  static constexpr std::size_t kLaneBytes = sizeof(T);
  struct Lanes {
    T* best;
    Lanes(void* memory, std::size_t) : best(static_cast<T*>(memory)) {}
  };

  HOTPLATE_INLINE static T Best(T x, T best) { return Before<T, largest>(x, best) ? x : best; }
  HOTPLATE_INLINE static void Begin(const Lanes& lanes, std::size_t i, T x, std::int64_t) { lanes.best[i] = x; }
  HOTPLATE_INLINE static void Add(const Lanes& lanes, std::size_t i, T x, std::int64_t) {
    lanes.best[i] = Best(x, lanes.best[i]);
  }
  static State Lift(const Lanes& lanes, std::size_t i, std::uint32_t, std::int64_t) { return lanes.best[i]; }
  static void Merge(State& state, State other) { state = Best(other, state); }
  static State Column(const T* x, std::size_t rows, std::size_t stride) {
    T best = x[0];
    for (std::size_t row = 1; row < rows; ++row) best = Best(x[row * stride], best);
    return best;
  }
  static void Done(State best, const Finish& how, void* out, std::size_t i) { StoreOne(best, how, out, i); }
};

// The row of the first of those that are best.
template <typename T, bool largest>
struct Place {
  using Element = T;
  struct State {
    T best;
    std::int64_t row;
  };
  static constexpr std::size_t kLaneBytes = sizeof(std::int64_t) + sizeof(T);
  struct Lanes {
    std::int64_t* row;
    T* best;
    Lanes(void* memory, std::size_t capacity)
        : row(static_cast<std::int64_t*>(memory)), best(reinterpret_cast<T*>(row + capacity)) {}
  };

  HOTPLATE_INLINE static void Begin(const Lanes& lanes, std::size_t i, T x, std::int64_t row) {
    lanes.best[i] = x;
    lanes.row[i] = row;
  }
  HOTPLATE_INLINE static void Add(const Lanes& lanes, std::size_t i, T x, std::int64_t row) {
    const bool before = Before<T, largest>(x, lanes.best[i]);
    lanes.best[i] = before ? x : lanes.best[i];
    lanes.row[i] = before ? row : lanes.row[i];
  }
  static State Lift(const Lanes& lanes, std::size_t i, std::uint32_t, std::int64_t rows) {
    return {lanes.best[i], lanes.row[i] + rows};
  }
  static void Merge(State& state, const State& other) {
    const bool after = Before<T, largest>(state.best, other.best);
    if (Before<T, largest>(other.best, state.best) || (!after && other.row < state.row)) state = other;
  }
  static State Column(const T* x, std::size_t rows, std::size_t stride) {
    State state{x[0], 0};
    for (std::size_t row = 1; row < rows; ++row) {
      if (Before<T, largest>(x[row * stride], state.best)) state = {x[row * stride], static_cast<std::int64_t>(row)};
    }
    return state;
  }
  static void Done(const State& state, const Finish&, void* out, std::size_t i) {
    static_cast<std::int64_t*>(out)[i] = state.row;
  }
};

template <bool all>
struct Logical {
  using Element = std::uint8_t;
  using State = std::uint8_t;
  static constexpr std::size_t kLaneBytes = 1;
  struct Lanes {
    std::uint8_t* value;
    Lanes(void* memory, std::size_t) : value(static_cast<std::uint8_t*>(memory)) {}
  };

  HOTPLATE_INLINE static std::uint8_t Of(std::uint8_t x) { return x != 0 ? 1 : 0; }
  HOTPLATE_INLINE static std::uint8_t Both(std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(all ? x & y : x | y);
  }
  HOTPLATE_INLINE static void Begin(const Lanes& lanes, std::size_t i, std::uint8_t x, std::int64_t) {
    lanes.value[i] = Of(x);
  }
  HOTPLATE_INLINE static void Add(const Lanes& lanes, std::size_t i, std::uint8_t x, std::int64_t) {
    lanes.value[i] = Both(lanes.value[i], Of(x));
  }
  static State Lift(const Lanes& lanes, std::size_t i, std::uint32_t, std::int64_t) { return lanes.value[i]; }
  static void Merge(State& state, State other) { state = Both(state, other); }
  static State Column(const std::uint8_t* x, std::size_t rows, std::size_t stride) {
    State state = Of(x[0]);
    for (std::size_t row = 1; row < rows; ++row) state = Both(state, Of(x[row * stride]));
    return state;
  }
  static State None() { return all ? 1 : 0; }
  static void Done(State state, const Finish&, void* out, std::size_t i) { static_cast<std::uint8_t*>(out)[i] = state; }
};

template <template <typename, bool> typename Fold, bool largest>
const Accumulator* Of(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return &kAccumulator<Fold<std::int8_t, largest>, false>;
    case DType::kInt16:
      return &kAccumulator<Fold<std::int16_t, largest>, false>;
    case DType::kInt32:
      return &kAccumulator<Fold<std::int32_t, largest>, false>;
    case DType::kInt64:
      return &kAccumulator<Fold<std::int64_t, largest>, false>;
    case DType::kBool:
    case DType::kUInt8:
      return &kAccumulator<Fold<std::uint8_t, largest>, false>;
    case DType::kUInt16:
      return &kAccumulator<Fold<std::uint16_t, largest>, false>;
    case DType::kUInt32:
      return &kAccumulator<Fold<std::uint32_t, largest>, false>;
    case DType::kUInt64:
      return &kAccumulator<Fold<std::uint64_t, largest>, false>;
    case DType::kFloat16:
    case DType::kFloat32:
      return &kAccumulator<Fold<float, largest>, true>;
    case DType::kFloat64:
      return &kAccumulator<Fold<double, largest>, true>;
    default:
      return nullptr;
  }
}

}  // namespace

const Accumulator* ExtremeAccumulator(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::kMin:
      return Of<Extreme, false>(dtype);
    case Reduction::kMax:
      return Of<Extreme, true>(dtype);
    case Reduction::kArgMin:
      return Of<Place, false>(dtype);
    case Reduction::kArgMax:
      return Of<Place, true>(dtype);
    case Reduction::kAny:
      return &kAccumulator<Logical<false>, false>;
    case Reduction::kAll:
      return &kAccumulator<Logical<true>, false>;
    default:
      return nullptr;
  }
}

}  // namespace hotplate::expression
