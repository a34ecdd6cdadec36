// Tells observers of their jobs. Observers are never called under a lock.
//
// Each subscription remembers the next change that it has to tell. Whoever makes a change asks for it to be told; if
// another thread is telling that subscription already, that thread finds the new change before it stops. So changes
// come in order, one call at a time, without a lock around the calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "kernels/base/mutex.h"
#include "server/core/jobs/job.h"

namespace hotplate::core {

// Told of one job's updates, or of many jobs'. Calls for one job come in order and one at a time, those for different
// jobs may come at once from several threads; never under a lock of the core, so that they may call it. They run on
// lanes, the ticker and inside Submit, and must not wait.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // `end` is set with the last change of the job.
  virtual void OnChange(const JobId& id, std::uint64_t tag, const StateChange& change,
                        const std::shared_ptr<const JobEnd>& end) = 0;
  // False: of a job that has ended by the time this is told anything more, only the end is wanted.
  virtual bool WantsStatesBeforeEnd() const { return true; }
  // May be dropped; at most 10 a second.
  virtual void OnProgress(const JobId& id, std::uint64_t tag, const JobProgress& progress) = 0;
  // The daemon drains or the allocation ends soon.
  virtual void OnNotice(const std::string& text, std::optional<double> seconds_left) = 0;
  // Ends every burst of the calls above: an observer that collects them may send them now.
  virtual void OnFlush() {}
  // Something that it was told is still on its way to whom it concerns: a drain waits for it.
  virtual bool HasUnsent() { return false; }
};

// An observer, and the calls to it that are under way.
struct Subscriber {
  std::shared_ptr<JobObserver> observer;
  std::atomic<bool> closed{false};

  // Guarded by the mutex of Observers.
  bool stays = false;  // hears of notices without a job too
  absl::flat_hash_set<Job*> jobs;
  std::vector<std::thread::id> callers;
  std::size_t callers_waiting = 0;  // those of `callers` that wait for the others to leave
};

struct Subscription {
  std::shared_ptr<Subscriber> subscriber;
  std::uint64_t tag = 0;
  bool owner = false;  // submitted the job: if it goes away, an attached job goes too
  unsigned next = 0;   // the change to tell next
  bool telling = false;
};

// A part of Jobs, whose mutex guards it and the jobs' records.
class Observers {
 public:
  // `known` is notified whenever an observer has heard the last of its jobs.
  Observers(Mutex& mutex, CondVar& known) : mutex_(mutex), known_(known) {}

  // With the mutex held.
  void Stay(std::shared_ptr<JobObserver> observer);
  void Add(Job& job, std::shared_ptr<JobObserver> observer, std::uint64_t tag, unsigned next, bool owner);
  // No call begins from now on. `lost` is called for each job that loses a subscription, with whether that was the
  // last one of an owner: a client that has come back on another stream owns the job by both. Null if the observer is
  // not known; else to be waited for, and dropped without the mutex.
  std::shared_ptr<Subscriber> Close(const std::shared_ptr<JobObserver>& observer,
                                    absl::FunctionRef<void(Job& job, bool owner)> lost);
  // Until no other thread is in a call to it, but those that wait here themselves. Opens gaps in the lock.
  void WaitUntilQuiet(Subscriber& subscriber);
  // No observer has yet to hear of the end of a job that ended.
  bool KnowAll() const;

  // Without the mutex; the caller keeps the job alive.
  // True if whoever submitted the job has now heard its end.
  bool Tell(Job& job);
  bool TellProgress(Job& job, const JobProgress& progress);
  void TellAll(const std::string& notice, std::optional<double> seconds_left);
  // Tells the job's observers that have not heard of its end.
  void TellWatchers(const Job& job, const std::string& notice);
  // An observer has not passed on all that it was told.
  bool AnyUnsent();

 private:
  using Subscribers = std::vector<std::shared_ptr<Subscriber>>;  // their last references go after the lock

  void TellEach(const Subscribers& whom, const std::string& notice, std::optional<double> seconds_left);
  std::shared_ptr<Subscriber>& SubscriberOf(std::shared_ptr<JobObserver> observer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Enter(Subscriber& subscriber) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Leave(Subscriber& subscriber) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The subscription's last reference is the caller's.
  void Remove(Job& job, const std::shared_ptr<Subscription>& subscription) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex& mutex_;
  CondVar& known_;
  CondVar left_;
  std::unordered_map<const JobObserver*, std::shared_ptr<Subscriber>> subscribers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::core
