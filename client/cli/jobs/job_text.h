// Jobs in words: the same in lists, pages and errors.
#pragma once

#include <string>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/jobs/elements.h"
#include "client/lib/client.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {

std::string StateName(int state);  // "COMPLETED"; "state 9" for one that this program does not know

// "PENDING" to "TIMEOUT".
const std::vector<std::string>& JobStateNames();
// "failed,TIMEOUT" and the like, each one of `names`; a usage error of --state.
absl::StatusOr<std::vector<v1::JobState>> ParseStates(const std::vector<std::string>& words,
                                                      const std::vector<std::string>& names);
// The name, in the colour of a state that is good or bad news.
std::string PaintedState(bool colour, int state);

struct JobTableStyle {
  bool wide = false;  // more columns, none of them cut
  bool colour = false;
  int width = 0;  // columns of the terminal; 0: as wide as it gets
};
// JOB KERNEL STATE DEVICE QUEUED KERNEL TIME SUBMITTED LABEL BY, in the order given; LABEL where a job has one.
std::string JobTable(const std::vector<v1::Job>& jobs, const JobTableStyle& style = {});
// "id", "kernel", "state", "label", "queued", "time" (of the kernel).
const std::vector<std::string>& JobOrders();
// By one of them: words in the alphabet's order, numbers with the largest first, else the newest first.
void SortJobs(const std::string& order, std::vector<v1::Job>& jobs);
// Everything known about one job. `from_daemon`: now; else as it was when somebody wrote it down.
std::string JobPage(const v1::Job& job, bool colour = false, bool from_daemon = true);

// The daemon's check of a job, without running it: outputs; on which devices it fits and when, and what prevents it;
// cost; what it lacks.
std::string CheckText(const v1::CheckJobResponse& check);
// True if a run would be refused, or fail, however long it waits: no device, or the memory for arrays, is large enough.
bool CanNeverRun(const v1::CheckJobResponse& check);

// Output of a finished job in JSON: {"name", "signature", and "value", "path", "daemonPath", "arrayId" or "summary"}.
std::string OutputJson(const std::string& name, const client::OutputArray& output, const std::string& path,
                       const std::optional<Summary>& summary = std::nullopt);

// {"uploadNs", "downloadNs", "totalNs", "bytesUp", "bytesDown"}
std::string TimingsJson(const client::ClientTimings& timings);

// {"jobId", "state", "outputs": […], "receipt", "client"}: outputs in the order of `names`, which are all in the
// result; paths, and summaries of arrays without a place, by output's name.
std::string ResultJson(const client::JobResult& result, const std::vector<std::string>& names,
                       const std::map<std::string, std::string>& paths,
                       const std::map<std::string, Summary>& summaries = {});

// An unsuccessful end in JSON: {"jobId", "state", "error", "receipt"}.
std::string EndJson(const std::string& job_id, const v1::JobEnd& end);

}  // namespace hotplate::cli
