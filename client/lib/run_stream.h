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

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
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
  using Lock = std::unique_lock<std::mutex>;
  using PendingJob = std::shared_ptr<Pending>;

  PendingJob Add(v1::JobSpec spec, Deadline deadline);
  void RequestCancel(std::uint64_t tag);
  void CancelAll(Lock& lock);
  void EndAll();
  // Everything below expects the lock. Functions that take it by reference release it in between.
  void Flush(Lock& lock);
  std::vector<PendingJob> TakeBatch(v1::RunJobsRequest& request);
  bool WriteBatch(Lock& lock);
  bool EndWrite(Wire& wire);
  void OpenWire(bool with_jobs);
  void Poll(Lock& lock, Deadline until = std::nullopt, Deadline awake_until = std::nullopt);
  void Handle(Lock& lock, void* tag, bool ok);
  void HandleRead(Lock& lock, const std::shared_ptr<Wire>& wire, bool ok);
  void Dispatch(v1::RunJobsResponse& response);
  void Deliver(Pending& job, v1::JobUpdate&& update);
  void End(Pending& job, absl::StatusOr<EndedJob> result);
  void Tell(Pending& job);
  void Lost(const grpc::Status& status, bool may_come_back);
  void AddNews(absl::Status news);
  void Expire();
  void SetDeadline(Pending& job, Clock::time_point deadline);
  Deadline NextTimer() const;
  void WatchChannel();
  void WakePoller();
  void TellNews(Lock& lock);
  void PassOn();
  void RunBackground();
  void DeliverInBackground(Lock& lock, const PendingJob& job);

  const std::shared_ptr<const Connection> connection_;

  std::mutex mutex_;
  // All below is guarded by mutex_; queue_ is thread-safe by itself.
  grpc::CompletionQueue queue_;
  std::map<std::uint64_t, PendingJob> pending_;
  std::uint64_t next_tag_ = 1;
  std::deque<std::uint64_t> to_start_, to_cancel_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines_;
  std::shared_ptr<Wire> wire_;
  // The stream broke and is not to be opened before this.
  Deadline reopen_at_;
  Backoff backoff_;
  Outage outage_;
  // For ConnectOptions::on_connection, which is called without the lock, by one thread at a time.
  std::deque<absl::Status> news_;
  bool telling_ = false;
  bool polling_ = false;
  AwakeWaits waits_;  // of Run
  Deadline poll_until_;
  std::unique_ptr<grpc::Alarm> wake_;
  bool waking_ = false;
  // A change of the channel's state is waited for; its event's tag is the variable's address.
  bool watching_channel_ = false;
  // Threads that wait for another one's polling.
  std::list<std::condition_variable*> waiters_;
  // Jobs of Start: the number in flight, and those with something to report.
  std::size_t started_ = 0;
  std::deque<PendingJob> to_tell_;
  // closing_: no job is begun any more. closed_: nothing is sent any more either.
  bool closing_ = false, closed_ = false;
  std::condition_variable none_pending_;
  std::condition_variable background_wake_;
  std::thread background_;
};

}  // namespace hotplate::client
