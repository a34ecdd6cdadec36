// One job, on a lane or for a worker: gathers its data, runs the kernel, and says how that went. Knows no locks and no
// other jobs.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/core/arrays/arrays.h"
#include "server/core/jobs/job.h"
#include "server/core/run/run_result.h"

namespace hotplate::core {

class Scheduler;

class TaskRunner {
 public:
  // All outlive the runner. `inline_bytes`: of PlaceOutputs.
  TaskRunner(ArrayStore& arrays, const Clock& clock, const DeviceInfo& device,
             std::uint64_t inline_bytes = std::numeric_limits<std::uint64_t>::max())
      : arrays_(arrays), clock_(clock), device_(device), inline_bytes_(inline_bytes) {}

  // On the lane's thread, which also runs the task by `run`. Does not change the job but for its control.
  RunResult Run(Job& job, const std::string& spec_hash, const DeviceNeed& need,
                absl::FunctionRef<Report(const Task&)> run);
  // The same for work that is no kernel's; it may ask for the scheduler's turns.
  RunResult RunOutside(Job& job, Device& device, Scheduler& scheduler);

 private:
  // CANCELLED where the job is to be cancelled while a file is read; RESOURCE_EXHAUSTED also where its token may not
  // have the arrays that it is to make.
  absl::Status Gather(Job& job, RunResult& result);
  void Describe(const Job& job);
  // Copies an output that is smaller than planned to memory of its own size.
  absl::Status CutToSize(const Job& job, std::size_t output, JobOutputValue& value);

  ArrayStore& arrays_;
  const Clock& clock_;
  const DeviceInfo& device_;
  const std::uint64_t inline_bytes_;

  // Kept from job to job for their memory's sake.
  std::vector<std::shared_ptr<const HostBuffer>> inputs_;
  std::vector<DeviceCopies::Hold> holds_;  // on those that lie on the device alone
  std::vector<std::shared_ptr<HostBuffer>> outputs_;
  std::vector<hotplate_param> params_;
  std::vector<hotplate_array> input_views_, output_views_;
  std::vector<std::int64_t> actual_sizes_;  // of outputs that have no more than what was planned
};

}  // namespace hotplate::core
