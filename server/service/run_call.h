// Jobs.Run: one bidirectional stream, many jobs in flight, each known by the client's tag. If a client sends jobs but
// does not read their updates, the stream stops reading from it at some point.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "hotplate/v1/jobs.pb.h"
#include "server/service/update_stream.h"

namespace hotplate::server {

class RunCall final
    : public UpdateStream<grpc::ServerBidiReactor<grpc::ByteBuffer, v1::RunJobsResponse>, v1::RunJobsResponse>,
      public OpenRunStream {
 public:
  // The reactor of a call; refused calls get one that only says so.
  static grpc::ServerBidiReactor<grpc::ByteBuffer, v1::RunJobsResponse>* Start(const ServiceContext& context,
                                                                               grpc::CallbackServerContext* call);

  RunCall(const ServiceContext& context, core::Principal who, std::string peer, StreamTicket ticket);

  void OnReadDone(bool ok) noexcept override;

  const core::SessionId& session() const override { return who_.session; }
  std::optional<core::SteadyTime> IdleSince() override;
  bool IsOver() override;
  bool EndIfIdle() override;

 private:
  struct Active {
    core::JobId id;  // empty until the engine has taken the job
    std::string kernel;
    bool cancel_requested = false;
    std::shared_ptr<ProgramStreams> streams;  // of a function
  };

  void Read();
  std::string EndedLocked(std::uint64_t tag) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void OnRoom() override;
  void OnGone() override;

  // Begins the jobs of request_, from next_start_ on, then reads the next request. Returns in between if the client has
  // to read first; OnRoom goes on then. One thread at a time: no read is under way meanwhile. Tiny jobs may run on this
  // thread, which has other streams to serve: for some milliseconds of each request, and the rest is queued.
  void GoThroughRequest();
  // A job that is just coming is sent again by whoever sent it, to another stream.
  bool IsIdleLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !ClosingLocked() && active_.empty(); }
  void BeginJob(const v1::RunJobsRequest::Start& start);
  // Finds tags of request_ that occur twice: whether the first job has ended by the second must not matter.
  void FindRepeatedTags();
  // Begins a job or refuses it. May wait for files, if the spec needs them.
  void StartJob(const v1::RunJobsRequest::Start& start, bool may_run_here);
  absl::StatusOr<core::JobId> Submit(std::uint64_t tag, const v1::JobSpec& spec, bool may_run_here);
  // What the function of this tag prints goes to the client, while the client takes it.
  void Hear(std::uint64_t tag, const std::shared_ptr<ProgramStreams>& streams);
  void SendPrinted(std::uint64_t tag);
  void TakePrintedLocked(std::uint64_t tag, const Active& active) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The engine may not have the job yet on which this one depends: it comes behind it on the thread for files.
  bool MayNameOneThatWaits(const v1::JobSpec& spec) const;
  // Reserves the tag, or says why it cannot be used.
  absl::Status Reserve(std::uint64_t tag, const v1::JobSpec& spec);
  void RefuseJob(const v1::RunJobsRequest::Start& start, const absl::Status& status);
  void Drop(const v1::RunJobsRequest::Start& start, const absl::Status& status);  // the same once its tag is reserved
  void CancelTag(std::uint64_t tag);
  void CloseIfDone(MutexLock& lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const core::Principal who_;
  const std::string peer_;
  grpc::ByteBuffer bytes_;  // as it was read; lent with request_
  ReusedMessage<v1::RunJobsRequest> request_;
  int next_start_ = 0;
  std::atomic<bool> waits_for_room_ = false;         // GoThroughRequest, which has more to do
  std::atomic<int> waiting_for_files_ = 0;           // jobs of this stream
  std::vector<int> repeated_;                        // which of its starts, in order
  std::chrono::steady_clock::time_point run_until_;  // when none of its jobs may run on this thread any more
  absl::Status request_size_;  // not OK for a request that is too large: each of its jobs is refused with it
  std::map<std::uint64_t, Active> active_ ABSL_GUARDED_BY(mutex_);
  bool reads_done_ ABSL_GUARDED_BY(mutex_) = false;
  // While active_ is empty.
  core::SteadyTime idle_since_ ABSL_GUARDED_BY(mutex_) = std::chrono::steady_clock::now();
};

}  // namespace hotplate::server
