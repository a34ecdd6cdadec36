// How a reduction is cut for a device: plain arithmetic, tested without a GPU.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/axis.h"
#include "kernels/cuda/grid.h"
#include "kernels/cuda/traits.h"

namespace hotplate::reduction {

struct Plan {
  bool blocks = false;         // a block to a segment of one output's elements; else a thread to it
  std::uint64_t rows = 0;      // of a segment: along the axis
  std::uint64_t segments = 0;  // of an output; each leaves a state, unless there is one only
};

// No axis is empty. As many segments as fill the device, and none so short that beginning it is most of the work.
inline Plan PlanOf(const Extent& extent, const CudaTraits& traits) {
  constexpr std::uint64_t kThreads = 2048, kBlocks = kThreads / kBlockSize * 2;  // of a multiprocessor
  constexpr std::uint64_t kLeastOfThread = 16;
  const std::uint64_t processors = static_cast<std::uint64_t>(std::max(1, traits.multiprocessors));
  Plan plan;
  plan.blocks = extent.inner == 1 && extent.count >= 2 * kBlockSize;
  const std::uint64_t wanted = processors * (plan.blocks ? kBlocks : kThreads) / extent.outputs();
  const std::uint64_t least = kLeastOfThread * (plan.blocks ? kBlockSize : 4);
  plan.segments = std::clamp<std::uint64_t>(wanted, 1, CeilDiv(extent.count, least));
  plan.rows = CeilDiv(extent.count, plan.segments);
  plan.segments = CeilDiv(extent.count, plan.rows);
  return plan;
}

// Threads that merge the states of one output, a power of two: each has some eight of them, as far as a block has
// threads. One after the other, the thousands of states of a single output would take longer than reading its elements.
inline unsigned MergedTogether(const Plan& plan) {
  constexpr std::uint64_t kOfThread = 8;
  return static_cast<unsigned>(std::clamp<std::uint64_t>(std::bit_floor(plan.segments / kOfThread), 1, kBlockSize));
}

// Scratch for states of that many bytes.
inline std::uint64_t StateBytes(const Extent& extent, const CudaTraits& traits, std::size_t state_bytes) {
  const Plan plan = PlanOf(extent, traits);
  return plan.segments == 1 ? 0 : RoundUp(extent.outputs() * plan.segments * state_bytes, kArenaAlignment);
}

}  // namespace hotplate::reduction
