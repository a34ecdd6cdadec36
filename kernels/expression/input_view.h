// Parts of an input as NumPy's basic indexing has them: nothing is copied, an element is found by strides. Standard
// library only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/array/shape.h"
#include "kernels/expression/check.h"

namespace hotplate::expression {

// The sizes of a shape, without an allocation. Sizes beyond the rank are 0.
struct Extent {
  int rank = 0;
  std::array<std::int64_t, kMaxRank> sizes = {};

  // The shape has at most kMaxRank axes.
  static Extent Of(std::span<const std::int64_t> shape);
  std::span<const std::int64_t> span() const { return std::span(sizes).first(static_cast<std::size_t>(rank)); }
  std::string text() const { return ToString(span()); }

  friend bool operator==(const Extent&, const Extent&) = default;
};

std::optional<Extent> Broadcast(const Extent& a, const Extent& b);

struct InputView {
  int input = 0;
  std::int64_t offset = 0;
  Extent shape;
  std::array<std::int64_t, kMaxRank> strides = {};  // 0 for an axis of one element

  friend bool operator==(const InputView&, const InputView&) = default;
};

// The elements of the shape can be counted (ElementCount).
InputView WholeInput(int input, std::span<const std::int64_t> shape);

// One item between brackets: an index, a slice, None or "...".
struct Subscript {
  enum class Kind : std::uint8_t { kIndex, kSlice, kNewAxis, kEllipsis };
  Kind kind = Kind::kIndex;
  std::int64_t index = 0;
  std::optional<std::int64_t> begin, end, step;  // step is not 0
};

struct ViewError {
  Error::Kind kind = Error::Kind::kIndex;
  std::string message;
  std::size_t place = 0;  // the subscript or the axis that is wrong
};

// These change `view`, or say what is wrong with the words of NumPy.
std::optional<ViewError> Take(InputView& view, std::span<const Subscript> subscripts);
// Axes may be negative. Without axes their order is reversed.
std::optional<ViewError> Transpose(InputView& view, std::span<const std::int64_t> axes);
// `elements` are those of the input.
std::optional<ViewError> Stride(InputView& view, std::int64_t elements, std::int64_t offset, const Extent& shape,
                                std::span<const std::int64_t> strides);

}  // namespace hotplate::expression
