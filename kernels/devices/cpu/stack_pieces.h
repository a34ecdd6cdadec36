// Stacks of small matrices are cut into pieces, and each thread takes some. A single small matrix is not worth waking
// threads for; large ones use a library's own threads, one matrix after the other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/families/matrix_stack.h"

namespace hotplate {

constexpr std::uint64_t kMostPieces = 32;

// Into how many `count` systems of matrices as the stack's are cut; each piece needs scratch of its own. `small`: that
// a library is to keep to one thread for each.
inline std::uint64_t PiecesOf(const MatrixStack& stack, std::uint64_t count, bool small) {
  constexpr std::uint64_t kMostElements = 65'536;   // of a matrix that is copied by one thread (ForRanges)
  constexpr std::uint64_t kLeastElements = 16'384;  // in all, that are worth waking threads for
  const std::uint64_t elements = stack.elements();
  if (!small || elements >= kMostElements || count < 2 || count * elements < kLeastElements) return 1;
  return std::min(count, kMostPieces);
}

// Calls body(begin, end, piece) for ranges that cover [0, count); it returns an Outcome, and polls the cancel flag if a
// piece takes long. Returns the first unsuccessful outcome: everything before that range has been done.
template <typename Body>
Outcome ForPieces(CpuContext& context, std::uint64_t count, std::uint64_t pieces, const Body& body) {
  if (pieces <= 1) return body(std::uint64_t{0}, count, std::uint64_t{0});
  std::array<std::optional<Outcome>, kMostPieces> outcomes;
  const std::uint64_t each = (count + pieces - 1) / pieces;
  const bool whole = context.ParallelChunks(count, each, [&](std::size_t begin, std::size_t end) {
    outcomes[begin / each] = body(begin, end, begin / each);
  });
  for (const std::optional<Outcome>& outcome : outcomes) {
    if (outcome && !outcome->ok()) return *outcome;
  }
  return whole ? Outcome::Ok() : Outcome::Cancelled();
}

}  // namespace hotplate
