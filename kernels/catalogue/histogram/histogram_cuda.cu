// The range is found block by block, put together by one block, which also lays the edges if there are not too many;
// then the elements are counted, in shared memory first where the bins fit there.
#include "kernels/call/for_type.h"
#include "kernels/catalogue/histogram/histogram.h"
#include "kernels/catalogue/histogram/histogram_functor.h"
#include "kernels/devices/cuda/code/launch.h"

namespace hotplate::histogram {
namespace {

constexpr unsigned kMostFindBlocks = 2048, kBlocksOfProcessor = 8;
constexpr std::int64_t kSharedBins = 4096;
constexpr std::int64_t kLaidByOneBlock = 65536;  // edges
constexpr std::uint64_t kPerThread = 16;
constexpr unsigned kAhead = 4;  // elements that a thread has in flight

// The scratch: each block's extremes, then the status and the range.
struct Scratch {
  Extremes found[kMostFindBlocks];
  std::uint64_t status;
  Wanted range;
};

// The block's threads' extremes, all in thread 0's.
__device__ Extremes OfBlock(Extremes mine) {
  __shared__ double least[kBlockSize], greatest[kBlockSize];
  __shared__ std::uint64_t finite[kBlockSize];
  least[threadIdx.x] = mine.least;
  greatest[threadIdx.x] = mine.greatest;
  finite[threadIdx.x] = mine.finite;
  __syncthreads();
  for (unsigned half = kBlockSize / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      Extremes other;
      other.least = least[threadIdx.x + half];
      other.greatest = greatest[threadIdx.x + half];
      other.finite = finite[threadIdx.x + half];
      mine.Add(other);
      least[threadIdx.x] = mine.least;
      greatest[threadIdx.x] = mine.greatest;
      finite[threadIdx.x] = mine.finite;
    }
    __syncthreads();
  }
  return mine;
}

// Calls take(element, there) for the thread's elements. The block's threads all do so equally often, with some that are
// not there.
template <typename T, typename Take>
__device__ __forceinline__ void ForEachElement(const T* x, std::uint64_t n, const Take& take) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * kBlockSize; base < n; base += kAhead * stride) {
    const std::uint64_t first = base + threadIdx.x;
    T loaded[kAhead] = {};
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u) {
      if (first + u * stride < n) loaded[u] = x[first + u * stride];
    }
#pragma unroll
    for (unsigned u = 0; u < kAhead; ++u) take(loaded[u], first + u * stride < n);
  }
}

template <typename T>
__global__ void __launch_bounds__(kBlockSize) Find(const T* x, std::uint64_t n, Scratch* scratch) {
  Extremes mine;
  ForEachElement(x, n, [&](T element, bool there) {
    if (there) mine.Add(static_cast<double>(element));
  });
  const Extremes all = OfBlock(mine);
  if (threadIdx.x == 0) scratch->found[blockIdx.x] = all;
}

// Writes every step-th edge.
template <typename F>
__device__ __forceinline__ void LayEdges(const Wanted& range, std::uint64_t first, std::uint64_t step, F* edges) {
  const Bins<F> bins(range.low, range.high, range.bins);
  for (std::uint64_t i = first; i <= static_cast<std::uint64_t>(range.bins); i += step) edges[i] = bins.edges(i);
}

// By one block: the range, and the edges unless they are too many for one.
template <typename F>
__global__ void __launch_bounds__(kBlockSize) Prepare(Wanted wanted, unsigned found, Scratch* scratch, F* edges) {
  Extremes mine;
  for (unsigned i = threadIdx.x; i < found; i += kBlockSize) mine.Add(scratch->found[i]);
  const Extremes all = OfBlock(mine);
  if (threadIdx.x == 0) {
    scratch->status = RangeOf(all, found == 0, wanted);
    scratch->range = wanted;
  }
  if (wanted.bins > kLaidByOneBlock) return;
  __syncthreads();
  LayEdges(scratch->range, threadIdx.x, kBlockSize, edges);
}

template <typename F>
__global__ void __launch_bounds__(kBlockSize) LayAll(const Scratch* scratch, F* edges) {
  LayEdges(scratch->range, std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x, std::uint64_t{gridDim.x} * kBlockSize,
           edges);
}

// Counts an element in that bin, or nothing for -1. All threads of the warp call it. Threads with the same bin make one
// addition: if most elements fall into few bins, additions would wait for each other.
__device__ __forceinline__ void CountOfWarp(int bin, unsigned long long* counts) {
  constexpr unsigned kAll = 0xffffffff, kWarp = 32;
  const unsigned same = __match_any_sync(kAll, bin);
  const bool is_first = static_cast<unsigned>(__ffs(static_cast<int>(same))) - 1 == threadIdx.x % kWarp;
  if (bin >= 0 && is_first) atomicAdd(&counts[bin], static_cast<unsigned long long>(__popc(same)));
}

template <bool kShared, typename T, typename F>
__global__ void __launch_bounds__(kBlockSize)
    Count(const T* x, std::uint64_t n, const Scratch* scratch, const F* edges, unsigned long long* counts) {
  __shared__ unsigned block_counts[kShared ? kSharedBins : 1];  // a block has fewer than 2^32 elements
  const Bins<F> bins(scratch->range.low, scratch->range.high, scratch->range.bins);
  if constexpr (kShared) {
    for (std::int64_t i = threadIdx.x; i < bins.count; i += kBlockSize) block_counts[i] = 0;
    __syncthreads();
  }
  ForEachElement(x, n, [&](T element, bool there) {
    const auto bin = static_cast<int>(there ? bins.Of(static_cast<F>(element), edges) : -1);
    if constexpr (!kShared) {
      CountOfWarp(bin, counts);
    } else if (bin >= 0) {
      atomicAdd(&block_counts[bin], 1u);
    }
  });
  if constexpr (kShared) {
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < bins.count; i += kBlockSize) {
      if (block_counts[i] != 0) atomicAdd(&counts[i], static_cast<unsigned long long>(block_counts[i]));
    }
  }
}

template <typename T, typename F>
Outcome Run(const Call& call, CudaContext& context) {
  const std::span<const T> x = call.Input<T>("x");
  const std::span<std::int64_t> counts = call.Output<std::int64_t>("counts");
  F* const edges = call.Output<F>("edges").data();
  Scratch* const scratch = reinterpret_cast<Scratch*>(call.scratch().data());
  const Wanted wanted{call.Choice("range") == "given", call.Float("low"), call.Float("high"), call.Int("bins")};
  const bool find = !wanted.given && !x.empty();
  const unsigned most = kBlocksOfProcessor * static_cast<unsigned>(context.traits().multiprocessors);
  const unsigned blocks = std::min(GridFor(x.size(), kPerThread), most);
  const unsigned found = find ? std::min(blocks, kMostFindBlocks) : 0;

  const auto prepare = [&] {
    if (find) {
      const Outcome o = Launch(context, Find<T>, found, kBlockSize, x.data(), x.size(), scratch);
      if (!o.ok()) return o;
    }
    if (const Outcome o = Launch(context, Prepare<F>, 1, kBlockSize, wanted, found, scratch, edges); !o.ok()) return o;
    if (wanted.bins > kLaidByOneBlock) {
      const unsigned grid = GridFor(static_cast<std::uint64_t>(wanted.bins) + 1, kPerThread);
      if (const Outcome o = Launch(context, LayAll<F>, grid, kBlockSize, scratch, edges); !o.ok()) return o;
    }
    void* const word = const_cast<std::uint64_t*>(context.host_words());
    const Outcome copied = ToOutcome(
        cudaMemcpyAsync(word, &scratch->status, sizeof scratch->status, cudaMemcpyDeviceToHost, context.stream()),
        "copy of the range's status");
    if (!copied.ok()) return copied;
    return ToOutcome(cudaMemsetAsync(counts.data(), 0, counts.size_bytes(), context.stream()), "memset");
  };
  const auto count = [&] {
    if (x.empty()) return Outcome::Ok();
    auto* const out = reinterpret_cast<unsigned long long*>(counts.data());
    return Launch(context, wanted.bins <= kSharedBins ? Count<true, T, F> : Count<false, T, F>, blocks, kBlockSize,
                  x.data(), x.size(), scratch, edges, out);
  };
  std::uint64_t status = kGood;
  // The third step is enqueued when the first has ended and its status has been read.
  const Outcome ended = context.Pace(
      3, [&](std::uint64_t i) { return i == 0   ? prepare()
                                       : i == 1 ? Outcome::Ok()
                                                : count(); },
      [&](std::uint64_t) {
        status = context.host_words()[0];
        return status != kGood;
      });
  if (!ended.ok() || status == kGood) return ended;
  return Outcome::Invalid(status == kHasNotFinite ? kNotFinite : kTooWide);
}

}  // namespace

std::uint64_t ScratchCuda(const Call&, const CudaTraits&) { return sizeof(Scratch); }

Outcome RunCuda(const Call& call, CudaContext& context) {
  return ForType<float, double, std::int32_t, std::int64_t>(
      "histogram", call.InputType("x"), [&]<typename T>() { return Run<T, FloatFor<T>>(call, context); });
}

}  // namespace hotplate::histogram
