// The arithmetic of an iteration, for both back-ends. Ranks are float64. The summed numbers are whole multiples of
// 2^-62 or 2^-60, so that a sum is the same in any order and many threads may add to it. Compiled without contraction.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "kernels/call/call.h"
#include "kernels/call/host_device.h"

namespace hotplate::pagerank {

using Sum = unsigned long long;  // as CUDA's atomicAdd has it

// NOLINTBEGIN(bugprone-incorrect-roundings): of no number that is so near to a half
// A share of all ranks, which are 1.
HOTPLATE_HOST_DEVICE inline Sum FixedShare(double share) { return static_cast<Sum>(share * 0x1p62 + 0.5); }
HOTPLATE_HOST_DEVICE inline double ShareOf(Sum fixed) { return static_cast<double>(fixed) * 0x1p-62; }
// How far ranks have changed: 2 in all at most.
HOTPLATE_HOST_DEVICE inline Sum FixedChange(double change) { return static_cast<Sum>(change * 0x1p60 + 0.5); }
HOTPLATE_HOST_DEVICE inline double ChangeOf(Sum fixed) { return static_cast<double>(fixed) * 0x1p-60; }
// NOLINTEND(bugprone-incorrect-roundings)

// The share of a node of that rank for each of its `edges`, or for all nodes if it has none.
HOTPLATE_HOST_DEVICE inline Sum HandedOn(double rank, double edges) {
  return FixedShare(edges > 0 ? rank / edges : rank);
}

// The update of a node's rank.
struct Step {
  double damping, even;  // even: 1 / nodes
  double base;           // share of teleporting and of nodes without edges

  // `dangling`: the shares of nodes without edges.
  HOTPLATE_HOST_DEVICE Step(double damping_factor, std::uint64_t nodes, Sum dangling)
      : damping(damping_factor), even(1 / static_cast<double>(nodes)) {
    base = damping * (ShareOf(dangling) * even) + (1 - damping) * even;
  }
  HOTPLATE_HOST_DEVICE double Rank(Sum handed_on) const { return damping * ShareOf(handed_on) + base; }
};

// When the iteration ends.
struct Limits {
  double change = 0;  // below which it has converged
  std::uint64_t iterations = 0;
};

inline Limits LimitsOf(const Call& call) {
  const double nodes = static_cast<double>(call.InputArray("indptr").shape[0] - 1);
  return {call.Float("tolerance") * nodes, static_cast<std::uint64_t>(call.Int("max_iterations"))};
}

inline Outcome NotConverged(const Limits& limits, double change) {
  char text[240];
  std::snprintf(text, sizeof text,
                "no convergence: iteration %llu, the last, changed the ranks by %.4g in all; less than %.4g (tolerance "
                "* nodes) was asked for: allow more --max-iterations, or a larger --tolerance",
                static_cast<unsigned long long>(limits.iterations), change, limits.change);
  return Outcome::Failed(text);
}

}  // namespace hotplate::pagerank
