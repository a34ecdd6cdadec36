#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "kernels/catalogue/expression/cpu/emit.h"
#include "kernels/catalogue/expression/cpu/machine.h"
#include "kernels/devices/cpu/elementwise.h"

namespace hotplate::expression {
namespace {

std::size_t CountOf(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

// The nodes that some outputs need.
std::vector<bool> NeededFor(const Program& program, const std::vector<int>& outputs) {
  std::vector<bool> needed(program.nodes.size());
  for (const int output : outputs) {
    needed[static_cast<std::size_t>(program.outputs[static_cast<std::size_t>(output)].node)] = true;
  }
  for (std::size_t i = program.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int argument : program.nodes[i].arguments) needed[static_cast<std::size_t>(argument)] = true;
  }
  return needed;
}

Access AccessOf(std::int64_t offset, std::span<const std::int64_t> strides) {
  Access access{.offset = offset};
  std::copy(strides.begin(), strides.end(), access.strides.begin());
  return access;
}

// The arrays that a pass reads and writes by place; `array_of` maps nodes to them.
std::vector<Array> ArraysOf(const Program& program, const std::vector<int>& outputs, const std::vector<bool>& needed,
                            std::vector<int>& array_of) {
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    if (!needed[i] || (node.kind != Node::Kind::kView && node.kind != Node::Kind::kIndex)) continue;
    array_of[i] = static_cast<int>(arrays.size());
    const std::uint8_t element_bytes = static_cast<std::uint8_t>(SizeOf(node.dtype));
    if (node.kind == Node::Kind::kView) {
      const View& view = program.views[static_cast<std::size_t>(node.leaf)];
      arrays.push_back({.kind = Array::Kind::kInput,
                        .index = view.input,
                        .element_bytes = element_bytes,
                        .access = AccessOf(view.offset, view.strides)});
    } else {
      Array array{.kind = Array::Kind::kIndex, .element_bytes = element_bytes};
      array.access.strides[static_cast<std::size_t>(node.leaf)] = 1;
      arrays.push_back(array);
    }
  }
  for (const int output : outputs) {
    const Output& one = program.outputs[static_cast<std::size_t>(output)];
    if (one.reduction != Reduction::kNone) continue;
    Array array{.kind = Array::Kind::kOutput,
                .index = output,
                .element_bytes = static_cast<std::uint8_t>(SizeOf(one.signature.dtype))};
    std::int64_t stride = 1;
    for (std::size_t axis = program.space.size(); axis-- > 0; stride *= program.space[axis]) {
      array.access.strides[axis] = stride;
    }
    arrays.push_back(array);
  }
  return arrays;
}

// Whether each output is so large that it is written past the caches.
std::vector<bool> Streamed(const Program& program, const std::vector<Array>& arrays) {
  const std::size_t places = CountOf(program.space);
  std::size_t read = 0;
  for (const Array& array : arrays) {
    if (array.kind == Array::Kind::kInput) read += places * array.element_bytes;
  }
  std::vector<bool> streamed(program.outputs.size());
  for (const Array& array : arrays) {
    if (array.kind != Array::Kind::kOutput) continue;
    const std::size_t bytes = places * array.element_bytes;
    streamed[static_cast<std::size_t>(array.index)] =
        bytes >= (read < bytes / 4 ? kStreamMadeFromBytes : kStreamFromBytes);
  }
  return streamed;
}

std::variant<Pass, std::string> PassWith(const Program& program, const std::vector<int>& outputs,
                                         const std::vector<int>* axes, std::size_t block) {
  const std::vector<bool> needed = NeededFor(program, outputs);
  std::vector<int> array_of(program.nodes.size(), -1);
  std::vector<Array> arrays = ArraysOf(program, outputs, needed, array_of);
  std::vector<Access*> accesses;
  for (Array& array : arrays) accesses.push_back(&array.access);
  const std::vector<bool> streamed = Streamed(program, arrays);
  Pass pass{.geometry = Geometry(program.space, axes, block, accesses), .arrays = std::move(arrays)};
  for (Array& array : pass.arrays) {
    const bool flat = pass.geometry.IsFlat(array.access);  // all elements lie beside each other
    const std::int64_t along = array.access.strides[static_cast<std::size_t>(pass.geometry.rank) - 1];
    array.adjacent = flat || (!pass.geometry.spanning && along == 1);
  }
  Emitter emitter(program, pass, needed, array_of);
  for (const int output : outputs) emitter.Keep(output, streamed[static_cast<std::size_t>(output)]);
  if (!emitter.error().empty()) return emitter.error();
  emitter.AssignSlots();
  return pass;
}

}  // namespace

std::variant<Machine, std::string> Compile(Program program) {
  // Outputs by the axes that they are reduced over.
  std::map<std::vector<int>, std::vector<int>> groups;
  std::vector<int> elementwise;
  for (int i = 0; i < static_cast<int>(program.outputs.size()); ++i) {
    const Output& output = program.outputs[static_cast<std::size_t>(i)];
    if (output.reduction == Reduction::kNone) {
      elementwise.push_back(i);
    } else {
      groups[output.axes].push_back(i);
    }
  }
  std::vector<std::pair<const std::vector<int>*, std::vector<int>>> passes;
  for (const auto& [axes, outputs] : groups) passes.emplace_back(&axes, outputs);
  if (!elementwise.empty()) {
    if (passes.empty()) passes.emplace_back(nullptr, std::vector<int>{});
    passes.front().second.insert(passes.front().second.end(), elementwise.begin(), elementwise.end());
  }
  Machine machine;
  for (const auto& [axes, outputs] : passes) {
    for (std::size_t block = kBlock;; block /= 2) {
      std::variant<Pass, std::string> made = PassWith(program, outputs, axes, block);
      if (auto* error = std::get_if<std::string>(&made)) return std::move(*error);
      Pass& pass = std::get<Pass>(made);
      const auto registers = std::count(pass.is_register.begin(), pass.is_register.end(), true);
      if (static_cast<std::size_t>(registers) * pass.register_bytes > kRegisterBytes && block > kLeastBlock) continue;
      machine.passes.push_back(std::move(pass));
      break;
    }
  }
  machine.program = std::move(program);
  return machine;
}

}  // namespace hotplate::expression
