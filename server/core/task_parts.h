// One task in parts: contiguous ranges of what "..." counts, which a divisible kernel (KernelSpec::divisible) computes
// each by itself. They are views of the whole task's arrays: together they have written all of its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/devices/device.h"
#include "kernels/spec/spec.h"

namespace hotplate::core {

class TaskParts {
 public:
  // At most `wanted` of them, and none without a range: one at least. Each has as much scratch as the whole. That and
  // its arrays outlive the parts.
  TaskParts(const KernelSpec& spec, const Task& whole, std::size_t wanted);
  TaskParts(const TaskParts&) = delete;
  TaskParts& operator=(const TaskParts&) = delete;

  std::size_t count() const { return tasks_.size(); }
  const Task& part(std::size_t i) const { return tasks_[i]; }

 private:
  std::vector<hotplate_array> views_;  // of each part the inputs, then the outputs
  std::vector<Task> tasks_;
};

// Bytes of all arrays of a task.
std::uint64_t ArrayBytes(const Task& task);
// Some array of it has an identity: a device may have it already, or is to keep it.
bool HasNamedArrays(const Task& task);

}  // namespace hotplate::core
