// A row's call with its memory, ready to be run again and again through a lane.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/devices/device.h"
#include "tests/bench/kernels/rows.h"

namespace hotplate::bench {

// One run: by the device's own clock, and the whole of Lane::Run by the host's.
struct Times {
  std::uint64_t kernel_ns = 0, host_to_device_ns = 0, device_to_host_ns = 0, whole_ns = 0;
};

class Ready {
 public:
  // Refused like a job would be: a precision that the device has not, no memory.
  static absl::StatusOr<std::unique_ptr<Ready>> Make(const Row& row, const Device& device);
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;

  absl::StatusOr<Times> Run(Lane& lane);

  const BoundCall& call() const { return call_; }
  // As NAME.npy in the folder.
  absl::Status SaveInputs(const std::string& folder) const { return Save(inputs_, folder); }
  absl::Status SaveOutputs(const std::string& folder) const { return Save(outputs_, folder); }

 private:
  Ready(const KernelSpec& spec, BoundCall call, std::map<std::string, conformance::TestArray> arrays);
  static absl::Status Save(const std::vector<hotplate_array>& arrays, const std::string& folder);

  const KernelSpec& spec_;
  const BoundCall call_;
  const std::string hash_;
  std::map<std::string, conformance::TestArray> arrays_;
  std::vector<hotplate_param> params_;
  std::vector<hotplate_array> inputs_, outputs_;
  std::vector<std::int64_t> sizes_;  // of the outputs; those that the data decide are as of the last run
  Task task_;
};

}  // namespace hotplate::bench
