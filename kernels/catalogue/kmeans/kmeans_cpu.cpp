// Centroids lie side by side in vectors, a coordinate of each; a few points at a time are compared with all of them.
// Scratch: these vectors, then sums, counts and the state of each piece of the points.
#include <atomic>
#include <cmath>
#include <cstring>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/kmeans/kmeans.h"
#include "kernels/catalogue/kmeans/kmeans_steps.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/devices/cpu/multiversion.h"
#include "kernels/devices/device.h"

namespace hotplate::kmeans {
namespace {

constexpr std::size_t kVectorBytes = 64;
template <typename T>
constexpr std::size_t kLanes = kVectorBytes / sizeof(T);
// Points that are compared with a vector of centroids while it is in a register.
constexpr std::size_t kTogether = 4;
// Between two looks at the cancel flag, about: multiplications.
constexpr std::uint64_t kPollEvery = std::uint64_t{1} << 24;
// Cells of the centroids or of their sums that a thread takes at a time, and coordinates of a point between two looks.
constexpr std::uint64_t kCellsAtOnce = std::uint64_t{1} << 16;

template <typename T>
struct Vectors {
  typedef T Of __attribute__((vector_size(kVectorBytes)));
  typedef std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t> Places
      __attribute__((vector_size(kVectorBytes)));
};

// The results of a piece of the points.
struct Piece {
  double inertia = 0;
  bool finite = true;
};

constexpr std::uint64_t kMostPieces = 64;

std::uint64_t PiecesOf(const Sizes& sizes) { return sizes.Pieces(kMostPieces, 1024); }

template <typename T>
std::uint64_t VectorCount(const Sizes& sizes) {
  return (sizes.k + kLanes<T> - 1) / kLanes<T>;
}

// Doubles of a piece's sums; they serve for the coordinates' moments first.
std::uint64_t SumsOf(const Sizes& sizes) { return std::max(sizes.cells(), 2 * sizes.d); }

template <typename T>
std::uint64_t ScratchBytes(const Sizes& sizes) {
  const std::uint64_t vectors = VectorCount<T>(sizes) * sizes.d * kVectorBytes;
  return vectors + PiecesOf(sizes) * (SumsOf(sizes) * sizeof(double) + sizes.k * sizeof(std::int64_t) + sizeof(Piece));
}

template <typename T>
struct State {
  explicit State(const Call& call)
      : sizes(call),
        points(call.Input<T>("points").data()),
        centroids(call.Output<T>("centroids").data()),
        labels(call.Output<std::int32_t>("labels").data()),
        pieces(PiecesOf(sizes)),
        vectors(reinterpret_cast<T*>(call.scratch().data())),
        sums(reinterpret_cast<double*>(vectors + VectorCount<T>(sizes) * sizes.d * kLanes<T>)),
        counts(reinterpret_cast<std::int64_t*>(sums + pieces * SumsOf(sizes))),
        of_piece(reinterpret_cast<Piece*>(counts + pieces * sizes.k)) {}

  std::uint64_t Begin(std::uint64_t piece) const {
    return piece * (sizes.n / pieces) + std::min(piece, sizes.n % pieces);
  }

  const Sizes sizes;
  const T* const points;
  T* const centroids;
  std::int32_t* const labels;
  const std::uint64_t pieces;
  T* const vectors;
  double* const sums;
  std::int64_t* const counts;
  Piece* const of_piece;
};

// The nearest centroids of kCount points; undefined if it was cancelled meanwhile. kLong: the points may have more than
// kCellsAtOnce coordinates. (A loop around the innermost one costs short points a twentieth.)
template <std::size_t kCount, bool kLong, typename T>
HOTPLATE_INLINE void NearestOf(const T* __restrict points, std::size_t d, const T* __restrict vectors,
                               std::size_t vector_count, std::int32_t* labels, const CpuContext& context) {
  using Vector = typename Vectors<T>::Of;
  using Places = typename Vectors<T>::Places;
  Vector least[kCount];
  Places places[kCount];
  for (std::size_t p = 0; p < kCount; ++p) least[p] = Vector{} + HUGE_VAL, places[p] = Places{};
  const std::size_t at_once = std::max<std::size_t>(kPollEvery / (kCount * kLanes<T> * std::max<std::size_t>(d, 1)), 1);
  for (std::size_t begin = 0; begin < vector_count; begin += at_once) {
    if (begin > 0 && context.cancelled()) return;
    const std::size_t end = std::min(begin + at_once, vector_count);
    for (std::size_t v = begin; v < end; ++v) {
      Vector squares[kCount] = {};
      const T* const vector = vectors + v * d * kLanes<T>;
      for (std::size_t slice = 0; slice < d; slice += kCellsAtOnce) {
        if (slice > 0 && context.cancelled()) return;
        const std::size_t slice_end = kLong ? std::min<std::size_t>(slice + kCellsAtOnce, d) : d;
        for (std::size_t j = slice; j < slice_end; ++j) {
          Vector coordinates;
          std::memcpy(&coordinates, vector + j * kLanes<T>, sizeof coordinates);
          for (std::size_t p = 0; p < kCount; ++p) {
            const Vector difference = points[p * d + j] - coordinates;
            squares[p] += difference * difference;
          }
        }
        if (!kLong) break;
      }
      const Places here = Places{} + static_cast<std::int32_t>(v);
      for (std::size_t p = 0; p < kCount; ++p) {
        const Places nearer = squares[p] < least[p];
        least[p] = nearer ? squares[p] : least[p];
        places[p] = nearer ? here : places[p];
      }
    }
  }
  for (std::size_t p = 0; p < kCount; ++p) {
    std::size_t best = static_cast<std::size_t>(places[p][0]) * kLanes<T>;
    T distance = least[p][0];
    for (std::size_t lane = 1; lane < kLanes<T>; ++lane) {
      const std::size_t place = static_cast<std::size_t>(places[p][lane]) * kLanes<T> + lane;
      if (least[p][lane] > distance || (least[p][lane] == distance && place > best)) continue;
      best = place, distance = least[p][lane];
    }
    labels[p] = static_cast<std::int32_t>(best);
  }
}

template <bool kLong, typename T>
HOTPLATE_MULTIVERSION void Nearest(const T* points, std::size_t count, std::size_t d, const T* vectors,
                                   std::size_t vector_count, std::int32_t* labels, const CpuContext& context) {
  std::size_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    NearestOf<kTogether, kLong>(points + i * d, d, vectors, vector_count, labels + i, context);
  }
  for (; i < count; ++i) NearestOf<1, kLong>(points + i * d, d, vectors, vector_count, labels + i, context);
}

// `width` coordinates of each of `count` points; the next point is `d` elements further.
template <typename T>
struct Block {
  const T* coordinates;
  std::size_t count, width, d;
};

// In these functions sums, centroids and moments also begin at the block's coordinates. Each point counts as `counted`.
template <typename T>
HOTPLATE_MULTIVERSION void AddPoints(const Block<T>& block, const std::int32_t* labels, double* sums,
                                     std::int64_t* counts, std::int64_t counted) {
  const std::size_t width = block.width;
  for (std::size_t i = 0; i < block.count; ++i) {
    double* __restrict sum = sums + static_cast<std::size_t>(labels[i]) * block.d;
    const T* __restrict point = block.coordinates + i * block.d;
#pragma omp simd
    for (std::size_t j = 0; j < width; ++j) sum[j] += static_cast<double>(point[j]);
    counts[labels[i]] += counted;
  }
}

template <typename T>
HOTPLATE_MULTIVERSION double Inertia(const Block<T>& block, const std::int32_t* labels, const T* centroids) {
  const std::size_t width = block.width;
  double inertia = 0;
  for (std::size_t i = 0; i < block.count; ++i) {
    const T* __restrict point = block.coordinates + i * block.d;
    const T* __restrict centroid = centroids + static_cast<std::size_t>(labels[i]) * block.d;
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t j = 0; j < width; ++j) {
      const double difference = static_cast<double>(point[j]) - static_cast<double>(centroid[j]);
      squares += difference * difference;
    }
    inertia += squares;
  }
  return inertia;
}

// False if an element is not finite.
template <typename T>
HOTPLATE_MULTIVERSION bool AddMoments(const Block<T>& block, const T* __restrict from, double* __restrict sums,
                                      double* __restrict squares) {
  const std::size_t width = block.width;
  int finite = 1;
  for (std::size_t i = 0; i < block.count; ++i) {
    const T* __restrict point = block.coordinates + i * block.d;
#pragma omp simd reduction(& : finite)
    for (std::size_t j = 0; j < width; ++j) {
      const double x = static_cast<double>(point[j]) - static_cast<double>(from[j]);
      sums[j] += x;
      squares[j] += x * x;
      finite &= IsFiniteNumber(point[j]);
    }
  }
  return finite != 0;
}

// Multiplications, or as much, for a point's label.
std::uint64_t WorkOf(const Sizes& sizes) { return sizes.k * std::max<std::uint64_t>(sizes.d, 1); }

// Points between two looks at the cancel flag, `work` multiplications to each; NearestOf looks, too.
std::uint64_t AtOnce(std::uint64_t work) {
  return std::clamp<std::uint64_t>(kPollEvery / std::max<std::uint64_t>(work, 1), kTogether, 1024) / kTogether *
         kTogether;
}

// Calls body(piece, first, count) for the points of all pieces, some at a time. False if it was cancelled.
template <typename T, typename Body>
bool EachPiece(const State<T>& state, std::uint64_t work, CpuContext& context, CpuContext::Part part,
               const Body& body) {
  const std::uint64_t at_once = AtOnce(work);
  const bool complete = context.ParallelChunks(
      state.pieces, 1,
      [&](std::size_t piece, std::size_t) {
        const std::uint64_t end = state.Begin(piece + 1);
        for (std::uint64_t first = state.Begin(piece); first < end && !context.cancelled(); first += at_once) {
          body(piece, first, std::min(at_once, end - first));
        }
      },
      part);
  return complete && !context.cancelled();
}

// Calls body(block, j) for the coordinates of some points, few enough at a time, from coordinate j. It may end before
// all were there if it was cancelled.
template <typename T, typename Body>
void EachBlock(const State<T>& state, std::uint64_t first, std::uint64_t count, const CpuContext& context,
               const Body& body) {
  const std::uint64_t d = state.sizes.d;
  for (std::uint64_t j = 0; j < d && (j == 0 || !context.cancelled()); j += kCellsAtOnce) {
    body(Block<T>{state.points + first * d + j, count, std::min(kCellsAtOnce, d - j), d}, j);
  }
}

template <typename Number>
bool Clear(Number* numbers, std::uint64_t count, CpuContext& context, double at) {
  return context.ParallelChunks(
      count, kCellsAtOnce,
      [&](std::size_t begin, std::size_t end) { std::fill(numbers + begin, numbers + end, Number{0}); }, {at, at});
}

// Finds the threshold for the sum of the centroids' squared moves. Negative if an element is not finite.
template <typename T>
bool FindThreshold(const State<T>& state, double tolerance, double& threshold, CpuContext& context) {
  const Sizes& sizes = state.sizes;
  const std::uint64_t d = sizes.d;
  if (!Clear(state.sums, state.pieces * 2 * d, context, 0)) return false;
  std::fill_n(state.of_piece, state.pieces, Piece());
  const bool complete =
      EachPiece(state, d, context, {0, 0}, [&](std::uint64_t piece, std::uint64_t i, std::uint64_t count) {
        double* const moments = state.sums + piece * 2 * d;
        EachBlock(state, i, count, context, [&](const Block<T>& block, std::uint64_t j) {
          state.of_piece[piece].finite &= AddMoments(block, state.points + j, moments + j, moments + d + j);
        });
      });
  if (!complete) return false;
  bool finite = true;
  for (std::uint64_t piece = 0; piece < state.pieces; ++piece) finite = finite && state.of_piece[piece].finite;
  double variances = 0;
  for (std::uint64_t j = 0; j < d; ++j) {
    if (j % kCellsAtOnce == 0 && context.cancelled()) return false;
    Moments all;
    for (std::uint64_t piece = 0; piece < state.pieces; ++piece) {
      const double* const moments = state.sums + piece * 2 * d;
      all.Add({moments[j], moments[d + j]});
    }
    variances += all.Variance(static_cast<double>(sizes.n));
  }
  threshold = finite ? tolerance * (variances / static_cast<double>(std::max<std::uint64_t>(d, 1))) : -1;
  return true;
}

// Progress stays at `at`.
template <typename T>
bool FillVectors(const State<T>& state, CpuContext& context, double at) {
  const auto [n, d, k] = state.sizes;
  return context.ParallelChunks(VectorCount<T>(state.sizes) * d, kCellsAtOnce / kLanes<T>,
                                [&, d = d, k = k](std::size_t begin, std::size_t end) {
                                  for (std::uint64_t i = begin; i < end; ++i) {
                                    const std::uint64_t first = i / d * kLanes<T>, j = i % d;
                                    for (std::uint64_t lane = 0; lane < kLanes<T>; ++lane) {
                                      const std::uint64_t c = first + lane;
                                      // Unused lanes are infinitely far, so that nothing is nearest to them.
                                      state.vectors[i * kLanes<T> + lane] =
                                          c < k ? state.centroids[c * d + j] : static_cast<T>(HUGE_VAL);
                                    }
                                  }
                                },
                                {at, at});
}

// False if it was cancelled, and labels may be missing.
template <typename T>
bool Label(const State<T>& state, std::uint64_t first, std::uint64_t count, const CpuContext& context) {
  const std::uint64_t d = state.sizes.d;
  const auto nearest = d > kCellsAtOnce ? Nearest<true, T> : Nearest<false, T>;
  nearest(state.points + first * d, count, d, state.vectors, VectorCount<T>(state.sizes), state.labels + first,
          context);
  return !context.cancelled();
}

// Labels of all points, however few pieces there are.
template <typename T>
bool LabelAll(const State<T>& state, CpuContext& context, CpuContext::Part part) {
  const bool complete = context.ParallelChunks(
      state.sizes.n, AtOnce(WorkOf(state.sizes)),
      [&](std::size_t begin, std::size_t end) { Label(state, begin, end - begin, context); }, part);
  return complete && !context.cancelled();
}

// Labels of all points, and the sums of each piece.
template <typename T>
bool Assign(const State<T>& state, CpuContext& context, CpuContext::Part part) {
  const std::uint64_t d = state.sizes.d, k = state.sizes.k;
  if (!FillVectors(state, context, part.from) || !Clear(state.sums, state.pieces * k * d, context, part.from) ||
      !Clear(state.counts, state.pieces * k, context, part.from)) {
    return false;
  }
  const auto add = [&](std::uint64_t piece, std::uint64_t i, std::uint64_t count) {
    EachBlock(state, i, count, context, [&](const Block<T>& block, std::uint64_t j) {
      AddPoints(block, state.labels + i, state.sums + piece * k * d + j, state.counts + piece * k, j == 0 ? 1 : 0);
    });
  };
  if (state.pieces < kMostPieces) {
    return LabelAll(state, context, part) && EachPiece(state, d, context, {part.to, part.to}, add);
  }
  return EachPiece(state, WorkOf(state.sizes), context, part,
                   [&](std::uint64_t piece, std::uint64_t i, std::uint64_t count) {
                     if (Label(state, i, count, context)) add(piece, i, count);
                   });
}

// Centroids become means; the squares of their moves, summed. False if it was cancelled.
template <typename T>
bool Move(const State<T>& state, double& moves, CpuContext& context, double at) {
  const auto [n, d, k] = state.sizes;
  const bool added = context.ParallelChunks(k * d, kCellsAtOnce,
                                            [&, cells = k * d](std::size_t begin, std::size_t end) {
                                              for (std::uint64_t piece = 1; piece < state.pieces; ++piece) {
                                                for (std::size_t i = begin; i < end; ++i)
                                                  state.sums[i] += state.sums[piece * cells + i];
                                              }
                                            },
                                            {at, at});
  if (!added) return false;
  moves = 0;
  for (std::uint64_t c = 0; c < k; ++c) {
    if (context.cancelled()) return false;
    std::int64_t count = 0;
    for (std::uint64_t piece = 0; piece < state.pieces; ++piece) count += state.counts[piece * k + c];
    if (count == 0) continue;
    for (std::uint64_t j = 0; j < d; ++j) {
      if ((j + 1) % kCellsAtOnce == 0 && context.cancelled()) return false;
      T& coordinate = state.centroids[c * d + j];
      const T mean = static_cast<T>(state.sums[c * d + j] / static_cast<double>(count));
      const double move = static_cast<double>(mean) - static_cast<double>(coordinate);
      moves += move * move;
      coordinate = mean;
    }
  }
  return true;
}

template <typename T>
Outcome Run(const Call& call, CpuContext& context) {
  const State<T> state(call);
  const std::span<const T> initial = call.Input<T>("initial");
  std::atomic<bool> finite{true};
  const auto copy = [&](std::size_t begin, std::size_t end) {
    const std::span<const T> some = initial.subspan(begin, end - begin);
    if (!std::all_of(some.begin(), some.end(), IsFiniteNumber<T>)) finite.store(false, std::memory_order_relaxed);
    std::copy(some.begin(), some.end(), state.centroids + begin);
  };
  if (!context.ParallelChunks(initial.size(), kCellsAtOnce, copy, {0, 0})) return Outcome::Cancelled();
  if (!finite.load(std::memory_order_relaxed)) return Outcome::Invalid(kInitialNotFinite);
  double threshold = 0;
  if (!FindThreshold(state, call.Float("tolerance"), threshold, context)) return Outcome::Cancelled();
  if (threshold < 0) return Outcome::Invalid(kPointsNotFinite);

  const std::int64_t most = call.Int("max_iterations");
  std::int64_t iteration = 0;
  for (bool ended = false; !ended && iteration < most; ++iteration) {
    const auto part = CpuContext::Part().Step(static_cast<std::size_t>(iteration), static_cast<std::size_t>(most + 1));
    double moves = 0;
    if (!Assign(state, context, part) || !Move(state, moves, context, part.to)) return Outcome::Cancelled();
    ended = moves <= threshold;  // 0 where no label has changed: the same sums again
  }

  std::fill_n(state.of_piece, state.pieces, Piece());
  const auto last = CpuContext::Part().Step(static_cast<std::size_t>(most), static_cast<std::size_t>(most + 1));
  const std::uint64_t d = state.sizes.d;
  const bool complete =
      FillVectors(state, context, last.from) && LabelAll(state, context, last) &&
      EachPiece(state, d, context, {1, 1}, [&](std::uint64_t piece, std::uint64_t i, std::uint64_t count) {
        EachBlock(state, i, count, context, [&](const Block<T>& block, std::uint64_t j) {
          state.of_piece[piece].inertia += Inertia(block, state.labels + i, state.centroids + j);
        });
      });
  if (!complete) return Outcome::Cancelled();
  double& inertia = call.Output<double>("inertia")[0];
  inertia = 0;
  for (std::uint64_t piece = 0; piece < state.pieces; ++piece) inertia += state.of_piece[piece].inertia;
  call.Output<std::int64_t>("iterations")[0] = iteration;
  return Outcome::Ok();
}

}  // namespace

MemoryPlan PlanCpu(const BoundCall& call) {
  const Signature& points = call.Input("points");
  const Sizes sizes(points.shape.data(), call.Input("initial").shape.data());
  const auto bytes = TypeFor<float, double>(points.dtype, [&]<typename T>() { return ScratchBytes<T>(sizes); });
  return {.scratch_bytes = bytes.value_or(0)};
}

Outcome RunCpu(const Call& call, CpuContext& context) {
  return ForType<float, double>("kmeans", call.InputType("points"),
                                [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::kmeans
