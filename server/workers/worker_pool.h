// Workers that wait for their next call. There is one for each call that runs; those that wait are not many, but for
// those in which functions have left objects (ref_table.h): they stay while anybody has one.
//
// Calls that take such an object run in its worker, one after the other: the worker's number is their turn in the
// scheduler. Any other call may run there meanwhile, if it gets that turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "server/workers/call_worker.h"
#include "server/workers/ref_table.h"

namespace hotplate::server {

// Thread-safe.
class WorkerPool {
 public:
  static constexpr std::size_t kLeastWaiting = 16;
  static constexpr std::size_t kMostAlone = 64;
  // One that has waited for so long goes, when another one comes or goes.
  static constexpr std::chrono::minutes kLongestWait{10};

  WorkerPool() = default;
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  RefTable& refs() { return refs_; }
  std::uint64_t NewId() { return next_id_.fetch_add(1); }
  // So many workers without a call stay on CPUs, kLeastWaiting at least, and kLeastWaiting on GPUs; the one that waits
  // for longest goes.
  void KeepWaiting(std::size_t on_cpus) { most_on_cpus_.store(std::max(on_cpus, kLeastWaiting)); }

  struct Taken {
    std::unique_ptr<CallWorker> worker;  // null: there is none
    bool has_turn = false;               // by `claim`: to be left when it is back
  };
  // The worker that came last under this key. `claim`: Daemon::claim_turn, which is called under the lock. `alone`: one
  // in which nobody has anything; others pass it by from then on while somebody has.
  Taken Take(const std::string& key, bool alone, const std::function<bool(std::uint64_t turn)>& claim);
  // Of a call that has its turn. Null: it is gone.
  std::unique_ptr<CallWorker> TakeHolder(std::uint64_t id, bool alone);
  // RESOURCE_EXHAUSTED: so many workers are alone already.
  absl::Status RoomForAlone();
  // One that was started anew under this key, for a call.
  void Add(const std::string& key, const CallWorker& worker, const std::shared_ptr<const WorkerFacts>& facts,
           bool on_gpu, bool alone);
  std::shared_ptr<const WorkerFacts> FactsOf(const CallWorker& worker);
  // After its call. `why_gone`: if it is not usable.
  void Return(std::unique_ptr<CallWorker> worker, const std::string& why_gone);
  // Its objects are lost from now on if it has ended meanwhile.
  void Look(std::uint64_t id);
  // Leaves an object with a worker: RefTable::Add.
  std::shared_ptr<HostBuffer> Hold(const std::shared_ptr<const WorkerFacts>& worker, const CallRef& object,
                                   const core::SessionId& session, std::shared_ptr<HostBuffer> buffer);
  // Ends those that wait, and those that have a call when they have ended it. Returns how many there are.
  std::size_t Clear();

  // For people.
  struct Row {
    std::shared_ptr<const WorkerFacts> worker;
    bool busy = false;
    std::size_t refs = 0;  // RefTable::Count
    bool alone = false;
  };
  std::vector<Row> Rows();

 private:
  struct Known {
    std::string key;
    std::shared_ptr<const WorkerFacts> facts;
    bool on_gpu = false;
  };
  struct Waiting {
    std::unique_ptr<CallWorker> worker;
    std::chrono::steady_clock::time_point since;
  };
  using Place = std::list<Waiting>::iterator;

  void Drop(std::list<Waiting>& gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One that waits is about to end.
  void End(Place one, const std::string& why, std::list<Waiting>& gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Place Find(std::uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<CallWorker> Hire(Place one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells workers that wait what they are to let go of, as it comes.
  void Free();

  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::size_t> most_on_cpus_{kLeastWaiting};
  RefTable refs_;
  Mutex mutex_;
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // newest first
  std::set<const CallWorker*> busy_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Known> known_ ABSL_GUARDED_BY(mutex_);  // those that wait or are busy, by their ids
  std::set<std::uint64_t> alone_ ABSL_GUARDED_BY(mutex_);
  std::thread freeing_ ABSL_GUARDED_BY(mutex_);  // once there is an object; joined by the destructor, without it
};

}  // namespace hotplate::server
