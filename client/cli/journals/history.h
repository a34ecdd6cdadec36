// Ended jobs of all daemons, one by one or summed up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/cli/journals/journals.h"
#include "server/journal/recovery.h"

namespace hotplate::cli {

struct PastJob {
  std::uint64_t number = 0;
  std::string kernel, label, device, daemon, node;
  journal::JobState state = journal::JobState::kCompleted;
  journal::WallTime submitted = {}, ended = {};
  std::optional<journal::WallTime> started = {};
  journal::JobUse use = {};
};

// Calls `take` with the ended jobs of all journals, last end first, until it is false or there are no more.
void EachPastJob(const std::vector<journal::Place>& places, const journal::JobQuery& query, Unread& unread,
                 absl::FunctionRef<bool(PastJob&& job)> take);

enum class SumBy { kDay, kLabel, kKernel };

struct PastSum {
  std::string of;  // a day of the local calendar, "2026-11-27"; a label, or none; a kernel
  std::uint64_t jobs = 0;
  nanoseconds device_time{};
  std::optional<double> energy_joules = {};  // of those of which it is known
};

PastSum TotalOf(const std::vector<PastSum>& sums);
// Days newest first, others by device time. With the attached jobs that are kept as sums alone. Of all jobs that the
// query meets, whatever its limit.
std::vector<PastSum> ReadPastSums(const std::vector<journal::Place>& places, const journal::JobQuery& query, SumBy by,
                                  Unread& unread);

std::string TextOf(const std::vector<PastJob>& jobs, bool colour, int width);
std::string JsonOf(const PastJob& job);
// A row with its end of line, and the line above all rows.
std::string CsvOf(const PastJob& job);
std::string CsvHead();

// "day", "label" or "kernel": its name in answers.
std::string NameOf(SumBy by);
// `total`: of all sums, of which these may be the first.
std::string TextOf(const std::vector<PastSum>& sums, const PastSum& total, SumBy by, int width);
std::string JsonOf(const std::vector<PastSum>& sums, SumBy by);
std::string CsvOf(const std::vector<PastSum>& sums, SumBy by);

}  // namespace hotplate::cli
