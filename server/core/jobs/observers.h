// Who hears of which jobs. Guarded by the engine's mutex, which is never held while an observer is called.
//
// Each subscription remembers the next event it has to tell. Whoever makes an event asks for it to be told; if
// another thread is telling that subscription already, that thread finds the new event before it stops. So events
// come in order, one call at a time, without a lock around the calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "server/core/engine.h"
#include "server/core/jobs/job.h"

namespace hotplate::core {

// An observer, and the calls to it that are under way.
struct Subscriber {
  std::shared_ptr<JobObserver> observer;
  std::atomic<bool> closed{false};

  // Guarded by the engine's mutex.
  bool stays = false;  // hears of notices without a job too
  absl::flat_hash_set<Job*> jobs;
  std::vector<std::thread::id> callers;
  std::size_t callers_waiting = 0;  // those of `callers` that wait for the others to leave
};

struct Subscription {
  std::shared_ptr<Subscriber> subscriber;
  std::uint64_t tag = 0;
  bool owner = false;  // submitted the job: if it goes away, an attached job goes too
  unsigned next = 0;   // the event to tell next
  bool telling = false;
};

class Observers {
 public:
  // `known` is notified whenever an observer has heard the last of its jobs.
  Observers(std::mutex& mutex, std::condition_variable& known) : mutex_(mutex), known_(known) {}

  // With the mutex held.
  void Stay(std::shared_ptr<JobObserver> observer);
  void Add(Job& job, std::shared_ptr<JobObserver> observer, std::uint64_t tag, unsigned next, bool owner);
  // No call begins from now on. `lost` is called for each job that loses a subscription, with whether that was the
  // last one of an owner: a client that has come back on another stream owns the job by both. Null if the observer is
  // not known; else to be waited for, and dropped without the mutex.
  std::shared_ptr<Subscriber> Close(const std::shared_ptr<JobObserver>& observer,
                                    absl::FunctionRef<void(Job& job, bool owner)> lost);
  // Until no other thread is in a call to it, but those that wait here themselves.
  void WaitUntilQuiet(std::unique_lock<std::mutex>& lock, Subscriber& subscriber);

  // No observer has yet to hear of the end of a job that ended.
  bool KnowAll() const;

  // Without the mutex; the caller keeps the job alive.
  // True if whoever submitted the job has now heard its end.
  bool Tell(Job& job);
  bool TellProgress(Job& job, double fraction);
  void TellAll(const std::string& notice, std::optional<double> seconds_left);
  // Who hears of the job, and not yet of its end.
  void TellWatchers(const Job& job, const std::string& notice);
  // An observer has not passed on all that it was told.
  bool AnyUnsent();

 private:
  using Subscribers = std::vector<std::shared_ptr<Subscriber>>;  // their last references go after the lock

  void TellEach(std::unique_lock<std::mutex>& lock, const Subscribers& whom, const std::string& notice,
                std::optional<double> seconds_left);
  std::shared_ptr<Subscriber>& SubscriberOf(std::shared_ptr<JobObserver> observer);
  void Enter(Subscriber& subscriber);
  void Leave(Subscriber& subscriber);
  // The subscription's last reference is the caller's.
  void Remove(Job& job, const std::shared_ptr<Subscription>& subscription);

  std::mutex& mutex_;
  std::condition_variable& known_;
  std::condition_variable left_;
  std::unordered_map<const JobObserver*, std::shared_ptr<Subscriber>> subscribers_;
};

}  // namespace hotplate::core
