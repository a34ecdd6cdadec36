// A durable job of a daemon before this one, as it comes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/jobs/job.h"
#include "server/core/jobs/job_event.h"
#include "server/core/types.h"

namespace hotplate::core {

struct RestoredJob {
  std::uint64_t number = 0;
  Principal owner;
  std::string request_key;
  JobRequest request;                 // of one that has ended, what is known without its inputs and parameters
  std::vector<JobId> depends_on;      // of one that has ended
  absl::Status refusal;               // why it cannot run again, if that is known
  std::vector<StateChange> changes;   // the last one: PENDING, or the end
  std::shared_ptr<const JobEnd> end;  // null if it is to run
  bool fetched = false;
  // Tells a sweep that is to go on of the tasks that ran under daemons before this one. May be empty.
  std::function<absl::Status(SweepRun&)> restore_tasks = {};
};

// `bound`: of a job that is to run; else empty.
std::shared_ptr<Job> MakeRestored(const RestoredJob& restored, BoundJob bound, std::uint64_t inline_bytes);

// Its events since it last was PENDING, by this daemon's clocks.
std::vector<JobEvent> EventsOf(const RestoredJob& restored, const Clock& clock);

}  // namespace hotplate::core
