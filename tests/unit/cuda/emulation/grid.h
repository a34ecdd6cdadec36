// Runs a CUDA kernel's source on the host: every thread of a block is a fiber of one OS thread, which gives way at
// barriers and warp-wide operations only. The order in which fibers run is a parameter: where a barrier is missing, one
// order or another gives wrong results. Unlike on a device, threads between two barriers never interleave, and memory
// is never stale: what depends on that, only a device shows.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace hotplate::emulation {

enum class Order { kForward, kBackward, kShuffled };

// Of all grids from now on.
void UseOrder(Order order);

// Whether from now on of a grid with more than a few blocks only the first ones, the middle one and the last ones run:
// for arrays that it would take hours to walk through.
void RunOnlySome(bool some);

// Runs the blocks one after the other, in the order's order too. Ends the process when threads of a block or warp wait
// at different places, which on a device would be undefined.
void RunGrid(unsigned blocks, unsigned threads, const std::function<void()>& thread);

inline constexpr unsigned kLanes = 32;
using Exchanged = std::array<std::uint64_t, kLanes>;

// Waits for the block's other threads; whether any of them brought true. `operation`: as below.
bool WaitForBlock(const char* operation, bool brought);
// Waits for the warp's other threads; what each of them brought, 0 for one that has ended. `operation`: what this is,
// the same pointer in all of them.
const Exchanged& WaitForWarp(const char* operation, unsigned mask, std::uint64_t brought);

}  // namespace hotplate::emulation

struct EmulatedIndex {
  unsigned x = 0, y = 0, z = 0;
};
// Of the thread that runs.
extern EmulatedIndex threadIdx, blockIdx, blockDim, gridDim;
