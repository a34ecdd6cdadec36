// Rows are sorted by key. Keys are numbered where they begin, tile by tile. Each thread sums a run of rows; the first
// rows may belong to a key that began earlier, and are added in order after all runs have been summed.
#include "kernels/call/for_type.h"
#include "kernels/catalogue/groupby_sum/groupby_sum.h"
#include "kernels/catalogue/groupby_sum/groupby_sum_cuda.h"
#include "kernels/catalogue/groupby_sum/groupby_sum_sums.h"
#include "kernels/catalogue/sort/radix_cuda.cuh"
#include "kernels/devices/cuda/code/block_fold.cuh"
#include "kernels/devices/cuda/code/read_word.cuh"

namespace hotplate::groupby_sum {
namespace {

// A key that goes on for more runs is summed by a block.
constexpr std::uint64_t kAlone = 64;

// Where keys begin, and how many of them in each tile.
template <typename Bits>
__global__ void __launch_bounds__(kBlockSize)
    MarkHeads(const Bits* keys, std::uint64_t n, Run* runs, std::uint32_t* tiles) {
  const unsigned lane = threadIdx.x % kRun;
  for (std::uint64_t tile = blockIdx.x; tile * kTile < n; tile += gridDim.x) {
    // A warp reads the rows of one run after the other.
    const std::uint64_t rows = tile * kTile + threadIdx.x / kRun * (kRun * kRun);
    std::uint32_t heads = 0;
    for (unsigned run = 0; run < kRun; ++run) {
      const std::uint64_t i = rows + run * kRun + lane;
      const std::uint32_t of_run = __ballot_sync(0xffffffff, i < n && (i == 0 || keys[i] != keys[i - 1]));
      if (run == lane) heads = of_run;
    }
    const std::uint64_t run = tile * kBlockSize + threadIdx.x;
    const auto count = FoldBlock(static_cast<std::uint32_t>(__popc(heads)), std::uint32_t{0});
    if (run * kRun < n) runs[run] = {heads, count.before};
    if (threadIdx.x == 0) tiles[tile] = count.whole;
  }
}

// Numbers the keys: each one's first row, and the key itself. Afterwards a run's `before` counts from the first tile.
template <typename K>
__global__ void __launch_bounds__(kBlockSize)
    Number(const sort::BitsOf<K>* keys, std::uint64_t n, const std::uint32_t* tiles, Run* runs, std::uint32_t* starts,
           K* unique_keys) {
  for (std::uint64_t run = sort::device::First(); run * kRun < n; run += sort::device::Stride()) {
    const std::uint32_t heads = runs[run].heads;
    std::uint32_t group = runs[run].before + tiles[run / kBlockSize];
    runs[run].before = group;
    for (unsigned i = 0; i < kRun; ++i) {
      if ((heads >> i & 1) == 0) continue;
      const std::uint64_t row = run * kRun + i;
      starts[group] = static_cast<std::uint32_t>(row);
      unique_keys[group++] = sort::Order<K>().ElementOf(keys[row]);
    }
  }
}

// partials[g]: of the rows of key g in the run where it begins. carries[r]: of run r's rows before a key begins.
template <typename V>
__global__ void __launch_bounds__(kBlockSize) SumRuns(const V* values, const std::uint32_t* indices, std::uint64_t n,
                                                      const Run* runs, Sum<V>* partials, Sum<V>* carries) {
  for (std::uint64_t r = sort::device::First(); r * kRun < n; r += sort::device::Stride()) {
    const Run run = runs[r];
    const std::uint64_t begin = r * kRun, rows = min(kRun, n - begin);
    std::uint32_t group = run.before;
    Sum<V> sum = 0;
    for (std::uint64_t i = 0; i < rows; ++i) {
      if ((run.heads >> i & 1) != 0) {
        (group == run.before ? carries[r] : partials[group - 1]) = sum;
        sum = 0;
        ++group;
      }
      sum += static_cast<Sum<V>>(values[indices[begin + i]]);
    }
    (group == run.before ? carries[r] : partials[group - 1]) = sum;
  }
}

// Sums and counts of the keys, with the runs that they go on for.
template <typename V>
__global__ void __launch_bounds__(kBlockSize)
    Finish(const std::uint64_t* group_count, const std::uint32_t* starts, std::uint64_t n, const Sum<V>* partials,
           const Sum<V>* carries, Result<V>* sums, std::int64_t* counts) {
  __shared__ std::uint64_t first[kBlockSize], last[kBlockSize];  // runs of the block's keys that are too many for one
  __shared__ Sum<V> parts[kBlockSize];
  const std::uint64_t groups = *group_count;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * kBlockSize; base < groups; base += stride) {
    const std::uint64_t group = base + threadIdx.x;
    first[threadIdx.x] = last[threadIdx.x] = 0;
    if (group < groups) {
      const std::uint64_t begin = starts[group], end = group + 1 < groups ? starts[group + 1] : n;
      const std::uint64_t from = begin / kRun + 1, to = (end - 1) / kRun + 1;
      counts[group] = static_cast<std::int64_t>(end - begin);
      if (to - from <= kAlone) {
        Sum<V> sum = partials[group];
        for (std::uint64_t run = from; run < to; ++run) sum += carries[run];
        sums[group] = static_cast<Result<V>>(sum);
      } else {
        first[threadIdx.x] = from;
        last[threadIdx.x] = to;
      }
    }
    // Most blocks have no such key, and look for none.
    const bool any = __syncthreads_or(first[threadIdx.x] != last[threadIdx.x]) != 0;
    for (unsigned i = 0; any && i < kBlockSize; ++i) {
      if (first[i] == last[i]) continue;
      Sum<V> mine = 0;
      for (std::uint64_t run = first[i] + threadIdx.x; run < last[i]; run += kBlockSize) mine += carries[run];
      parts[threadIdx.x] = mine;
      __syncthreads();
      for (unsigned half = kBlockSize / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
      }
      if (threadIdx.x == 0) sums[base + i] = static_cast<Result<V>>(partials[base + i] + parts[0]);
      __syncthreads();
    }
    __syncthreads();
  }
}

// State shared by the steps.
struct Sorted {
  std::uint64_t n;
  const std::uint32_t* indices;
  Run* runs;
  std::uint32_t* starts;
  std::uint64_t* groups;
  void *partials, *carries;
};

template <typename K>
Outcome SortAndNumber(const Call& call, const Scratch& layout, Sorted& sorted, CudaContext& context) {
  using Bits = sort::BitsOf<K>;
  std::byte* const scratch = call.scratch().data();
  const std::uint64_t n = sorted.n;
  auto* const tiles = reinterpret_cast<std::uint32_t*>(scratch + layout.tiles);
  const auto at = [=](std::uint64_t offset) { return reinterpret_cast<std::uint32_t*>(scratch + offset); };
  sort::Buffers<Bits> keys{reinterpret_cast<Bits*>(scratch + layout.sort.keys[0]),
                           reinterpret_cast<Bits*>(scratch + layout.sort.keys[1])};
  sort::Buffers<std::uint32_t> indices{at(layout.sort.indices[0]), at(layout.sort.indices[1])};
  const Outcome made =
      Launch(context, sort::device::MakeKeys<K, Bits>, GridFor(n, 4), kBlockSize, call.Input<K>("keys").data(),
             keys.full, indices.full, sort::Rows{1, n, 1}, false, sort::Order<K>{}, false);
  if (!made.ok()) return made;
  const int bits = static_cast<int>(8 * sizeof(K));
  const Outcome in_order = sort::SortPairs(keys, indices, n, bits, scratch, layout.sort, context);
  if (!in_order.ok()) return in_order;
  sorted.indices = indices.full;
  const Outcome marked =
      Launch(context, MarkHeads<Bits>, GridFor(n, kRun), kBlockSize, keys.full, n, sorted.runs, tiles);
  if (!marked.ok()) return marked;
  const Outcome summed =
      Launch(context, SumTotals<std::uint32_t>, 1, kBlockSize, tiles, CeilDiv(n, kTile), sorted.groups);
  if (!summed.ok()) return summed;
  return Launch(context, Number<K>, GridFor(n, kRun), kBlockSize, keys.full, n, tiles, sorted.runs, sorted.starts,
                call.Output<K>("unique_keys").data());
}

template <typename V>
Outcome AddUp(const Call& call, const Sorted& sorted, CudaContext& context) {
  auto* const partials = static_cast<Sum<V>*>(sorted.partials);
  auto* const carries = static_cast<Sum<V>*>(sorted.carries);
  const std::uint64_t n = sorted.n;
  const Outcome summed = Launch(context, SumRuns<V>, GridFor(n, kRun), kBlockSize, call.Input<V>("values").data(),
                                sorted.indices, n, sorted.runs, partials, carries);
  if (!summed.ok()) return summed;
  return Launch(context, Finish<V>, GridFor(n, 4), kBlockSize, sorted.groups, sorted.starts, n, partials, carries,
                call.Output<Result<V>>("sums").data(), call.Output<std::int64_t>("counts").data());
}

std::uint64_t RowsOf(const Call& call) { return static_cast<std::uint64_t>(call.InputArray("keys").shape[0]); }

}  // namespace

std::uint64_t ScratchCuda(const Call& call, const CudaTraits&) {
  const std::uint64_t n = RowsOf(call);
  return n == 0 ? 0 : LayOut(n, call.InputArray("keys").bytes / n).bytes;
}

Outcome RunCuda(const Call& call, CudaContext& context) {
  const std::uint64_t n = RowsOf(call);
  if (n == 0) {
    SayGroups(call, 0);
    return Outcome::Ok();
  }
  const Scratch layout = LayOut(n, call.InputArray("keys").bytes / n);
  std::byte* const scratch = call.scratch().data();
  Sorted sorted{.n = n,
                .indices = nullptr,
                .runs = reinterpret_cast<Run*>(scratch + layout.runs),
                .starts = reinterpret_cast<std::uint32_t*>(scratch + layout.starts),
                .groups = reinterpret_cast<std::uint64_t*>(scratch + layout.groups),
                .partials = scratch + layout.partials,
                .carries = scratch + layout.carries};
  const Outcome numbered = ForType<std::int32_t, std::int64_t>(
      "groupby_sum", call.InputType("keys"),
      [&]<typename K>() { return SortAndNumber<K>(call, layout, sorted, context); });
  if (!numbered.ok()) return numbered;
  const Outcome summed = ForType<float, double, std::int32_t, std::int64_t>(
      "groupby_sum", call.InputType("values"), [&]<typename V>() { return AddUp<V>(call, sorted, context); });
  if (!summed.ok()) return summed;
  std::uint64_t groups = 0;
  if (const Outcome o = ReadWord(context, sorted.groups, "copy of the number of keys", groups); !o.ok()) return o;
  SayGroups(call, groups);
  return Outcome::Ok();
}

}  // namespace hotplate::groupby_sum
