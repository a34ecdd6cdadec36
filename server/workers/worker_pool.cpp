#include "server/workers/worker_pool.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hotplate::server {
namespace {

constexpr char kRestarted[] = "hotplate workers restart ended it";

}  // namespace

WorkerPool::~WorkerPool() {
  refs_.Close();
  std::thread freeing;
  {
    MutexLock lock(mutex_);
    freeing.swap(freeing_);
  }
  if (freeing.joinable()) freeing.join();
}

WorkerPool::Taken WorkerPool::Take(const std::string& key, bool alone,
                                   const std::function<bool(std::uint64_t turn)>& claim) {
  std::list<Waiting> gone;  // ended without the lock
  MutexLock lock(mutex_);
  Drop(gone);
  Taken taken;
  for (auto one = waiting_.begin(); one != waiting_.end() && taken.worker == nullptr;) {
    const auto next = std::next(one);
    const std::uint64_t id = one->worker->id();
    const bool holds = refs_.Count(id) > 0;
    if (!holds) alone_.erase(id);
    if (known_[id].key == key && !(holds && (alone || alone_.contains(id)))) {
      if (!one->worker->Refresh()) {
        const std::string why = one->worker->WhyGone();
        End(one, why, gone);
      } else if (!holds || claim(id)) {
        taken = {Hire(one), holds};
        if (alone) alone_.insert(id);
      }
    }
    one = next;
  }
  lock.Unlock();
  return taken;
}

std::unique_ptr<CallWorker> WorkerPool::TakeHolder(std::uint64_t id, bool alone) {
  MutexLock lock(mutex_);
  const Place one = Find(id);
  if (one == waiting_.end()) return nullptr;
  if (alone) alone_.insert(id);
  return Hire(one);
}

std::unique_ptr<CallWorker> WorkerPool::Hire(Place one) {
  std::unique_ptr<CallWorker> worker = std::move(one->worker);
  waiting_.erase(one);
  busy_.insert(worker.get());
  worker->Forget(refs_.TakeFreed(worker->id()));
  return worker;
}

absl::Status WorkerPool::RoomForAlone() {
  MutexLock lock(mutex_);
  for (const Waiting& one : waiting_) {
    if (refs_.Count(one.worker->id()) == 0) alone_.erase(one.worker->id());
  }
  if (alone_.size() < kMostAlone) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(alone_.size(), " actors have a worker each, the most that can be: free some first"));
}

void WorkerPool::Add(const std::string& key, const CallWorker& worker, const std::shared_ptr<const WorkerFacts>& facts,
                     bool on_gpu, bool alone) {
  MutexLock lock(mutex_);
  busy_.insert(&worker);
  known_[worker.id()] = {key, facts, on_gpu};
  if (alone) alone_.insert(worker.id());
}

std::shared_ptr<const WorkerFacts> WorkerPool::FactsOf(const CallWorker& worker) {
  MutexLock lock(mutex_);
  return known_[worker.id()].facts;
}

void WorkerPool::Return(std::unique_ptr<CallWorker> worker, const std::string& why_gone) {
  std::list<Waiting> gone;  // ended without the lock
  MutexLock lock(mutex_);
  const bool kept = busy_.erase(worker.get()) > 0;
  waiting_.push_front({std::move(worker), std::chrono::steady_clock::now()});
  CallWorker& one = *waiting_.front().worker;
  if (!one.usable() || !kept) {
    End(waiting_.begin(), one.usable() ? kRestarted : why_gone, gone);
  } else if (one.full() && refs_.Count(one.id()) == 0) {
    End(waiting_.begin(), "", gone);
  } else {
    one.Forget(refs_.TakeFreed(one.id()));
  }
  Drop(gone);
  lock.Unlock();
}

void WorkerPool::Look(std::uint64_t id) {
  std::list<Waiting> gone;
  MutexLock lock(mutex_);
  const Place one = Find(id);
  if (one != waiting_.end() && !one->worker->Refresh()) {
    const std::string why = one->worker->WhyGone();
    End(one, why, gone);
  }
  lock.Unlock();
}

void WorkerPool::Drop(std::list<Waiting>& gone) {
  const auto now = std::chrono::steady_clock::now();
  std::size_t on_cpus = 0, on_gpus = 0;
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto next = std::next(one);
    const std::uint64_t id = one->worker->id();
    if (refs_.Count(id) == 0) {
      const bool too_many = known_[id].on_gpu ? ++on_gpus > kLeastWaiting : ++on_cpus > most_on_cpus_.load();
      if (too_many || now - one->since > kLongestWait) End(one, "", gone);
    }
    one = next;
  }
}

void WorkerPool::End(Place one, const std::string& why, std::list<Waiting>& gone) {
  alone_.erase(one->worker->id());
  known_.erase(one->worker->id());
  refs_.Lose(one->worker->id(), why);
  gone.splice(gone.end(), waiting_, one);
}

std::vector<WorkerPool::Row> WorkerPool::Rows() {
  std::vector<Row> rows;
  MutexLock lock(mutex_);
  for (const auto& [id, known] : known_) {
    const std::size_t refs = refs_.Count(id);
    rows.push_back({known.facts, /*busy=*/true, refs, refs > 0 && alone_.contains(id)});
    for (const Waiting& one : waiting_) {
      if (one.worker->id() == id) rows.back().busy = false;
    }
  }
  return rows;
}

WorkerPool::Place WorkerPool::Find(std::uint64_t id) {
  Place one = waiting_.begin();
  while (one != waiting_.end() && one->worker->id() != id) ++one;
  return one;
}

std::shared_ptr<HostBuffer> WorkerPool::Hold(const std::shared_ptr<const WorkerFacts>& worker, const CallRef& object,
                                             const core::SessionId& session, std::shared_ptr<HostBuffer> buffer) {
  {
    MutexLock lock(mutex_);
    if (!freeing_.joinable()) freeing_ = std::thread([this] { Free(); });
  }
  return refs_.Add(worker, object, session, std::move(buffer));
}

void WorkerPool::Free() {
  constexpr std::chrono::milliseconds kSoon(10);  // for a worker whose socket is full
  bool rest = false;
  while (refs_.AwaitFreed(rest ? std::optional(kSoon) : std::nullopt)) {
    rest = false;
    MutexLock lock(mutex_);
    // Those that have a call are told as they come back.
    for (Waiting& one : waiting_) rest |= !one.worker->Forget(refs_.TakeFreed(one.worker->id()));
  }
}

std::size_t WorkerPool::Clear() {
  std::list<Waiting> gone;
  MutexLock lock(mutex_);
  const std::size_t count = waiting_.size() + busy_.size();
  while (!waiting_.empty()) End(waiting_.begin(), kRestarted, gone);
  busy_.clear();
  lock.Unlock();
  return count;
}

}  // namespace hotplate::server
