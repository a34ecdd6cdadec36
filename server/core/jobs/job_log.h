// Where the events of all jobs are written down, in the order in which they happen and before anybody is told of them.
// Without one, jobs are in memory alone; a journal that survives the daemon is one.
#pragma once

#include "server/core/jobs/job_event.h"

namespace hotplate::core {

class JobLog {
 public:
  virtual ~JobLog() = default;
  // The event has been applied to the job. Called under the jobs' lock, so that events come in one order: it must not
  // wait, or call anything that asks for a job.
  virtual void Append(const Job& job, const JobEvent& event) = 0;
};

}  // namespace hotplate::core
