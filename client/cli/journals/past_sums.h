// Sums of the ended jobs of all daemons, by days, labels, kernels or daemons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/journals/journals.h"
#include "server/journal/recovery.h"

namespace hotplate::cli {

enum class SumBy { kDay, kLabel, kKernel, kDaemon };

// Its name in options and answers: "day", "label", "kernel" or "daemon".
std::string NameOf(SumBy by);
std::optional<SumBy> ParseSumBy(const std::string& name);

struct PastSum {
  // For each part by which it is summed: a day of the local calendar, "2026-11-27"; a label, or none; a kernel; a
  // daemon's name.
  std::vector<std::string> of;
  std::uint64_t jobs = 0;
  journal::JobUse use = {};  // energy: of those of which it is known
  // The time that no job ran on the daemons' GPUs. None in sums by kernel or label, which idle time has not.
  std::optional<nanoseconds> gpu_idle = {};
};

// Days newest first; within a day, and without days, by device time. With the attached jobs that are kept as sums
// alone. Of all jobs that the query meets, whatever its limit. A job's time goes to the days on which it ran, its count
// and its energy to the one on which it ended; only time since then counts. Jobs that run have time, and are not
// counted. Runs that were cut off by a daemon's end, and came again, count as idle.
std::vector<PastSum> ReadPastSums(const std::vector<journal::Place>& places, const journal::JobQuery& query,
                                  const std::vector<SumBy>& by, Unread& unread);
PastSum TotalOf(const std::vector<PastSum>& sums);

}  // namespace hotplate::cli
