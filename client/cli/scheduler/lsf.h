// LSF through its commands: bsub, bjobs, bkill. Written from its manual pages and never run on a real LSF.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/cli/scheduler/scheduler.h"

namespace hotplate::cli {

std::unique_ptr<Scheduler> MakeLsf(ProgramRunner run);

namespace lsf {

// "Job <123> is submitted to queue <batch>."
std::optional<SchedulerJob> ParseSubmission(const std::string& out);

// The answer of `bjobs -noheader -o "jobid stat exec_host pend_reason delimiter='|'"`: the line of `job_id`.
inline constexpr char kBjobsColumns[] = "jobid stat exec_host pend_reason delimiter='|'";
std::optional<JobStatus> ParseBjobs(const std::string& out, const std::string& job_id);

}  // namespace lsf
}  // namespace hotplate::cli
