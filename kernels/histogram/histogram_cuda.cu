// The range is found block by block, put together by one block, which also lays the edges; then the elements are
// counted, in shared memory first where the bins fit there.
#include "kernels/cuda/launch.h"
#include "kernels/for_type.h"
#include "kernels/histogram/histogram.h"
#include "kernels/histogram/histogram_functor.h"

namespace hotplate::histogram {
namespace {

constexpr unsigned kFindBlocks = 512;
constexpr std::int64_t kSharedBins = 4096;
constexpr std::uint64_t kPerThread = 16;

// The scratch: what each block found, then the status and the range.
struct Scratch {
  Extremes found[kFindBlocks];
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

template <typename T>
__global__ void __launch_bounds__(kBlockSize) Find(const T* x, std::uint64_t n, Scratch* scratch) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  Extremes mine;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < n; i += stride) {
    mine.Add(static_cast<double>(x[i]));
  }
  const Extremes all = OfBlock(mine);
  if (threadIdx.x == 0) scratch->found[blockIdx.x] = all;
}

template <typename F>
__global__ void __launch_bounds__(kBlockSize) Prepare(Wanted wanted, unsigned found, Scratch* scratch, F* edges) {
  Extremes mine;
  for (unsigned i = threadIdx.x; i < found; i += kBlockSize) mine.Add(scratch->found[i]);
  const Extremes all = OfBlock(mine);
  if (threadIdx.x == 0) {
    scratch->status = RangeOf(all, found == 0, wanted);
    scratch->range = wanted;
  }
  __syncthreads();
  const Bins<F> bins(scratch->range.low, scratch->range.high, wanted.bins);
  for (std::int64_t i = threadIdx.x; i <= wanted.bins; i += kBlockSize) {
    edges[i] = bins.edges(static_cast<std::uint64_t>(i));
  }
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
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < n; i += stride) {
    const std::int64_t bin = bins.Of(static_cast<F>(x[i]), edges);
    if (bin < 0) continue;
    if constexpr (kShared) {
      atomicAdd(&block_counts[bin], 1u);
    } else {
      atomicAdd(&counts[bin], 1ull);
    }
  }
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
  const unsigned found = find ? std::min(GridFor(x.size(), kPerThread), kFindBlocks) : 0;

  const auto prepare = [&] {
    if (find) {
      const Outcome o = Launch(context, Find<T>, found, kBlockSize, x.data(), x.size(), scratch);
      if (!o.ok()) return o;
    }
    if (const Outcome o = Launch(context, Prepare<F>, 1, kBlockSize, wanted, found, scratch, edges); !o.ok()) return o;
    void* const word = const_cast<std::uint64_t*>(context.host_words());
    const Outcome copied = ToOutcome(
        cudaMemcpyAsync(word, &scratch->status, sizeof scratch->status, cudaMemcpyDeviceToHost, context.stream()),
        "copy of the range's status");
    if (!copied.ok()) return copied;
    return ToOutcome(cudaMemsetAsync(counts.data(), 0, counts.size_bytes(), context.stream()), "memset");
  };
  const auto count = [&] {
    if (x.empty()) return Outcome::Ok();
    const std::uint64_t most = 8 * static_cast<std::uint64_t>(context.traits().multiprocessors);
    const std::uint64_t blocks = std::min<std::uint64_t>(GridFor(x.size(), kPerThread), most);
    auto* const out = reinterpret_cast<unsigned long long*>(counts.data());
    return Launch(context, wanted.bins <= kSharedBins ? Count<true, T, F> : Count<false, T, F>, blocks, kBlockSize,
                  x.data(), x.size(), scratch, edges, out);
  };
  std::uint64_t status = kGood;
  // The third step is enqueued when the first is over, and what it said is read.
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
