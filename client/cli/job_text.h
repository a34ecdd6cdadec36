// Jobs in words: the same in lists, pages and errors.
#pragma once

#include <string>
#include <vector>

#include "client/cli/command.h"
#include "client/lib/client.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {

std::string StateName(int state);  // "COMPLETED"; "state 9" for one that this program does not know

// JOB KERNEL STATE DEVICE QUEUED KERNEL TIME BY, newest first.
std::string JobTable(const std::vector<v1::Job>& jobs);
// One job, all that is known.
std::string JobPage(const v1::Job& job);

// What the daemon says of a job that was not run: outputs, when it fits on which device and what keeps it from doing
// so, cost, and what it lacks.
std::string CheckText(const v1::CheckJobResponse& check);
// Whether a run of it would be refused, or fail, however long it waits: no device is large enough, or not the memory
// for arrays.
bool CanNeverRun(const v1::CheckJobResponse& check);

// Output of a finished job in JSON: {"name", "signature", and "value", "path" or "arrayId"}.
std::string OutputJson(const std::string& name, const client::OutputArray& output, const std::string& path);

// {"jobId", "state", "outputs": […], "receipt", "client"}: outputs in the order of `names`, which are all in the
// result; paths by output's name.
std::string ResultJson(const client::JobResult& result, const std::vector<std::string>& names,
                       const std::map<std::string, std::string>& paths);

// An end that is no result, in JSON: {"jobId", "state", "error", "receipt"}.
std::string EndJson(const std::string& job_id, const v1::JobEnd& end);

}  // namespace hotplate::cli
