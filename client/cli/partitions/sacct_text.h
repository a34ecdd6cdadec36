// Parses sacct's list of jobs line by line as it arrives: waiting times by size.
//
// The wait is Start − Eligible: the time from when the job could have run (dependencies met, --begin passed, no hold)
// until it did. Earlier time is the user's own, not the queue's. A job that never started has no wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/cli/scheduler/scheduler.h"

namespace hotplate::cli {

// The columns that SacctReader reads, for --format, with --parsable2 --noheader and SLURM_TIME_FORMAT=%s.
inline constexpr char kSacctColumns[] =
    "JobID,Partition,State,Submit,Eligible,Start,End,Timelimit,ReqCPUS,AllocTRES,NNodes,ReqMem,ReqTRES";

inline constexpr std::int64_t kUnlimited = -1;       // minutes: no time limit
inline constexpr std::int64_t kPartitionLimit = -2;  // minutes: the partition's
inline constexpr std::int64_t kUnknownMemory = -1;   // MiB
inline constexpr std::int64_t kNeverStarted = -1;    // seconds of waiting: it was given up

// One start of a job (a requeued job starts more than once), or the end of one that never started.
struct JobStart {
  std::string partition;        // where it started; all that it was submitted to where it did not
  EpochSeconds start = 0;       // its end where it never started
  std::int64_t wait = 0;        // seconds, or kNeverStarted
  std::int64_t cpus = 0;        // requested
  std::int64_t minutes = 0;     // the time limit, or one of the values above
  std::int64_t memory_mib = 0;  // requested on all nodes together
  std::int64_t gpus = 0;        // requested on all nodes together
};

// "[DD-[HH:]]MM:SS" or minutes, "UNLIMITED", "Partition_Limit". Rounded up to minutes.
std::optional<std::int64_t> ParseSlurmMinutes(std::string_view text);

// MiB of "4000M", "4G", "1.5T", "100" (MiB). A "c" at the end multiplies by `cpus`, an "n" by `nodes`, as in Slurm
// before 21.08. Nothing for other texts, and for 0, which requests all memory of a node.
std::optional<std::int64_t> ParseMemory(std::string_view text, std::int64_t cpus, std::int64_t nodes);

// "cpu=4,gres/gpu:a100=2,mem=8G,node=1": the count of `gres/gpu`, else of its types together.
std::int64_t GpusOf(std::string_view tres);
// The value of one key; empty if it is missing.
std::string_view TresOf(std::string_view tres, std::string_view key);

struct SacctRow {
  enum class Kind {
    kPast,      // it started, or ended without a start (wait: kNeverStarted)
    kWaiting,   // PENDING, and may start at any time
    kNotQueued  // held, or before its --begin; or Slurm took back a start: another row has the job
  };
  Kind kind = Kind::kPast;
  std::string job;         // "123", "123_4" of an array, "123+1" of a heterogeneous job
  std::int64_t tasks = 1;  // more for "123_[5-9]", an array that waits as one
  JobStart start;          // for waiting jobs the partition only, maybe several
};

// Nothing for a line that is not a row of sacct with these columns.
std::optional<SacctRow> ParseSacctRow(std::string_view line);

// sacct's jobs in a period of time.
struct SliceJobs {
  std::vector<JobStart> starts;                 // jobs that started, or were cancelled, within the slice
  std::map<std::string, std::int64_t> waiting;  // by partition: jobs that wait at the end of the slice
  std::int64_t unreadable = 0;                  // lines
};

// Takes the output in blocks of any size. Each start counts once, however often it is listed; the components of a
// heterogeneous job in one partition, which start together, count as one job.
class SacctReader {
 public:
  // Starts of [from, to) count. A reader that has met `most_rows` rows takes no more.
  SacctReader(EpochSeconds from, EpochSeconds to, std::size_t most_rows)
      : from_(from), to_(to), most_rows_(most_rows) {}

  // False if there are too many rows for one slice.
  bool Take(std::string_view block);
  // After the last block.
  SliceJobs Jobs() &&;

  std::size_t rows() const { return rows_; }

 private:
  void Line(std::string_view line);
  void Past(SacctRow row);

  const EpochSeconds from_, to_;
  const std::size_t most_rows_;
  std::size_t rows_ = 0;
  std::string line_;       // the last line so far
  bool too_long_ = false;  // drop the rest of this line
  std::unordered_set<std::string> seen_;
  std::unordered_map<std::string, std::size_t> heterogeneous_;  // id, partition and start: index in jobs_.starts
  SliceJobs jobs_;
};

}  // namespace hotplate::cli
