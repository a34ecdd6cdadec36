// What a journal has, read back: the jobs that are to go on, those whose results are kept, and who wrote them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/journal/index.h"
#include "server/journal/records.h"

namespace hotplate::journal {

// A numbered change of a job, as its watchers were told.
struct Change {
  std::uint64_t sequence = 0;
  JobState state = JobState::kPending;
  WallTime time = {};
  std::string device = {};
};

struct KeptJob {
  JobAccepted accepted = {};  // with its inputs; of a released or attached job without its request
  std::uint64_t epoch = 0;    // of the daemon that took it
  bool attached = false;
  JobState state = JobState::kPending;
  std::vector<Change> changes = {};  // from sequence 1 on
  std::string device = {};           // of the last start
  // Of one that has ended.
  std::string end = {}, outputs = {};
  std::vector<SpooledFile> results = {};
  JobUse use = {};
  std::optional<WallTime> start_time = {}, end_time = {}, fetch_time = {}, release_time = {};
  std::optional<WallTime> cancel_time = {};  // when somebody first was told that it is cancelled
};

struct KeptDaemon {
  std::uint64_t epoch = 0;
  DaemonLife life = {};
  WallTime start = {};
  std::optional<WallTime> end = {};  // none: it runs, or was killed
  std::string end_reason = {};
  std::optional<WallTime> seen = {};  // of one that was killed: when it last was known to live
  int gpus = 0;
};

struct RecoveryBounds {
  // Of ended jobs: those that ended since, and all whose results nobody has fetched; the newest, up to `most`.
  WallTime ended_since = {};
  std::size_t most_ended = 100'000;
};

struct Recovered {
  std::uint64_t last_number = 0;    // that any job had
  std::vector<KeptJob> unfinished;  // in the order of their numbers
  std::vector<KeptJob> ended;       // in the order of their ends; released ones are not among them
  std::vector<ArraySaved> arrays;   // in the order of their files
  std::vector<KeptDaemon> daemons;  // in the order of their epochs; the reader's own is the last
};

absl::StatusOr<Recovered> Recover(Index& index, const RecoveryBounds& bounds);

// Ended jobs are in the order of their ends. Numbers tell no order between daemons: each takes a block at a time.
struct JobPlace {
  WallTime end = {};
  std::uint64_t number = 0;
  static JobPlace Of(const KeptJob& job) { return {job.end_time.value_or(job.accepted.time), job.accepted.number}; }
  friend auto operator<=>(const JobPlace&, const JobPlace&) = default;
};

// For `history` and `export`.
struct JobQuery {
  std::optional<WallTime> ended_since = {};
  std::string kernel = {}, label = {};  // empty: any
  std::vector<JobState> states = {};    // none: any
  std::optional<JobPlace> before = {};  // those that come after it in the order; none: from the newest
  std::size_t limit = 1000;
  bool requests = false;  // with the requests of those that have not been released
};

// Ended jobs with and without results, last end first. One page: `before` the last one's place comes the next.
absl::StatusOr<std::vector<KeptJob>> EndedJobs(Index& index, const JobQuery& query);
// One job in any state, with its request and its end, as far as they are kept. NOT_FOUND if it is not there.
absl::StatusOr<KeptJob> FindJob(Index& index, std::uint64_t number);
// The numbers from `first` to `last` that jobs in any state have, in order; at most `limit`, the largest ones.
absl::StatusOr<std::vector<std::uint64_t>> NumbersBetween(Index& index, std::uint64_t first, std::uint64_t last,
                                                          std::size_t limit);
absl::StatusOr<std::vector<KeptDaemon>> Daemons(Index& index);
absl::StatusOr<Sums> SumsSince(Index& index, std::optional<WallTime> since);

}  // namespace hotplate::journal
