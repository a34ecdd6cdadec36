// The systems to solve, for both back-ends: a matrix of a for each of b, paired by NumPy's broadcasting of the stacks.
// Standard library only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/families/broadcast.h"
#include "kernels/families/matrix_stack.h"

namespace hotplate::solve {

struct Systems {
  MatrixStack stack;        // all of a's matrices
  std::uint64_t k = 0;      // right-hand sides of a system
  std::uint64_t count = 0;  // systems
  Broadcast matrices;       // their places count matrices of a, and of b

  bool empty() const { return count == 0 || stack.rows == 0; }
  std::uint64_t side_elements() const { return stack.rows * k; }
  // How often a matrix is factored: once for neighbours that share it.
  std::uint64_t factorings() const { return matrices.axes[0].a_step == 0 ? count / matrices.axes[0].size : count; }
};

// For shapes that the spec has accepted. A b of one dimension is one right-hand side for all of a.
inline Systems SystemsOf(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                         std::span<const std::int64_t> x) {
  const bool vector = b.size() == 1;
  Systems systems;
  systems.stack = StackOf(a.data(), a.size());
  systems.k = vector ? 1 : static_cast<std::uint64_t>(b.back());
  const std::span<const std::int64_t> batch = vector ? x.first(x.size() - 1) : BatchOf(x);
  if (systems.stack.rows == 0 || std::find(batch.begin(), batch.end(), 0) != batch.end()) return systems;
  if (systems.k == 0) {  // however many there are without a side, each matrix is factored once
    systems.count = systems.stack.count;
    systems.matrices = BroadcastOf(BatchOf(a), BatchOf(a), BatchOf(a));
    return systems;
  }
  systems.count = 1;
  for (const std::int64_t size : batch) systems.count *= static_cast<std::uint64_t>(size);
  systems.matrices = BroadcastOf(BatchOf(a), vector ? std::span<const std::int64_t>() : BatchOf(b), batch);
  return systems;
}

inline Systems SystemsOf(const Call& call) {
  const auto shape = [](const hotplate_array& array) {
    return std::span(array.shape, static_cast<std::size_t>(array.rank));
  };
  return SystemsOf(shape(call.InputArray("a")), shape(call.InputArray("b")), shape(call.OutputArray("x")));
}

}  // namespace hotplate::solve
