// Slurm through its commands: how they are called, for how long they are waited for, and how their answers are read.
// The tests read answers of a real Slurm (tests/unit/base/slurm_test.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/run_program.h"

namespace hotplate {

// A job as squeue or sacct has it.
struct SlurmJob {
  std::string state = {};   // Slurm's word, without what may follow it ("CANCELLED by 1001"): "PENDING", "CANCELLED"
  std::string reason = {};  // why it waits or ended, Slurm's word; empty: none given
  std::string nodes = {};   // "b-cn[1606-1607]"
  std::string user = {};    // the user's number
  // Seconds since 1970. Of one that waits the start is an estimate; of one that runs the end is its limit.
  std::optional<std::int64_t> start = {}, end = {};
};

// The answer of `scontrol show config`, by key: "KillWait" is "30 sec".
using SlurmConfig = std::map<std::string, std::string, std::less<>>;

// Slurm's commands, asked about one cluster. Each function waits on the calling thread, and its errors are those of
// RunProgram. UNAVAILABLE besides, where a command that is asked for an answer fails, with its words.
class SlurmCommands {
 public:
  struct Options {
    std::string cluster = {};  // for -M; empty: the one that the commands ask by themselves
    // This node's own cluster is asked, whatever other cluster or federation the user's shell prefers.
    bool own_cluster = false;
    std::chrono::milliseconds timeout = std::chrono::seconds(20);  // of one command
    std::stop_token stop = {};
  };
  SlurmCommands(ProgramRunner run, Options options) : run_(std::move(run)), options_(std::move(options)) {}

  // The words of such a command: {"srun", "-M", "snowy", "--jobid=12"}.
  std::vector<std::string> Command(const std::string& program, const std::vector<std::string>& words) const;

  // Runs a command. `call` has what else there is to say; its words, timeout and stop are set here.
  absl::StatusOr<ProgramResult> Run(const std::string& program, const std::vector<std::string>& words,
                                    ProgramCall call = {}) const;
  // Runs one that only answers: its times are seconds since 1970, and no format or filter of the user's shell counts.
  absl::StatusOr<ProgramResult> Ask(const std::string& program, const std::vector<std::string>& words,
                                    ProgramCall call = {}) const;

  // The job of this number; nothing if squeue knows none. squeue forgets a job minutes after its end.
  absl::StatusOr<std::optional<SlurmJob>> Queued(const std::string& job_id) const;
  // The same of the accounting, which remembers but lags behind. Nothing also where there is none.
  absl::StatusOr<std::optional<SlurmJob>> Accounted(const std::string& job_id) const;
  absl::StatusOr<SlurmConfig> Config() const;

 private:
  const ProgramRunner run_;
  const Options options_;
};

// How answers are read.

// The columns asked of squeue. %A: the job's own number, also of a task of an array.
inline constexpr char kSqueueColumns[] = "%A|%T|%S|%e|%N|%U|%r";
// The line of `job_id`; nothing if there is none.
std::optional<SlurmJob> ParseSqueue(const std::string& out, const std::string& job_id);

inline constexpr char kSacctJobColumns[] = "State,Reason,Start,End,NodeList,UID";
// The last line, as a job may have been requeued.
std::optional<SlurmJob> ParseSacct(const std::string& out);

SlurmConfig ParseSlurmConfig(const std::string& out);

// Seconds since 1970 as SLURM_TIME_FORMAT=%s prints them, or "2026-11-21T20:22:13", local; nothing for "N/A",
// "Unknown", "NONE" and the like.
std::optional<std::int64_t> ParseSlurmTime(const std::string& text);

}  // namespace hotplate
