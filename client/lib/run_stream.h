// The one Run stream of a client, shared by all its threads: many jobs in flight, told apart by tags.
//
// There is one completion queue, polled by at most one thread at a time. A thread that waits for its own job polls for
// the others as well, so that a lone caller gets its answer without a change of threads. When it has its answer, it
// wakes another waiter to go on. Only jobs without a waiter (Start) need a thread of the library, which starts with the
// first of them.
//
// When the stream breaks, its jobs are started again on a new one under the same request_id, so that each runs once. A
// job that the daemon had answered is always tried again. A job unanswered on `retries` streams ends with UNAVAILABLE,
// unless the daemon cannot be reached: then it is tried again for as long as ConnectOptions::reconnect allows.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/lib/awake_wait.h"
#include "client/lib/connection.h"
#include "kernels/base/mutex.h"

namespace hotplate::client {

// A job that began and came to its end, whichever that was.
struct EndedJob {
  std::string job_id;
  v1::JobEnd end;
};

using OnUpdate = std::function<void(const v1::JobUpdate&)>;

class RunStream {
 public:
  explicit RunStream(std::shared_ptr<const Connection> connection);
  // Has the daemon cancel the jobs of Start, except detached ones, and waits a moment for its answer. Then ends the
  // rest with CANCELLED, calls `done` for all, and waits for the library's thread.
  ~RunStream();
  RunStream(const RunStream&) = delete;
  RunStream& operator=(const RunStream&) = delete;

  // Waits for the job's end; of `options` only `on_update` and `on_wait`, which this thread calls, count here. A
  // refusal, a lost connection and an end that the daemon does not confirm after a stop are statuses; every end that it
  // tells is an EndedJob.
  absl::StatusOr<EndedJob> Run(v1::JobSpec spec, const JobOptions& options, Deadline deadline,
                               const std::stop_token& stop);

  // Opens the stream, if it is closed, without a job. It shows the daemon that a client is connected, so that the
  // session's arrays stay.
  void Open();

  // Does not wait. Both callbacks are called, and destroyed, on the library's thread without the lock.
  void Start(v1::JobSpec spec, OnUpdate on_update, Deadline deadline, const std::stop_token& stop,
             std::function<void(absl::StatusOr<EndedJob>)> done);

 private:
  struct Pending;
  struct Wire;
  using PendingJob = std::shared_ptr<Pending>;

  void RequestCancel(std::uint64_t tag);
  void RunBackground();
  PendingJob Add(v1::JobSpec spec, Deadline deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<PendingJob> TakeBatch(v1::RunJobsRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool EndWrite(Wire& wire) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OpenWire(bool with_jobs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Dispatch(v1::RunJobsResponse& response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Deliver(Pending& job, v1::JobUpdate&& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Post(Pending& job, v1::JobUpdate&& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Pending& job, absl::StatusOr<EndedJob> result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(Pending& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Lost(Target& target, const grpc::Status& status, bool may_come_back) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddNews(absl::Status news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Expire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetDeadline(Pending& job, Clock::time_point deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Deadline NextTimer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WatchChannel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakePoller() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PassOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // These release the lock in between.
  void CancelAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool WriteBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Poll(Deadline until = std::nullopt, Deadline awake_until = std::nullopt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Handle(void* tag, bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleRead(const std::shared_ptr<Wire>& wire, bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellNews() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeliverInBackground(const PendingJob& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const Connection> connection_;

  grpc::CompletionQueue queue_;  // thread-safe by itself
  AwakeWaits waits_;             // of Run; so is this

  Mutex mutex_;
  std::map<std::uint64_t, PendingJob> pending_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_tag_ ABSL_GUARDED_BY(mutex_) = 1;
  std::deque<std::uint64_t> to_start_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::uint64_t> to_cancel_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Wire> wire_ ABSL_GUARDED_BY(mutex_);
  // The stream broke and is not to be opened before this.
  Deadline reopen_at_ ABSL_GUARDED_BY(mutex_);
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  Outage outage_ ABSL_GUARDED_BY(mutex_);
  std::size_t moves_ ABSL_GUARDED_BY(mutex_);  // Connection::moves at the last loss
  // For ConnectOptions::on_connection, which is called without the lock, by one thread at a time.
  std::deque<absl::Status> news_ ABSL_GUARDED_BY(mutex_);
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;
  bool polling_ ABSL_GUARDED_BY(mutex_) = false;
  Deadline poll_until_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Alarm> wake_ ABSL_GUARDED_BY(mutex_);
  bool waking_ ABSL_GUARDED_BY(mutex_) = false;
  // A change of the channel's state is waited for; its event's tag is the variable's address.
  bool watching_channel_ ABSL_GUARDED_BY(mutex_) = false;
  // Threads that wait for another one's polling.
  std::list<CondVar*> waiters_ ABSL_GUARDED_BY(mutex_);
  // Jobs of Start: the number in flight, and those with something to report.
  std::size_t started_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<PendingJob> to_tell_ ABSL_GUARDED_BY(mutex_);
  // closing_: no job is begun any more. closed_: nothing is sent any more either.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  CondVar none_pending_;
  CondVar background_wake_;
  std::thread background_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::client
