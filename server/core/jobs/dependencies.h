// Jobs that wait for other jobs: for their outputs, or only for their ends. A waiting job counts against the queue's
// capacity (Scheduler::Admit), and is queued when all the jobs on which it depends have completed. If one of them ends
// otherwise, the waiting job ends too.
//
// An output is taken as soon as its job has ended, before anybody hears of the end and may free it.
//
// Thread-safe. Takes the locks of Jobs and of the arrays under its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/arrays/arrays.h"
#include "server/core/jobs/jobs.h"
#include "server/core/types.h"

namespace hotplate::core {

class Dependencies {
 public:
  Dependencies(Jobs& jobs, ArrayStore& arrays) : jobs_(jobs), arrays_(arrays) {}

  // An input that another job has yet to make.
  struct Wanted {
    std::string input;
    JobId job;
    std::string output;
  };
  // The jobs that a request names.
  struct Lookup {
    std::vector<JobId> jobs;  // each once
    bool waits = false;       // for one of them at least
    std::vector<Wanted> wanted;
    std::string unknown = {};  // in words, the first input whose signature is not known; empty: all are
    // Outputs of ended jobs that this request has taken. Call CountTaken once its job exists.
    std::vector<std::pair<std::shared_ptr<Job>, std::string>> taken = {};
  };
  // Inputs that are there already become plain ones; of the others the signature is noted, as far as it is known.
  // NOT_FOUND for a job that is not there, INVALID_ARGUMENT for one that did not complete and for an output that the
  // job does not have, FAILED_PRECONDITION where its outputs are gone.
  // CANCELLED, only for one that is `restored`, if a job on which it depends was cancelled.
  // `never`, if not null: whether it is refused for good, since one of those jobs did not complete, or, by the request
  // id that a program has made, was never accepted.
  absl::StatusOr<Lookup> LookUp(const Principal& who, JobRequest& request, bool restored = false,
                                bool* never = nullptr) const;
  // The job exists: it counts as one taker fewer of each for_jobs output that LookUp gave it.
  void CountTaken(const Lookup& lookup);
  // A job that will never exist: it does not come for what it would have taken. Counts once for each request id.
  void Leave(const Principal& who, const std::string& request_id, const std::vector<JobInput>& inputs);

  // The outputs that a job takes, by the names of its inputs.
  struct Taken {
    Signature signature;
    decltype(JobInput::source) source;
  };
  struct Held {
    std::shared_ptr<Job> job;
    std::optional<JobRequest> request = {};  // of one that is bound when its inputs are known
    std::vector<Wanted> wanted = {};
    bool acknowledged = true;
    std::map<std::string, Taken> taken = {};
    // How the first of the others ended that did not complete, and why; kCompleted while there is none.
    JobState failed_as = JobState::kCompleted;
    std::string cause = {};
  };
  // From now on the job waits. It is returned if there is nothing to wait for after all.
  std::optional<Held> Hold(Held held);
  // The job need not be hidden any more (Job::hidden). False if it does not wait. `over`: it need not wait any more.
  bool Acknowledge(const Job& job, std::optional<Held>& over);
  // A job has ended, and nobody has been told so. Returns the jobs that need not wait any more, in the order in which
  // they came.
  std::vector<Held> Ended(Job& job);
  // The job will never be queued: nobody saw it.
  void Withdraw(const Job& job);

  std::size_t waiting() const { return waiting_.load(); }

 private:
  struct Waiting {
    Held held;
    std::vector<JobId> remaining;  // the jobs for which it waits
  };
  // The jobs that wait for one job, oldest first.
  using Dependants = std::map<std::uint64_t, const Job*>;

  static bool IsOver(const Waiting& waiting) {
    return waiting.held.acknowledged && (waiting.remaining.empty() || waiting.held.failed_as != JobState::kCompleted);
  }
  // It waits no more: what it has not taken, it leaves.
  Held TakeOut(const Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One of those that it waits for has ended.
  void Note(Held& held, Job& ended, const JobEnd& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<Job>> Find(const Principal& who, const JobRef& ref) const;
  // An output as an input.
  absl::StatusOr<Taken> Take(const Principal& who, const Job& job, const JobEnd& end, const std::string& output) const;
  using OutputsByJob = std::map<std::shared_ptr<Job>, std::set<std::string>>;
  void CountTaken(const OutputsByJob& taken);
  // One job will not come for these outputs any more, since it has them, or does not need them.
  static void CountTaken(Job& job, const std::set<std::string>& outputs);
  // Frees the outputs for which nobody has yet to come.
  void FreeUntaken(const Job& job, const JobEnd& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Jobs& jobs_;
  ArrayStore& arrays_;
  std::atomic<std::size_t> waiting_{0};  // changed under mutex_
  mutable Mutex mutex_;
  std::unordered_map<const Job*, Waiting> held_ ABSL_GUARDED_BY(mutex_);
  std::map<JobId, Dependants> dependants_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
