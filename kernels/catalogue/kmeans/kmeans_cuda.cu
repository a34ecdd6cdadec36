// An iteration takes a few launches: each point's nearest centroid, chunk by chunk; sums of pieces of the points; the
// means. The device itself decides when the iteration ends; launches enqueued after that do nothing.
#include <bit>

#include "kernels/call/for_type.h"
#include "kernels/catalogue/kmeans/kmeans.h"
#include "kernels/catalogue/kmeans/kmeans_steps.h"
#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::kmeans {
namespace {

// A block compares kSide points with as many centroids at a time, a thread kEach with kEach, kDeep coordinates at once.
constexpr unsigned kSide = 64, kEach = 4, kDeep = 16, kThreads = (kSide / kEach) * (kSide / kEach);
static_assert(kThreads == kBlockSize);
constexpr double kBoundMs = 20;
// A warp adds up kWarp coordinates of kWarp centroids. Estimated times: for one point after another, if all belong to
// the same centroid; a thread's operations for kWarp labels; and those for a coordinate of a point.
constexpr unsigned kWarp = 32, kAll = 0xffffffff;
constexpr double kMsPerPoint = 1e-3, kLabelsOperations = 16, kCoordinateOperations = 256;

struct State {
  unsigned long long not_finite;  // kOfPoints, kOfInitial
  std::uint64_t ended, iterations;
  double threshold;
};

constexpr unsigned long long kOfPoints = 1, kOfInitial = 2;

// Where things lie in scratch.
struct Layout {
  std::uint64_t pieces;         // that points are summed in
  std::uint64_t moment_pieces;  // and that their moments are; as many as there is room for in the sums' place
  std::uint64_t sums, counts, moves, blocks, state, bytes;
};

constexpr std::uint64_t kMostPieces = 2048, kMostBlocks = 1024;

// Threads that add up the pieces' sums of a coordinate: each has some eight of them.
constexpr unsigned MovedTogether(std::uint64_t pieces) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>(std::bit_floor(pieces / 8), 1, kBlockSize));
}

Layout LayOut(const Sizes& sizes) {
  Layout layout{};
  layout.pieces = sizes.Pieces(kMostPieces, 256);
  layout.moment_pieces = std::max(layout.pieces, std::min({kMostPieces, sizes.n / 256, layout.pieces * (sizes.k / 2)}));
  Arena arena;
  // Cannot overflow: sums take no more than the points, which are there.
  static_cast<void>(arena.Add(layout.pieces * std::max(sizes.cells(), 2 * sizes.d) * 8, &layout.sums));
  static_cast<void>(arena.Add(layout.pieces * sizes.k * 8, &layout.counts));
  static_cast<void>(arena.Add(sizes.cells() * 8, &layout.moves));
  static_cast<void>(arena.Add(kMostBlocks * 8, &layout.blocks));
  static_cast<void>(arena.Add(sizeof(State), &layout.state));
  layout.bytes = arena.bytes();
  return layout;
}

__device__ std::uint64_t First() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::uint64_t Stride() { return std::uint64_t{gridDim.x} * blockDim.x; }
__device__ std::uint64_t BeginOf(std::uint64_t piece, std::uint64_t n, std::uint64_t pieces) {
  return piece * (n / pieces) + (piece < n % pieces ? piece : n % pieces);
}

// The block's threads' numbers added up, in thread 0's.
__device__ double OfBlock(double mine) {
  __shared__ double parts[kBlockSize];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = kBlockSize / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  const double sum = parts[0];
  __syncthreads();
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(kBlockSize) Begin(const T* initial, std::uint64_t cells, T* centroids, State* state) {
  for (std::uint64_t i = First(); i < cells; i += Stride()) {
    centroids[i] = initial[i];
    if (!IsFiniteNumber(initial[i])) atomicOr(&state->not_finite, kOfInitial);
  }
}

// The moments of the points [from, to) of each piece, in order. A thread has one coordinate of a piece.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    AddMoments(const T* points, std::uint64_t n, std::uint64_t d, std::uint64_t pieces, std::uint64_t from,
               std::uint64_t to, double* moments, State* state) {
  for (std::uint64_t i = First(); i < pieces * d; i += Stride()) {
    const std::uint64_t piece = i / d, j = i % d, begin = BeginOf(piece, n, pieces);
    const std::uint64_t end_of_all = BeginOf(piece + 1, n, pieces);
    const std::uint64_t end = end_of_all - begin < to ? end_of_all : begin + to;
    Moments mine;
    if (from > 0) mine = {moments[2 * i], moments[2 * i + 1]};
    bool finite = true;
    for (std::uint64_t p = begin + from; p < end; ++p) {
      const T x = points[p * d + j];
      mine.Add(static_cast<double>(x) - static_cast<double>(points[j]));
      finite = finite && IsFiniteNumber(x);
    }
    moments[2 * i] = mine.sum;
    moments[2 * i + 1] = mine.squares;
    if (!finite) atomicOr(&state->not_finite, kOfPoints);
  }
}

// By one block.
__global__ void __launch_bounds__(kBlockSize) FindThreshold(const double* moments, std::uint64_t n, std::uint64_t d,
                                                            std::uint64_t pieces, double tolerance, State* state) {
  double variances = 0;
  for (std::uint64_t j = threadIdx.x; j < d; j += kBlockSize) {
    Moments all;
    for (std::uint64_t piece = 0; piece < pieces; ++piece) {
      const double* const one = moments + 2 * (piece * d + j);
      all.Add(Moments{one[0], one[1]});
    }
    variances += all.Variance(static_cast<double>(n));
  }
  variances = OfBlock(variances);
  if (threadIdx.x == 0) {
    state->threshold = tolerance * (variances / static_cast<double>(d > 0 ? d : 1));
    state->ended = state->not_finite != 0;
  }
}

// Labels of the points in [begin, end). With `last`, even after the iteration has ended.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    Assign(const T* points, std::uint64_t begin, std::uint64_t end, const T* centroids, std::uint64_t k,
           std::uint64_t d, bool last, std::int32_t* labels, State* state) {
  constexpr unsigned kRow = kSide / kEach, kLoads = kSide * kDeep / kThreads;
  // A coordinate's row is longer, so that the kDeep ones of a point, which neighbours store, are not all in one bank of
  // shared memory; and by 16 bytes, so that rows are still read in packs of as many.
  constexpr unsigned kPadded = kSide + 16 / sizeof(T);
  __shared__ T of_points[kDeep][kPadded], of_centroids[kDeep][kPadded];
  __shared__ T least[kSide][kRow];
  __shared__ std::int32_t nearest[kSide][kRow];
  if (state->ended != 0 && !last) return;
  const unsigned row = threadIdx.x / kRow, column = threadIdx.x % kRow;
  for (std::uint64_t base = begin + std::uint64_t{blockIdx.x} * kSide; base < end;
       base += std::uint64_t{gridDim.x} * kSide) {
    T best[kEach];
    std::int32_t place[kEach];
    for (unsigned a = 0; a < kEach; ++a) best[a] = static_cast<T>(HUGE_VAL), place[a] = 0;
    for (std::uint64_t first = 0; first < k; first += kSide) {
      T squares[kEach][kEach] = {};
      for (std::uint64_t deep = 0; deep < d; deep += kDeep) {
        const unsigned own = threadIdx.x % kDeep, which = threadIdx.x / kDeep;
        const auto fill = [&](T(*tile)[kPadded], const T* rows, std::uint64_t from, std::uint64_t to) {
          T loaded[kLoads];
#pragma unroll
          for (unsigned u = 0; u < kLoads; ++u) {
            const std::uint64_t i = from + which + u * (kSide / kLoads);
            loaded[u] = i < to && deep + own < d ? rows[i * d + deep + own] : T(0);
          }
#pragma unroll
          for (unsigned u = 0; u < kLoads; ++u) tile[own][which + u * (kSide / kLoads)] = loaded[u];
        };
        fill(of_points, points, base, end);
        fill(of_centroids, centroids, first, k);
        __syncthreads();
        for (unsigned j = 0; j < kDeep; ++j) {
          for (unsigned a = 0; a < kEach; ++a) {
            for (unsigned b = 0; b < kEach; ++b) {
              const T difference = of_points[j][row * kEach + a] - of_centroids[j][b * kRow + column];
              squares[a][b] += difference * difference;
            }
          }
        }
        __syncthreads();
      }
      for (unsigned a = 0; a < kEach; ++a) {
        for (unsigned b = 0; b < kEach; ++b) {
          const std::uint64_t c = first + b * kRow + column;
          if (c < k && squares[a][b] < best[a]) best[a] = squares[a][b], place[a] = static_cast<std::int32_t>(c);
        }
      }
    }
    for (unsigned a = 0; a < kEach; ++a) {
      least[row * kEach + a][column] = best[a];
      nearest[row * kEach + a][column] = place[a];
    }
    __syncthreads();
    if (threadIdx.x < kSide && base + threadIdx.x < end) {
      T distance = least[threadIdx.x][0];
      std::int32_t label = nearest[threadIdx.x][0];
      for (unsigned i = 1; i < kRow; ++i) {
        const T other = least[threadIdx.x][i];
        const std::int32_t at = nearest[threadIdx.x][i];
        if (other < distance || (other == distance && at < label)) distance = other, label = at;
      }
      labels[base + threadIdx.x] = label;
    }
    __syncthreads();
  }
}

// Adds up the points [from, to) of each piece, in their order. A warp has kWarp coordinates, one to a lane, of kWarp
// centroids' points.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    AddPoints(const T* points, std::uint64_t n, std::uint64_t d, std::uint64_t k, std::uint64_t pieces,
              std::uint64_t from, std::uint64_t to, const std::int32_t* labels, double* sums, std::int64_t* counts,
              const State* state) {
  if (state->ended != 0) return;
  constexpr unsigned kAhead = 4;
  const unsigned lane = threadIdx.x % kWarp;
  const std::uint64_t groups = (k + kWarp - 1) / kWarp, parts = (d + kWarp - 1) / kWarp;
  const std::uint64_t items = pieces * groups * parts;
  for (std::uint64_t i = First() / kWarp; i < items; i += Stride() / kWarp) {
    const std::uint64_t piece = i / parts / groups, first = i / parts % groups * kWarp, j = i % parts * kWarp + lane;
    double* const sum = sums + piece * k * d + j;
    std::int64_t* const count = counts + piece * k;
    const bool has_coordinate = j < d, counts_points = j == 0;
    for (std::uint64_t c = first; from == 0 && c < k && c < first + kWarp; ++c) {
      if (has_coordinate) sum[c * d] = 0;
      if (counts_points) count[c] = 0;
    }
    const std::uint64_t all = BeginOf(piece, n, pieces), end_of_all = BeginOf(piece + 1, n, pieces);
    const std::uint64_t end = end_of_all - all < to ? end_of_all : all + to;
    for (std::uint64_t base = all + from; base < end; base += kWarp) {
      // Which of the warp's centroids; kWarp or more: none of them.
      const unsigned mine =
          base + lane < end ? static_cast<unsigned>(labels[base + lane]) - static_cast<unsigned>(first) : kWarp;
      unsigned found = __ballot_sync(kAll, mine < kWarp);
      while (found != 0) {
        // The next points, up to kAhead, are all loaded before the first is added, since sums are in memory, too.
        T point[kAhead] = {};
        unsigned centroid[kAhead] = {};
        const auto taken = static_cast<unsigned>(__popc(found));
#pragma unroll
        for (unsigned u = 0; u < kAhead; ++u) {
          if (u >= taken) break;
          const unsigned which = static_cast<unsigned>(__ffs(static_cast<int>(found))) - 1;
          centroid[u] = __shfl_sync(kAll, mine, which);
          if (has_coordinate) point[u] = points[(base + which) * d + j];
          found &= found - 1;
        }
#pragma unroll
        for (unsigned u = 0; u < kAhead; ++u) {
          if (u >= taken) break;
          const std::uint64_t c = first + centroid[u];
          if (has_coordinate) sum[c * d] += static_cast<double>(point[u]);
          if (counts_points) ++count[c];
        }
      }
    }
  }
}

// Centroids become means; the squares of their moves. `together` threads to a coordinate, a power of two: each adds up
// every together-th piece, and then they add up theirs. Neighbours have neighbouring coordinates.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    Move(const double* sums, const std::int64_t* counts, std::uint64_t d, std::uint64_t k, std::uint64_t pieces,
         unsigned together, T* centroids, double* moves, const State* state) {
  __shared__ double all_sums[kBlockSize];
  __shared__ std::int64_t all_counts[kBlockSize];
  if (state->ended != 0) return;
  const unsigned at_once = kBlockSize / together, member = threadIdx.x / at_once;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * at_once;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * at_once; first < k * d; first += stride) {
    const std::uint64_t i = first + threadIdx.x % at_once;
    double sum = 0;
    std::int64_t count = 0;
    if (i < k * d) {
#pragma unroll 4
      for (std::uint64_t piece = member; piece < pieces; piece += together) {
        sum += sums[piece * k * d + i];
        count += counts[piece * k + i / d];
      }
    }
    all_sums[threadIdx.x] = sum;
    all_counts[threadIdx.x] = count;
    for (unsigned half = together / 2; half > 0; half /= 2) {
      __syncthreads();
      if (member < half) {
        sum += all_sums[threadIdx.x + half * at_once];
        count += all_counts[threadIdx.x + half * at_once];
        all_sums[threadIdx.x] = sum;
        all_counts[threadIdx.x] = count;
      }
    }
    if (member == 0 && i < k * d) {
      const T mean = count == 0 ? centroids[i] : static_cast<T>(sum / static_cast<double>(count));
      const double move = static_cast<double>(mean) - static_cast<double>(centroids[i]);
      moves[i] = move * move;
      centroids[i] = mean;
    }
    __syncthreads();  // before the next coordinates' sums take the place of these
  }
}

// By one block: whether that was the last iteration.
__global__ void __launch_bounds__(kBlockSize) Decide(const double* moves, std::uint64_t cells, State* state) {
  if (state->ended != 0) return;
  double mine = 0;
  for (std::uint64_t i = threadIdx.x; i < cells; i += kBlockSize) mine += moves[i];
  const double all = OfBlock(mine);
  if (threadIdx.x == 0) {
    ++state->iterations;
    state->ended = all <= state->threshold;  // 0 where no label has changed: the same sums again
  }
}

// Adds the squared distances of the points [begin, end) to each block's sum. Threads have neighbouring coordinates, of
// the same point or the next.
template <typename T>
__global__ void __launch_bounds__(kBlockSize)
    AddDistances(const T* points, std::uint64_t begin, std::uint64_t end, std::uint64_t d, const T* centroids,
                 const std::int32_t* labels, double* blocks) {
  double mine = 0;
  if (d > 0) {
    const std::uint64_t points_on = Stride() / d, coordinates_on = Stride() % d;
    std::uint64_t i = begin + First() / d, j = First() % d;
    while (i < end) {
      const T coordinate = centroids[static_cast<std::uint64_t>(labels[i]) * d + j];
      const double difference = static_cast<double>(points[i * d + j]) - static_cast<double>(coordinate);
      mine += difference * difference;
      i += points_on, j += coordinates_on;
      if (j >= d) j -= d, ++i;
    }
  }
  const double all = OfBlock(mine);
  if (threadIdx.x == 0) blocks[blockIdx.x] = begin == 0 ? all : blocks[blockIdx.x] + all;
}

// By one block.
__global__ void __launch_bounds__(kBlockSize)
    Tell(const double* blocks, unsigned count, const State* state, double* inertia, std::int64_t* iterations) {
  double mine = 0;
  for (unsigned i = threadIdx.x; i < count; i += kBlockSize) mine += blocks[i];
  const double all = OfBlock(mine);
  if (threadIdx.x == 0) {
    *inertia = all;
    *iterations = static_cast<std::int64_t>(state->iterations);
  }
}

// The first unsuccessful outcome; else OK.
template <typename... Steps>
Outcome InOrder(const Steps&... steps) {
  Outcome outcome = Outcome::Ok();
  static_cast<void>(((outcome = steps(), outcome.ok()) && ...));
  return outcome;
}

template <typename T>
class Iterations {
 public:
  Iterations(const Call& call, CudaContext& context)
      : context_(context),
        sizes_(call),
        layout_(LayOut(sizes_)),
        points_(call.Input<T>("points").data()),
        centroids_(call.Output<T>("centroids").data()),
        labels_(call.Output<std::int32_t>("labels").data()),
        sums_(At<double>(call, layout_.sums)),
        counts_(At<std::int64_t>(call, layout_.counts)),
        moves_(At<double>(call, layout_.moves)),
        blocks_(At<double>(call, layout_.blocks)),
        state_(At<State>(call, layout_.state)) {
    const CudaTraits& traits = context.traits();
    const double rate = sizeof(T) == 4 ? traits.float_operations_per_ms : traits.double_operations_per_ms;
    // A point is compared in kDeep coordinates at least, and where it has none.
    const double coordinates = static_cast<double>(std::max<std::uint64_t>(RoundUp(sizes_.d, kDeep), 1));
    chunks_ = ChunksWithin(sizes_.n, 3.0 * coordinates * static_cast<double>(sizes_.k), rate, kBoundMs,
                           kSide * static_cast<std::uint64_t>(traits.multiprocessors));
    const double labels = static_cast<double>(CeilDiv(sizes_.k, kWarp) * CeilDiv(sizes_.d, kWarp));
    const double of_a_point = static_cast<double>(sizes_.d) * kCoordinateOperations;
    const auto of_each_piece = [&](std::uint64_t pieces, double operations) {
      return ChunksWithin(CeilDiv(sizes_.n, pieces), rate * kMsPerPoint + static_cast<double>(pieces) * operations,
                          rate, kBoundMs, 1);
    };
    sum_chunks_ = of_each_piece(layout_.pieces, labels * kLabelsOperations + of_a_point);
    moment_chunks_ = of_each_piece(layout_.moment_pieces, of_a_point);
    distance_chunks_ = ChunksWithin(sizes_.n, of_a_point, rate, kBoundMs, 1);
  }

  // Reports elements that are not finite.
  Outcome Begin(const Call& call) {
    const std::uint64_t n = sizes_.n, d = sizes_.d, pieces = layout_.moment_pieces;
    return InOrder([&] { return ToOutcome(cudaMemsetAsync(state_, 0, sizeof(State), context_.stream()), "memset"); },
                   [&] {
                     return Launch(context_, kmeans::Begin<T>, GridFor(sizes_.cells(), 4), kBlockSize,
                                   call.Input<T>("initial").data(), sizes_.cells(), centroids_, state_);
                   },
                   [&] {
                     return InSteps(moment_chunks_, [&](std::uint64_t from, std::uint64_t to) {
                       return Launch(context_, AddMoments<T>, GridFor(pieces * d), kBlockSize, points_, n, d, pieces,
                                     from, to, sums_, state_);
                     });
                   },
                   [&] {
                     return Launch(context_, FindThreshold, 1, kBlockSize, sums_, n, d, pieces, call.Float("tolerance"),
                                   state_);
                   },
                   [&] { return Read(&state_->not_finite); });
  }

  // The iterations, until the device says that it was the last.
  Outcome Iterate(std::int64_t most) {
    const std::uint64_t labelling = chunks_.count(), steps = labelling + sum_chunks_.count();  // of an iteration
    const std::uint64_t all = static_cast<std::uint64_t>(most) * steps;
    return context_.Pace(
        all,
        [&](std::uint64_t i) {
          const std::uint64_t step = i % steps;
          return step < labelling ? Assign(chunks_.Begin(step), chunks_.End(step), false) : Update(step - labelling);
        },
        [&](std::uint64_t i) {
          context_.ReportProgress(static_cast<double>(i + 1) / static_cast<double>(all + steps));
          return i % steps + 1 == steps && context_.host_words()[0] != 0;
        });
  }

  Outcome End(const Call& call) {
    const std::uint64_t cells = distance_chunks_.End(0) * sizes_.d;
    const unsigned blocks = std::min<unsigned>(GridFor(cells, 4), kMostBlocks);
    return InOrder([&] { return InSteps(chunks_, [&](auto begin, auto end) { return Assign(begin, end, true); }); },
                   [&] {
                     return InSteps(distance_chunks_, [&](std::uint64_t begin, std::uint64_t end) {
                       return Launch(context_, AddDistances<T>, blocks, kBlockSize, points_, begin, end, sizes_.d,
                                     centroids_, labels_, blocks_);
                     });
                   },
                   [&] {
                     return Launch(context_, Tell, 1, kBlockSize, blocks_, blocks, state_,
                                   call.Output<double>("inertia").data(),
                                   call.Output<std::int64_t>("iterations").data());
                   });
  }

 private:
  template <typename P>
  static P* At(const Call& call, std::uint64_t offset) {
    return reinterpret_cast<P*>(call.scratch().data() + offset);
  }

  // To the host's first word.
  Outcome Read(const void* from) {
    void* const word = const_cast<std::uint64_t*>(context_.host_words());
    return ToOutcome(cudaMemcpyAsync(word, from, sizeof(std::uint64_t), cudaMemcpyDeviceToHost, context_.stream()),
                     "copy of the state");
  }

  // Paces launch(begin, end) over the chunks; progress does not change.
  template <typename Launch>
  Outcome InSteps(const Chunks& chunks, const Launch& launch) {
    return context_.Pace(
        chunks.count(), [&](std::uint64_t i) { return launch(chunks.Begin(i), chunks.End(i)); },
        [](std::uint64_t) { return false; });
  }

  Outcome Assign(std::uint64_t begin, std::uint64_t end, bool last) {
    return Launch(context_, kmeans::Assign<T>, GridFor(end - begin, 1, kSide), kBlockSize, points_, begin, end,
                  centroids_, sizes_.k, sizes_.d, last, labels_, state_);
  }

  // The last chunk's sums are all sums.
  Outcome Update(std::uint64_t chunk) {
    const std::uint64_t n = sizes_.n, d = sizes_.d, k = sizes_.k, pieces = layout_.pieces;
    const std::uint64_t warps = pieces * CeilDiv(k, kWarp) * CeilDiv(d, kWarp);
    const Outcome added =
        Launch(context_, AddPoints<T>, GridFor(warps, 1, kBlockSize / kWarp), kBlockSize, points_, n, d, k, pieces,
               sum_chunks_.Begin(chunk), sum_chunks_.End(chunk), labels_, sums_, counts_, state_);
    if (!added.ok() || chunk + 1 < sum_chunks_.count()) return added;
    return InOrder(
        [&] {
          const unsigned together = MovedTogether(pieces);
          return Launch(context_, Move<T>, GridFor(k * d, 1, kBlockSize / together), kBlockSize, sums_, counts_, d, k,
                        pieces, together, centroids_, moves_, state_);
        },
        [&] { return Launch(context_, Decide, 1, kBlockSize, moves_, k * d, state_); },
        [&] { return Read(&state_->ended); });
  }

  CudaContext& context_;
  const Sizes sizes_;
  const Layout layout_;
  const T* const points_;
  T* const centroids_;
  std::int32_t* const labels_;
  double* const sums_;
  std::int64_t* const counts_;
  double* const moves_;
  double* const blocks_;
  State* const state_;
  Chunks chunks_;           // of the points, for their labels
  Chunks sum_chunks_;       // of each piece's points, for their sums
  Chunks moment_chunks_;    // and for their moments
  Chunks distance_chunks_;  // of the points, for their distances
};

template <typename T>
Outcome Run(const Call& call, CudaContext& context) {
  Iterations<T> iterations(call, context);
  if (const Outcome o = iterations.Begin(call); !o.ok()) return o;
  if (const Outcome o = context.Wait(); !o.ok()) return o;
  if (const std::uint64_t not_finite = context.host_words()[0]; not_finite != 0) {
    return Outcome::Invalid((not_finite & kOfInitial) != 0 ? kInitialNotFinite : kPointsNotFinite);
  }
  if (const Outcome o = iterations.Iterate(call.Int("max_iterations")); !o.ok()) return o;
  if (const Outcome o = iterations.End(call); !o.ok()) return o;
  context.ReportProgress(1);
  return Outcome::Ok();
}

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) { return LayOut(Sizes(call)).bytes; }

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double>("kmeans", call.InputType("points"),
                                [&]<typename T>() { return Run<T>(call, context); });
}

}  // namespace hotplate::kmeans
