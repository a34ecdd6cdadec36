#include "server/core/task_parts.h"

#include <algorithm>
#include <span>

namespace hotplate::core {
namespace {

// Ranges begin on multiples of this: so every view begins on a multiple of 64 bytes, as arrays do.
constexpr std::uint64_t kUnit = 64;

std::span<const hotplate_array> Inputs(const Task& task) {
  return {task.call.inputs, static_cast<std::size_t>(task.call.input_count)};
}
std::span<const hotplate_array> Outputs(const Task& task) {
  return {task.call.outputs, static_cast<std::size_t>(task.call.output_count)};
}

// The dimensions behind "...".
int TrailingRank(const ArgumentRules& rules) { return static_cast<int>(rules.shape.dimensions.size()) - 1; }

std::uint64_t Counted(const hotplate_array& array, int trailing) {
  std::uint64_t count = 1;
  for (int i = 0; i < array.rank - trailing; ++i) count *= static_cast<std::uint64_t>(array.shape[i]);
  return count;
}

hotplate_array View(const hotplate_array& whole, int trailing, std::uint64_t first, std::uint64_t count) {
  hotplate_array view = whole;
  std::uint64_t bytes = SizeOf(static_cast<DType>(whole.dtype));  // of one that "..." counts
  view.rank = trailing + 1;
  view.shape[0] = static_cast<std::int64_t>(count);
  for (int i = 0; i < trailing; ++i) {
    view.shape[i + 1] = whole.shape[whole.rank - trailing + i];
    bytes *= static_cast<std::uint64_t>(view.shape[i + 1]);
  }
  view.data = static_cast<std::byte*>(whole.data) + first * bytes;
  view.bytes = count * bytes;
  view.identity = 0;  // that of the whole
  return view;
}

}  // namespace

TaskParts::TaskParts(const KernelSpec& spec, const Task& whole, std::size_t wanted) {
  const std::span<const hotplate_array> inputs = Inputs(whole), outputs = Outputs(whole);
  const std::uint64_t all = Counted(inputs.front(), TrailingRank(spec.input_rules().front()));
  const std::uint64_t units = (all + kUnit - 1) / kUnit;
  const std::uint64_t count = std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(units, 1));
  const std::size_t arrays = inputs.size() + outputs.size();
  views_.reserve(count * arrays);  // tasks point into it
  for (std::uint64_t i = 0; i < count; ++i) {
    // Without multiplying what may be large.
    const auto border = [&](std::uint64_t part) {
      return std::min(all, (units / count * part + std::min(part, units % count)) * kUnit);
    };
    const std::uint64_t first = border(i), size = border(i + 1) - first;
    Task& task = tasks_.emplace_back(whole);
    task.call.inputs = views_.data() + views_.size();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      views_.push_back(View(inputs[k], TrailingRank(spec.input_rules()[k]), first, size));
    }
    task.call.outputs = views_.data() + views_.size();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      views_.push_back(View(outputs[k], TrailingRank(spec.output_rules()[k]), first, size));
    }
  }
}

std::uint64_t ArrayBytes(const Task& task) {
  std::uint64_t bytes = 0;
  for (const hotplate_array& array : Inputs(task)) bytes += array.bytes;
  for (const hotplate_array& array : Outputs(task)) bytes += array.bytes;
  return bytes;
}

bool HasNamedArrays(const Task& task) {
  const auto named = [](const hotplate_array& array) { return array.identity != 0; };
  const std::span<const hotplate_array> inputs = Inputs(task), outputs = Outputs(task);
  return std::any_of(inputs.begin(), inputs.end(), named) || std::any_of(outputs.begin(), outputs.end(), named);
}

}  // namespace hotplate::core
