// The counts, failures and gaps of a sweep, as they are told.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/sweeps/sweep_plan.h"
#include "server/core/types.h"

namespace hotplate::core {

// A task that failed, after all its retries.
struct TaskFailure {
  std::uint64_t task = 0;
  bool timed_out = false;
  SweepPlan::Values values;
  absl::Status error;
};

struct SweepOutcome {
  TaskCounts counts;
  std::vector<TaskFailure> failures;  // the first that failed, at most kMostFailures
  std::vector<TaskRange> incomplete;  // tasks that did not complete: failed, cancelled, or yet to run
  std::string spec;                   // SweepPlan::Parts::spec

  std::vector<std::string> swept;  // SweepPlan::Words

  static constexpr std::size_t kMostFailures = 16;
};

}  // namespace hotplate::core
