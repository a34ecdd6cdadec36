// The back-ends that the suite runs on, opened once. A back-end that is not on this machine has a reason instead of a
// device; the tests' names do not depend on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/devices/device.h"

namespace hotplate::conformance {

struct Backend {
  Device* device = nullptr;
  std::unique_ptr<Lane> lane;  // opened on the main thread
  std::string why_not;
};

// "cpu" or "cuda". Called on the main thread only.
Backend& BackendNamed(const std::string& name);

inline const std::vector<std::string>& BackendNames() {
  static const std::vector<std::string>& names = *new std::vector<std::string>{"cpu", "cuda"};
  return names;
}

// The back-ends that have code of this kernel.
std::vector<std::string> BackendsOf(const std::string& kernel);

// With HOTPLATE_REQUIRE_CUDA=1 a missing GPU is a failure, not a reason to skip.
bool MayBeMissing(const std::string& backend);

}  // namespace hotplate::conformance
