// What has run: ended jobs of all daemons, one by one or by the sum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
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

struct PastJobs {
  std::vector<PastJob> jobs;  // newest first
  bool more = false;          // there are older ones
  absl::Status unread;        // why a journal could not be read; the others are
};
// The newest `query.limit` of all journals.
PastJobs ReadPastJobs(const std::vector<journal::Place>& places, const journal::JobQuery& query);

enum class SumBy { kDay, kLabel, kKernel };

struct PastSum {
  std::string of;  // a day of the local calendar, "2026-11-27"; a label, or none; a kernel
  std::uint64_t jobs = 0;
  nanoseconds device_time{};
  std::optional<double> energy_joules = {};  // of those of which it is known
};

struct PastSums {
  std::vector<PastSum> sums;  // days newest first, others by device time
  absl::Status unread;
};
// With the attached jobs that are kept as sums alone. Of all jobs that the query meets, whatever its limit.
PastSums ReadPastSums(const std::vector<journal::Place>& places, const journal::JobQuery& query, SumBy by);

std::string TextOf(const PastJobs& past, bool colour, int width);
std::string JsonOf(const PastJobs& past);
std::string CsvOf(const PastJobs& past);

// "day", "label" or "kernel": its name in answers.
std::string NameOf(SumBy by);
std::string TextOf(const PastSums& past, SumBy by, int width);
std::string JsonOf(const PastSums& past, SumBy by);
std::string CsvOf(const PastSums& past, SumBy by);

}  // namespace hotplate::cli
