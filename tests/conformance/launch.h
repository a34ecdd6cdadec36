// A case made ready to run on a device: bound, planned, with its inputs filled and its outputs poisoned.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/devices/device.h"
#include "tests/conformance/case.h"

namespace hotplate::conformance {

struct Launch {
  BoundCall call;
  std::uint64_t scratch_bytes = 0;
  std::map<std::string, TestArray> inputs, outputs;

  Report Run(Lane& lane, TaskControl& control);
  // The same call of the same inputs, for outputs of its own.
  Launch Again() const;
};

// An output of either that is not the same in both, byte by byte; empty if all are.
std::string FirstDifference(const Launch& one, const Launch& other);

// As a kernel takes them. The name, the array's elements and a text stay where they are, and must outlive the answer.
hotplate_param Plain(const ParamSpec& spec, const ParamValue& value);
hotplate_array Plain(const std::string& name, TestArray& array);

absl::StatusOr<Launch> Prepare(const std::string& kernel, const Case& test_case, const Device& device,
                               bool deterministic = false);

}  // namespace hotplate::conformance
