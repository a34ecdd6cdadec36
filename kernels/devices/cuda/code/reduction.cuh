// Reductions of an array along its middle axis, by the folds of kernels/families/folds.h. For .cu files. In the order
// in which elements are folded nothing depends on when a block runs.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/devices/cuda/code/launch.h"
#include "kernels/devices/cuda/code/reduction_plan.h"
#include "kernels/families/folds.h"

namespace hotplate::reduction {

// Loads that a thread has in flight.
inline constexpr unsigned kLoads = 8;

// Folds `count` > 0 elements that are `stride` apart.
template <typename Fold>
__device__ __forceinline__ void FoldOwn(const Fold& fold, const typename Fold::Element* x, std::uint64_t count,
                                        std::uint64_t stride, double about, typename Fold::First& a,
                                        typename Fold::Second& b) {
  using Row = folds::RowOf<typename Fold::Element>;
  fold.Begin(a, b, x[0], about);
  std::uint64_t i = 1;
  // The next ones, up to kLoads, which are all loaded before the first is added.
  const auto add = [&](std::uint64_t elements) {
    typename Fold::Element loaded[kLoads] = {};
#pragma unroll
    for (unsigned u = 0; u < kLoads; ++u) {
      if (u < elements) loaded[u] = x[(i + u) * stride];
    }
#pragma unroll
    for (unsigned u = 0; u < kLoads; ++u) {
      if (u < elements) fold.Add(a, b, loaded[u], static_cast<Row>(i) + static_cast<Row>(u), about);
    }
  };
  for (; i + kLoads <= count; i += kLoads) add(kLoads);
  if (i < count) add(count - i);
}

// A segment to a block; extent.inner is 1. `states` has [outputs, segments], or is null, and the results are written.
template <typename Fold, typename Finish, typename Out>
__global__ void __launch_bounds__(kBlockSize)
    ByBlocks(Fold fold, Finish finish, const typename Fold::Element* x, Extent extent, Plan plan, const double* about,
             typename Fold::State* states, Out* out) {
  __shared__ typename Fold::State shared[kBlockSize];
  const std::uint64_t units = extent.outer * plan.segments;
  for (std::uint64_t unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const std::uint64_t output = unit / plan.segments, first = unit % plan.segments * plan.rows;
    const std::uint64_t left = extent.count - first, rows = left < plan.rows ? left : plan.rows;
    const unsigned active = rows < kBlockSize ? static_cast<unsigned>(rows) : kBlockSize;
    if (threadIdx.x < active) {
      typename Fold::First a;
      typename Fold::Second b;
      const std::uint64_t own = (rows - threadIdx.x + kBlockSize - 1) / kBlockSize;
      FoldOwn(fold, x + output * extent.count + first + threadIdx.x, own, kBlockSize,
              Fold::kAbout ? about[output] : 0.0, a, b);
      shared[threadIdx.x] = fold.Lift(a, b, first + threadIdx.x, kBlockSize);
    }
    for (unsigned half = kBlockSize / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half && threadIdx.x + half < active) {
        fold.Merge(shared[threadIdx.x], shared[threadIdx.x + half]);
      }
    }
    if (threadIdx.x == 0) {
      if (states != nullptr) {
        states[unit] = shared[0];
      } else {
        out[output] = finish(shared[0], output);
      }
    }
    __syncthreads();  // before the next segment's states take the place of these
  }
}

// A segment to a thread, neighbours side by side. `states` has [segments, outputs], or is null.
template <typename Fold, typename Finish, typename Out>
__global__ void __launch_bounds__(kBlockSize)
    ByThreads(Fold fold, Finish finish, const typename Fold::Element* x, Extent extent, Plan plan, const double* about,
              typename Fold::State* states, Out* out) {
  const std::uint64_t outputs = extent.outputs(), units = outputs * plan.segments;
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t unit = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; unit < units; unit += step) {
    const std::uint64_t output = unit % outputs, first = unit / outputs * plan.rows;
    const std::uint64_t left = extent.count - first, rows = left < plan.rows ? left : plan.rows;
    typename Fold::First a;
    typename Fold::Second b;
    FoldOwn(fold, x + (output / extent.inner * extent.count + first) * extent.inner + output % extent.inner, rows,
            extent.inner, Fold::kAbout ? about[output] : 0.0, a, b);
    const typename Fold::State state = fold.Lift(a, b, first, 1);
    if (states != nullptr) {
      states[unit] = state;
    } else {
      out[output] = finish(state, output);
    }
  }
}

// The state of the lane `by` further on; undefined if there is none. All threads of the warp call it.
template <typename State>
__device__ __forceinline__ State Further(const State& state, unsigned by) {
  constexpr unsigned kAll = 0xffffffff, kWords = sizeof(State) / sizeof(std::uint32_t);
  static_assert(sizeof(State) % sizeof(std::uint32_t) == 0);
  std::uint32_t words[kWords];
  memcpy(words, &state, sizeof state);
#pragma unroll
  for (unsigned i = 0; i < kWords; ++i) words[i] = __shfl_down_sync(kAll, words[i], by);
  State further;
  memcpy(&further, words, sizeof further);
  return further;
}

// An output to `together` neighbouring lanes, a power of two and not above `count`; extent.inner is 1.
template <typename Fold, typename Finish, typename Out>
__global__ void __launch_bounds__(kBlockSize)
    ByLanes(Fold fold, Finish finish, const typename Fold::Element* x, std::uint64_t outputs, std::uint64_t count,
            unsigned together, const double* about, Out* out) {
  const unsigned lane = threadIdx.x % together, at_once = kBlockSize / together;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * at_once;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * at_once; first < outputs; first += stride) {
    const std::uint64_t output = first + threadIdx.x / together;
    typename Fold::State state = {};
    if (output < outputs) {
      typename Fold::First a;
      typename Fold::Second b;
      FoldOwn(fold, x + output * count + lane, (count - lane + together - 1) / together, together,
              Fold::kAbout ? about[output] : 0.0, a, b);
      state = fold.Lift(a, b, lane, together);
    }
    for (unsigned half = together / 2; half > 0; half /= 2) fold.Merge(state, Further(state, half));
    if (lane == 0 && output < outputs) out[output] = finish(state, output);
  }
}

// `together` threads to an output (reduction_plan.h): each merges every together-th of the output's states, and then
// they merge theirs. States are `step` apart, the first of output i at i * start.
template <typename Fold, typename Finish, typename Out>
__global__ void __launch_bounds__(kBlockSize)
    MergeStates(Fold fold, Finish finish, const typename Fold::State* states, std::uint64_t outputs,
                std::uint64_t segments, std::uint64_t start, std::uint64_t step, unsigned together, Out* out) {
  __shared__ typename Fold::State shared[kBlockSize];
  const unsigned member = threadIdx.x % together, at_once = kBlockSize / together;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * at_once;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * at_once; first < outputs; first += stride) {
    const std::uint64_t i = first + threadIdx.x / together;
    const bool has_states = i < outputs && member < segments;
    if (has_states) {
      typename Fold::State state = states[i * start + member * step];
#pragma unroll 4
      for (std::uint64_t segment = member + together; segment < segments; segment += together)
        fold.Merge(state, states[i * start + segment * step]);
      shared[threadIdx.x] = state;
    }
    for (unsigned half = together / 2; half > 0; half /= 2) {
      __syncthreads();
      if (has_states && member < half && member + half < segments) {
        fold.Merge(shared[threadIdx.x], shared[threadIdx.x + half]);
      }
    }
    if (has_states && member == 0) out[i] = finish(shared[threadIdx.x], i);
    __syncthreads();  // before the next outputs' states take the place of these
  }
}

// out[i] = finish(state of output i, i). No axis is empty. `scratch`: StateBytes.
template <typename Fold, typename Finish, typename Out>
Outcome LaunchReduction(const Fold& fold, const Finish& finish, const typename Fold::Element* x, const Extent& extent,
                        const double* about, void* scratch, Out* out, CudaContext& context) {
  const Plan plan = PlanOf(extent, context.traits());
  const std::uint64_t outputs = extent.outputs();
  auto* const states = plan.segments == 1 ? nullptr : static_cast<typename Fold::State*>(scratch);
  if (plan.lanes()) {
    return Launch(context, ByLanes<Fold, Finish, Out>, GridFor(outputs, 1, kBlockSize / plan.together), kBlockSize,
                  fold, finish, x, outputs, extent.count, plan.together, about, out);
  }
  const Outcome folded = plan.blocks() ? Launch(context, ByBlocks<Fold, Finish, Out>,
                                                std::min<std::uint64_t>(outputs * plan.segments, kMaxGrid), kBlockSize,
                                                fold, finish, x, extent, plan, about, states, out)
                                       : Launch(context, ByThreads<Fold, Finish, Out>, GridFor(outputs * plan.segments),
                                                kBlockSize, fold, finish, x, extent, plan, about, states, out);
  if (!folded.ok() || states == nullptr) return folded;
  const unsigned together = MergedTogether(plan);
  return Launch(context, MergeStates<Fold, Finish, Out>, GridFor(outputs, 1, kBlockSize / together), kBlockSize, fold,
                finish, states, outputs, plan.segments, plan.blocks() ? plan.segments : 1, plan.blocks() ? 1 : outputs,
                together, out);
}

template <typename Out>
__global__ void __launch_bounds__(kBlockSize) FillWith(Out value, Out* out, std::uint64_t count) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockSize;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kBlockSize + threadIdx.x; i < count; i += stride) out[i] = value;
}

}  // namespace hotplate::reduction
