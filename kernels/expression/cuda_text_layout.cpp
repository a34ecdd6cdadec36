#include "kernels/expression/cuda_text_layout.h"

#include <algorithm>

namespace hotplate::expression {
namespace {

constexpr std::uint64_t kNarrow = std::uint64_t{1} << 31;

std::uint64_t Magnitude(std::int64_t number) {
  return number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
}

// Whether the axis is in all of the reductions that the other is in.
bool AreReducedTogether(const Program& program, int a, int b) {
  return std::all_of(program.outputs.begin(), program.outputs.end(), [a, b](const Output& output) {
    const auto has = [&output](int axis) {
      return std::find(output.axes.begin(), output.axes.end(), axis) != output.axes.end();
    };
    return output.reduction == Reduction::kNone || has(a) == has(b);
  });
}

bool IsNamed(const Program& program, int axis) {
  return std::any_of(program.nodes.begin(), program.nodes.end(),
                     [axis](const Node& node) { return node.kind == Node::Kind::kIndex && node.leaf == axis; });
}

bool AreOneWalk(const Program& program, std::size_t outer, std::size_t inner) {
  return std::all_of(program.views.begin(), program.views.end(), [&](const View& view) {
    return view.strides[outer] == view.strides[inner] * program.space[inner];
  });
}

}  // namespace

CudaLayout::CudaLayout(const Program& program) : axis_of(program.space.size(), -1), strides(program.views.size()) {
  std::size_t last = 0;  // axis of the space that is the last one of the last axis here
  for (std::size_t axis = 0; axis < program.space.size(); ++axis) {
    if (program.space[axis] == 1) continue;
    const int a = static_cast<int>(last), b = static_cast<int>(axis);
    const bool merged = !sizes.empty() && AreOneWalk(program, last, axis) && AreReducedTogether(program, a, b) &&
                        !IsNamed(program, a) && !IsNamed(program, b);
    if (!merged) {
      sizes.push_back(1);
      for (std::vector<std::int64_t>& view : strides) view.push_back(0);
    }
    sizes.back() *= program.space[axis];
    for (std::size_t view = 0; view < strides.size(); ++view) {
      strides[view].back() = program.views[view].strides[axis];
    }
    axis_of[axis] = rank() - 1;
    last = axis;
  }
  place_strides.resize(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    place_strides[axis] = places;
    places *= static_cast<std::uint64_t>(sizes[axis]);
  }
  wide = places >= kNarrow;
  for (std::size_t view = 0; view < strides.size() && places > 0; ++view) {
    // The sum of what may be added on the way, whatever the signs.
    std::uint64_t reach = Magnitude(program.views[view].offset);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      reach += static_cast<std::uint64_t>(sizes[axis] - 1) * Magnitude(strides[view][axis]);
    }
    wide = wide || reach >= kNarrow;
  }
}

bool CudaLayout::IsLinear(std::size_t view) const {
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (static_cast<std::uint64_t>(strides[view][axis]) != place_strides[axis]) return false;
  }
  return true;
}

std::vector<bool> CudaLayout::Reduced(const std::vector<int>& axes) const {
  std::vector<bool> reduced(sizes.size());
  for (const int axis : axes) {
    if (const int here = axis_of[static_cast<std::size_t>(axis)]; here >= 0)
      reduced[static_cast<std::size_t>(here)] = true;
  }
  return reduced;
}

}  // namespace hotplate::expression
