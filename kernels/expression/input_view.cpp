#include "kernels/expression/input_view.h"

#include <limits>

namespace hotplate::expression {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

ViewError OutOfBounds(std::int64_t index, int axis, std::int64_t size, std::size_t place) {
  return {Error::Kind::kIndex,
          "index " + std::to_string(index) + " is out of bounds for axis " + std::to_string(axis) + " with size " +
              std::to_string(size),
          place};
}

// Where a slice begins, and how many elements it has, by Python's rules.
struct Range {
  std::int64_t begin = 0, count = 0;
};

Range RangeOf(const Subscript& slice, std::int64_t size, std::int64_t step) {
  const bool forward = step > 0;
  const std::int64_t least = forward ? 0 : -1, most = forward ? size : size - 1;
  const auto clamped = [&](std::optional<std::int64_t> at, std::int64_t otherwise) {
    return at ? std::clamp(*at < 0 ? *at + size : *at, least, most) : otherwise;
  };
  const std::int64_t begin = clamped(slice.begin, forward ? least : most);
  const std::int64_t end = clamped(slice.end, forward ? most : least);
  if (forward) return {begin, begin < end ? (end - begin - 1) / step + 1 : 0};
  return {begin, end < begin ? (begin - end - 1) / -step + 1 : 0};
}

// Adds the next axis of a view.
void AddAxis(InputView& view, std::int64_t size, std::int64_t stride) {
  const auto axis = static_cast<std::size_t>(view.shape.rank++);
  view.shape.sizes[axis] = size;
  view.strides[axis] = size == 1 ? 0 : stride;
}

}  // namespace

Extent Extent::Of(std::span<const std::int64_t> shape) {
  Extent extent{.rank = static_cast<int>(shape.size())};
  std::ranges::copy(shape, extent.sizes.begin());
  return extent;
}

std::optional<Extent> Broadcast(const Extent& a, const Extent& b) {
  if (a.rank < b.rank) return Broadcast(b, a);
  Extent both = a;
  const auto missing = static_cast<std::size_t>(a.rank) - static_cast<std::size_t>(b.rank);
  for (std::size_t axis = 0; axis < b.span().size(); ++axis) {
    std::int64_t& size = both.sizes[missing + axis];
    const std::int64_t other = b.sizes[axis];
    if (size == 1) {
      size = other;
    } else if (other != size && other != 1) {
      return std::nullopt;
    }
  }
  return both;
}

InputView WholeInput(int input, std::span<const std::int64_t> shape) {
  InputView view{.input = input, .offset = 0, .shape = Extent::Of(shape)};
  if (std::ranges::find(shape, 0) != shape.end()) return view;  // no element is ever read
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    view.strides[axis] = shape[axis] == 1 ? 0 : stride;
    stride *= shape[axis];
  }
  return view;
}

std::optional<ViewError> Take(InputView& view, std::span<const Subscript> subscripts) {
  using Kind = Subscript::Kind;
  const InputView from = view;
  const int rank = from.shape.rank;
  int named = 0, new_axes = 0, ellipses = 0;
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    const Kind kind = subscripts[i].kind;
    named += kind == Kind::kIndex || kind == Kind::kSlice ? 1 : 0;
    new_axes += kind == Kind::kNewAxis ? 1 : 0;
    if (kind == Kind::kEllipsis && ++ellipses > 1) {
      return ViewError{Error::Kind::kIndex, "an index can only have a single ellipsis ('...')", i};
    }
  }
  if (named > rank) {
    return ViewError{Error::Kind::kIndex,
                     "too many indices for array: array is " + std::to_string(rank) + "-dimensional, but " +
                         std::to_string(named) + " were indexed",
                     0};
  }
  if (rank + new_axes > 2 * static_cast<int>(kMaxRank)) {
    return ViewError{Error::Kind::kLimit, "an array has at most " + std::to_string(kMaxRank) + " dimensions", 0};
  }

  // More axes than an array has may be there until indices take some away.
  std::array<std::int64_t, 3 *kMaxRank> sizes = {}, strides = {};
  std::size_t count = 0;
  int axis = 0;
  const auto add = [&](std::int64_t size, std::int64_t stride) {
    sizes[count] = size;
    strides[count++] = stride;
  };
  const auto keep = [&](int axes) {
    for (; axes > 0; --axes, ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      add(from.shape.sizes[at], from.strides[at]);
    }
  };
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    const Subscript& subscript = subscripts[i];
    if (subscript.kind == Kind::kNewAxis) {
      add(1, 0);
      continue;
    }
    if (subscript.kind == Kind::kEllipsis) {
      keep(rank - named);
      continue;
    }
    const auto at = static_cast<std::size_t>(axis);
    const std::int64_t size = from.shape.sizes[at], stride = from.strides[at];
    if (subscript.kind == Kind::kIndex) {
      const std::int64_t index = subscript.index < 0 ? subscript.index + size : subscript.index;
      if (index < 0 || index >= size) return OutOfBounds(subscript.index, axis, size, i);
      view.offset += index * stride;
    } else {
      const std::int64_t step = std::max(subscript.step.value_or(1), -kLargest);
      const Range range = RangeOf(subscript, size, step);
      if (range.count > 0) view.offset += range.begin * stride;
      // The step of a single element may be any number.
      add(range.count, range.count > 1 ? stride * step : 0);
    }
    ++axis;
  }
  keep(rank - axis);
  if (count > kMaxRank) {
    return ViewError{Error::Kind::kLimit, "an array has at most " + std::to_string(kMaxRank) + " dimensions", 0};
  }
  view.shape = {};
  view.strides = {};
  for (std::size_t i = 0; i < count; ++i) AddAxis(view, sizes[i], strides[i]);
  return std::nullopt;
}

std::optional<ViewError> Transpose(InputView& view, std::span<const std::int64_t> axes) {
  const InputView from = view;
  const int rank = from.shape.rank;
  if (!axes.empty() && static_cast<int>(axes.size()) != rank) {
    return ViewError{Error::Kind::kValue, "axes don't match array", 0};
  }
  view.shape = {};
  view.strides = {};
  unsigned seen = 0;
  for (int i = 0; i < rank; ++i) {
    const auto place = static_cast<std::size_t>(i);
    std::int64_t axis = axes.empty() ? rank - 1 - i : axes[place];
    if (axis < -rank || axis >= rank) {
      return ViewError{
          Error::Kind::kValue,
          "axis " + std::to_string(axis) + " is out of bounds for array of dimension " + std::to_string(rank), place};
    }
    if (axis < 0) axis += rank;
    if ((seen >> axis & 1) != 0) return ViewError{Error::Kind::kValue, "repeated axis in transpose", place};
    seen |= 1u << axis;
    AddAxis(view, from.shape.sizes[static_cast<std::size_t>(axis)], from.strides[static_cast<std::size_t>(axis)]);
  }
  return std::nullopt;
}

std::optional<ViewError> Stride(InputView& view, std::int64_t elements, std::int64_t offset, const Extent& shape,
                                std::span<const std::int64_t> strides) {
  const ViewError outside{Error::Kind::kIndex,
                          "the view reaches outside the " + std::to_string(elements) + " elements of the input", 0};
  view.offset = offset;
  view.shape = {};
  view.strides = {};
  const bool empty = std::ranges::find(shape.span(), 0) != shape.span().end();
  std::int64_t first = offset, last = offset;  // of the elements that are reached
  for (int i = 0; i < shape.rank; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const std::int64_t size = shape.sizes[axis];
    AddAxis(view, size, empty ? 0 : strides[axis]);
    std::int64_t reach = 0;
    std::int64_t& end = strides[axis] < 0 ? first : last;
    if (empty) continue;
    if (__builtin_mul_overflow(size - 1, strides[axis], &reach) || __builtin_add_overflow(end, reach, &end)) {
      return outside;
    }
  }
  if (empty) {
    view.offset = 0;
  } else if (first < 0 || last >= elements) {
    return outside;
  }
  return std::nullopt;
}

}  // namespace hotplate::expression
