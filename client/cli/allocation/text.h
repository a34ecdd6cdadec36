// Allocations in words: the same ones in `up`, `status`, `down` and in the errors of all other commands.
#pragma once

#include <string>

#include "client/cli/allocation/notes.h"
#include "client/cli/scheduler/scheduler.h"
#include "hotplate/v1/server.pb.h"

namespace hotplate::cli {

// Local time: "09:41", with the day if it is not today: "Nov 22 09:41".
std::string TimeText(EpochSeconds time);

// "job 32126787  PENDING  (Priority)  estimated start 09:41", "job 32126787  RUNNING  on b-cn1606".
std::string StateText(const SchedulerJob& job, const JobStatus& status);

// As the reason for an end, in place of the scheduler's.
inline constexpr char kEndedByDown[] = "hotplate down";

// "hpc2n-32126787 ended at 10:12 (job 32126787: TIMEOUT, its time limit)".
std::string EndText(const AllocationNote& note);

// "2 × NVIDIA L40S 48.0 GB"; a CPU by its name.
std::string DevicesText(const v1::GetServerInfoResponse& info);

// Whether these options of hotplated choose the CPU: GPUs that it does not use are not missed then.
bool ChoseCpu(const std::vector<std::string>& words);

// "2 GPUs were asked for, and 1 can be used:" and the reasons, a line each, in the daemon's words. Empty if the daemon
// has all GPUs that were asked for.
std::string MissingGpusText(int asked, const v1::GetServerInfoResponse& info);
// "gpu0 cannot run matmul, svd: …", a line each, and how to run such jobs; empty if all kernels run everywhere. A
// warning by `up` before the first job is refused.
std::string UnavailableText(const v1::GetServerInfoResponse& info);
// The same for scripts.
std::string UnavailableJson(const v1::GetServerInfoResponse& info);
// GPUs that take jobs.
int UsableGpus(const v1::GetServerInfoResponse& info);

// "ends 10:12 (in 30 m)", by the daemon's clock. For an allocation with a known end.
std::string EndsText(const v1::GetServerInfoResponse& info);

// "20.7 GPU-minutes, 4.2 idle"; empty without GPUs.
std::string UsageText(const v1::Allocation& allocation);

}  // namespace hotplate::cli
