// Elements between arrays and blocks: loads and stores along a line or over several, reads at computed places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/catalogue/expression/cpu/geometry.h"
#include "kernels/catalogue/expression/cpu/machine.h"

namespace hotplate::expression {

// The first place of a block.
struct Place {
  std::array<std::int64_t, kMaxRank> index = {};

  Place(const Geometry& geometry, std::size_t position);
  std::int64_t In(const Geometry& geometry, const Access& access) const {
    std::int64_t at = access.offset;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(geometry.rank); ++axis) {
      at += index[axis] * access.strides[axis];
    }
    return at;
  }
};

// n elements from `place` on, from an input or, for an array of indices, the indices themselves.
void Load(const Geometry& geometry, const Array& array, const std::byte* from, const Place& place, std::size_t n,
          void* to);
// `stream`: past the caches, where the memory is aligned for it.
void StoreBlock(const Geometry& geometry, const Array& array, bool stream, const void* from, const Place& place,
                std::size_t n, std::byte* to);

// The element number of each index along an axis, after those of the axes before it (null: this is the first).
// Returns n, or the first i whose index is out of bounds.
std::size_t Locate(const std::int64_t* before, const std::int64_t* index, std::int64_t size, std::size_t n,
                   std::int64_t* out);
void Fetch(const std::byte* from, const std::int64_t* at, std::size_t element_bytes, std::size_t n, void* to);

// The first negative one of n signed integers.
std::optional<std::int64_t> FirstNegative(const void* integers, DType dtype, std::size_t n);

bool AnyZero(const void* integers, DType dtype, std::size_t n);

// n times the element.
void Fill(const void* element, std::size_t element_bytes, std::size_t n, void* to);

}  // namespace hotplate::expression
