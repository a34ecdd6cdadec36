// The seam to a batch scheduler: what `up` and `down` need, whatever the scheduler's commands are called.
//
// How an allocation goes through it:
//   1. Check lets the scheduler look at the script without submitting it.
//   2. Submit hands it in; the answer names the job for good: cluster and id.
//   3. State tells where the job is, as often as somebody waits for it.
//   4. Cancel ends it, pending or not.
// A refusal carries the scheduler's own words and what to do about them, and exit code 9. UNAVAILABLE (exit code 9
// too): the scheduler did not answer; another attempt may go better.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/run_program.h"

namespace hotplate::cli {

using EpochSeconds = std::int64_t;

struct SchedulerJob {
  std::string id;       // "32126787"
  std::string cluster;  // as the scheduler's commands take it; empty: their default
  // `home` and `user` distinguish the job from another one of the same number, if known: the cluster's name for itself
  // and the owner's user id (a number, since static programs look up no names). On a host of another cluster, that
  // cluster is asked. A job of another user is not this job.
  std::string home = {}, user = {};
  std::string remarks = {};  // remarks of the scheduler or its site on submission; for people
};

// True if the text can be a job's id: digits; for Slurm also a part of an array or of a heterogeneous job.
bool IsJobId(const std::string& text);

struct JobStatus {
  enum class Phase {
    kPending,   // it waits
    kRunning,   // its script runs, or is about to
    kEnding,    // its processes have ended, or are being ended; the nodes are not given back yet
    kEnded,     // it is over
    kForgotten  // the scheduler knows no such job: it was over long ago, or never was
  };
  Phase phase = Phase::kForgotten;
  std::string state = {};   // the scheduler's word: "PENDING", "RUNNING", "TIMEOUT"; empty where forgotten
  std::string reason = {};  // why it waits or ended, the scheduler's word; empty: none given
  std::string nodes = {};   // "b-cn1606"
  std::string user = {};    // for Slurm the user's number
  std::optional<EpochSeconds> start = {};  // estimated while it waits
  std::optional<EpochSeconds> end = {};    // the limit while it runs

  // Ended, or forgotten: there is nothing to wait for or to cancel.
  bool over() const { return phase == Phase::kEnded || phase == Phase::kForgotten; }
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual std::string Name() const = 0;       // for people: "Slurm"
  virtual std::string CheckedBy() const = 0;  // for people: "sbatch --test-only"; empty: Check does nothing
  // ABORTED: doubtful at present, but a submission may succeed: nodes may be down for a while.
  virtual absl::Status Check(const std::string& script) = 0;
  virtual absl::StatusOr<SchedulerJob> Submit(const std::string& script) = 0;
  virtual absl::StatusOr<JobStatus> State(const SchedulerJob& job) = 0;
  virtual absl::Status Cancel(const SchedulerJob& job) = 0;
  // The job's own number, if people may name it in another way ("12_3", a task of an array).
  virtual absl::StatusOr<SchedulerJob> Resolve(const SchedulerJob& job) { return job; }
  // The cluster's own name for itself, which daemons use; empty if unknown.
  virtual std::string ClusterName() = 0;
  // The command that runs `words` on the first node of a running job, beside its other work. UNIMPLEMENTED: the
  // scheduler cannot do that. The first word is a path.
  virtual absl::StatusOr<std::vector<std::string>> InsideJob(const SchedulerJob& job,
                                                             const std::vector<std::string>& words) = 0;
  // The command with which users look for themselves.
  virtual std::string LookCommand(const SchedulerJob& job) const = 0;
};

// Explains a reason for waiting if the job will wait for ever or for a person; empty for ordinary reasons.
std::string WhatToDoAboutReason(const std::string& reason);

// For the schedulers themselves: the output of a command without trailing white space, and the error for a command that
// gave none, because it does not exist or took too long.
std::string Trimmed(std::string text);
absl::Status NoAnswer(const absl::Status& status);

}  // namespace hotplate::cli
