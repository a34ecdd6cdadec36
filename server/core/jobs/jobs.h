// All jobs: their records, who hears of them, how long they stay. Whatever happens to a job comes here as an event; it
// is applied (job_event.h), written to the log, and only then told. What runs or waits is not known here: of a job that
// is to stop, whoever has it is told by the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/allowances.h"
#include "server/core/arrays/arrays.h"
#include "server/core/jobs/job_event.h"
#include "server/core/jobs/job_log.h"
#include "server/core/jobs/job_numbers.h"
#include "server/core/jobs/job_table.h"
#include "server/core/jobs/observers.h"
#include "server/core/log_sink.h"
#include "server/core/schedule/sessions.h"

namespace hotplate::core {

struct JobFilter {
  std::optional<SessionId> session = std::nullopt;
  bool active_only = false;
  // Detached ones that ended and left outputs that nobody has fetched.
  bool unfetched_only = false;
  std::size_t limit = 100;
  std::string before_id = {};                       // for the next page: only jobs older than this one
  std::vector<JobState> states = {};                // none: any
  std::string kernel = {}, label = {}, graph = {};  // empty: any
  std::optional<WallTime> submitted_since = std::nullopt;
};

// How to treat the attached jobs of an observer that goes away. A job's own DisconnectPolicy comes first.
enum class OnDisconnect { kCancelAfterGrace, kCancelNow, kDetach };

struct JobsOptions {
  RetentionLimits retention;
  nanoseconds disconnect_grace{0};
  NumberBlock first_numbers;
  JobNumbers::Claim claim_numbers;
  std::shared_ptr<JobLog> log;  // null: jobs are in memory alone
  std::shared_ptr<const Allowances> allowances = nullptr;
};

// Thread-safe. Takes no other lock under its own but that of the allowances.
class Jobs {
 public:
  Jobs(JobsOptions options, Sessions& sessions, ArrayStore& arrays, const Clock& clock, const LogSink& log);

  // Submission. Waits until there is an id for a job, which is at once but for the first jobs of a flood.
  absl::Status AwaitNumber() { return numbers_.Await(); }
  // Null where nothing was asked for by that key.
  std::shared_ptr<Job> FindRequest(const std::string& request_key) const;
  // The job is PENDING from now on, has its id, and `observer` (may be null) hears of it. Returns another job if that
  // got the same request key first. Refused while the daemon drains, where there is no room to keep its result, and as
  // by CheckAllowance.
  absl::StatusOr<std::shared_ptr<Job>> Insert(std::shared_ptr<Job> job, std::shared_ptr<JobObserver> observer,
                                              std::uint64_t tag);
  // RESOURCE_EXHAUSTED, with the limit max-jobs, where the token has as many jobs that have not ended as it may;
  // PERMISSION_DENIED where it is a token no more.
  absl::Status CheckAllowance(const Principal& who) const;
  // A durable job that was inserted is hidden until it is acknowledged. Returns why it is to be cancelled, if somebody
  // asked for that meanwhile (CancelLater).
  std::string Acknowledge(Job& job);
  // False for a job that is not hidden: it can be cancelled now. The reason is not empty.
  bool CancelLater(Job& job, const std::string& reason);
  // Removes a job that was never acknowledged, as if it had never been.
  void Withdraw(Job& job);
  // A job of a daemon before this one, under its own number, with its events since it last was PENDING.
  void Restore(const std::shared_ptr<Job>& job, std::uint64_t number, const std::vector<JobEvent>& events);
  // The request of `job` was repeated: tells `observer` its whole story. ALREADY_EXISTS if this is another payload,
  // UNAVAILABLE while the first one is being written down.
  absl::StatusOr<JobId> Rejoin(Job& job, const JobRequest& request, std::shared_ptr<JobObserver> observer,
                               std::uint64_t tag);

  // The steps of a job.
  void Started(Job& job, const std::string& device, SteadyTime at);
  // False: it has ended, or was asked before. Whoever has the job is to be told.
  bool RequestCancel(Job& job, std::string reason);
  // Ends a job that neither waits nor runs any more, and tells its observers; of a durable job, once its end is written
  // down.
  void End(Job& job, JobEnd end, std::vector<ArrayId> owned_arrays = {});
  // Adds the outputs of a restored job, which were read from files. False if the job has left the table.
  bool Load(Job& job, std::shared_ptr<const JobEnd> end, std::vector<ArrayId> owned_arrays);
  // Facts needed to end a job.
  struct Standing {
    bool time_limit_reached = false, cancel_requested = false, attached = false, watched = false;
    std::string cancel_reason;
  };
  Standing StandingOf(const Job& job) const;
  // An output of a job, as far as it is known.
  struct Making {
    std::shared_ptr<const JobEnd> end;  // null while it goes on; then also:
    std::optional<Signature> signature;
    std::string device;       // that it will be kept on; empty: any
    std::string other_names;  // the job is known to have these outputs, and none of that name
  };
  Making MakingOf(const Job& job, const std::string& output) const;
  // Binds a job that could not be bound before, and is not queued yet.
  void Bind(Job& job, BoundJob bound);
  // Called of each job that ended, before anybody is told so, with no lock held. Before the first job.
  void SetFollower(std::function<void(Job&)> follow) { follow_ = std::move(follow); }

  // Clients. Tells every change from `from_sequence` on, those that have been at once.
  absl::Status Watch(const Principal& who, const JobId& id, std::uint64_t from_sequence,
                     std::shared_ptr<JobObserver> observer, std::uint64_t tag);
  void Subscribe(std::shared_ptr<JobObserver> observer);
  // No call to the observer begins after this returns, and none is under way but those that call this. Returns the jobs
  // that are to be cancelled now.
  std::vector<std::shared_ptr<Job>> Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy);
  void Announce(const std::string& text, std::optional<double> seconds_left) { observers_.TellAll(text, seconds_left); }
  void TellWatchers(const Job& job, const std::string& notice) { observers_.TellWatchers(job, notice); }
  bool AnyUnsent() { return observers_.AnyUnsent(); }

  // Questions. NOT_FOUND for a job that is not there, with what became of it. Queue positions are not known here.
  absl::StatusOr<std::shared_ptr<Job>> Find(const Principal& who, const JobId& id) const;
  JobSnapshot SnapshotOf(const Job& job) const;
  // Its result, if there is one, counts as fetched.
  JobSnapshot Fetch(Job& job);
  std::vector<JobSnapshot> List(const Principal& who, const JobFilter& filter) const;  // newest first
  // Jobs that have not ended: those that wait first, in the order of their submission.
  std::vector<std::shared_ptr<Job>> Active() const;
  // How many of a token's have not ended; a sweep is one.
  std::uint32_t ActiveOf(const std::string& token) const;
  std::uint64_t ended_ever() const;
  std::uint64_t last_number() const { return numbers_.last_taken(); }

  // By time. There are jobs, or observers that do not know the latest.
  bool HasWork() const;
  void TellLate();
  // Checks the time limit and the progress of a running job.
  void Look(Job& job);
  // Attached jobs whose clients did not come back: to be cancelled.
  std::vector<std::shared_ptr<Job>> GraceOver();
  void EvictOld();

  // The end of the daemon. No new jobs from now on; the first reason counts.
  void Refuse(const std::string& reason);
  // The same, unless there are jobs or one has ended since `since`: false.
  bool RefuseIfIdleSince(SteadyTime since, const std::string& reason);
  bool draining() const { return draining_.load(); }
  absl::Status DrainingError() const;  // UNAVAILABLE, with the reason
  std::string drain_reason() const;
  // The end of the last job, if none goes on.
  std::optional<SteadyTime> IdleSince() const;
  // Until every job that goes on may stay, and everybody knows the ends of the others. False: `until` has passed.
  bool AwaitEnds(std::chrono::steady_clock::time_point until, absl::FunctionRef<bool(const Job&)> may_stay);

 private:
  // Applies the event and writes it down. False: the job's state does not have it.
  bool Record(Job& job, const JobEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndNow(Job& job, JobEvent event);
  void AddActive(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveActive(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null: it has no bounds.
  std::shared_ptr<const Allowance> AllowanceOf(const Principal& who) const {
    return options_.allowances == nullptr ? nullptr : options_.allowances->Of(who.token);
  }
  absl::Status CheckAllowanceLocked(const Principal& who) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::uint64_t SequenceOfNext(const Job& job) const;  // among its changes
  JobEvent Event(JobEvent::Kind kind) const { return {.kind = kind, .time = clock_.WallNow(), .at = clock_.Now()}; }
  void Expect(Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // TellLate tells its observers what they do not know
  JobSnapshot SnapshotLocked(const Job& job) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells observers what they do not know yet; what only the job's own stream wanted is not kept after that.
  void Tell(Job& job);
  void ReleaseOutputs(Job& job);
  void FreeOwned(const std::vector<std::shared_ptr<Job>>& evicted);
  void LogEnd(const Job& job) const;

  const JobsOptions options_;
  Sessions& sessions_;
  ArrayStore& arrays_;
  const Clock& clock_;
  const LogSink& log_;
  JobNumbers numbers_;
  std::function<void(Job&)> follow_;

  mutable Mutex mutex_;
  CondVar ended_;  // a job has, or an observer has heard of it
  JobTable table_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<Job*> active_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::uint32_t> active_of_ ABSL_GUARDED_BY(mutex_);  // by token; none is 0
  std::vector<std::shared_ptr<Job>> untold_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Job>> in_grace_ ABSL_GUARDED_BY(mutex_);
  std::optional<SteadyTime> IdleSinceLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SteadyTime idle_since_ ABSL_GUARDED_BY(mutex_);  // no job ended later
  std::string drain_reason_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> draining_{false};  // set under mutex_
  Observers observers_;                // guarded by mutex_ as it says
};

}  // namespace hotplate::core
