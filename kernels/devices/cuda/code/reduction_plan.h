// How a reduction is cut for a device: plain arithmetic, tested without a GPU.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/devices/cuda/code/grid.h"
#include "kernels/devices/cuda/code/traits.h"
#include "kernels/families/axis.h"

namespace hotplate::reduction {

struct Plan {
  unsigned together = 1;       // threads to a segment of an output: a block, some neighbours of a warp, or one
  std::uint64_t rows = 0;      // of a segment: along the axis
  std::uint64_t segments = 0;  // of an output; each leaves a state, unless there is one only

  bool blocks() const { return together == kBlockSize; }
  bool lanes() const { return together > 1 && !blocks(); }  // then there is one segment
};

// Threads that a multiprocessor has at once, where they take few registers.
constexpr std::uint64_t ResidentThreads(const CudaTraits& traits) {
  if (traits.compute_major == 7 && traits.compute_minor == 5) return 1024;
  const bool fewer = (traits.compute_major == 8 && traits.compute_minor != 0) || traits.compute_major > 10;
  return fewer ? 1536 : 2048;
}

// No axis is empty. As many segments as fill the device, and none so short that beginning it is most of the work.
inline Plan PlanOf(const Extent& extent, const CudaTraits& traits) {
  constexpr std::uint64_t kLeastOfThread = 16, kLeastOfLane = 4, kWarp = 32;
  const std::uint64_t processors = static_cast<std::uint64_t>(std::max(1, traits.multiprocessors));
  const bool is_row = extent.inner == 1;
  Plan plan;
  // In a row, neighbouring threads read neighbouring elements.
  if (is_row && extent.count >= 2 * kBlockSize) {
    plan.together = kBlockSize;
  } else if (is_row) {
    plan.together =
        static_cast<unsigned>(std::clamp<std::uint64_t>(std::bit_floor(extent.count / kLeastOfLane), 1, kWarp));
  }
  // Blocks of one output are alike and start at once; those of several outputs do not fill whole rounds.
  const std::uint64_t rounds = plan.blocks() && extent.outputs() > 1 ? 2 : 1;
  const std::uint64_t wanted = rounds * processors * ResidentThreads(traits) / plan.together / extent.outputs();
  const std::uint64_t least = kLeastOfThread * std::max(plan.together, 4u);
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
