// Programs.Run: one program whose standard streams are the client's.
//   1. The first message has the program. It is looked for on the files' thread, and submitted as a job.
//   2. Messages to the program are read one at a time, and none while it does not take its input.
//   3. All that it has printed meanwhile goes out in one message; while the client does not read, the program waits.
//   4. The job's end is the last message, after all that the program has printed.
//   5. If the stream breaks, the job is cancelled: nobody can come back to it.
// No lock is held across a call into gRPC or the engine.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "hotplate/v1/programs.pb.h"
#include "kernels/base/mutex.h"
#include "server/service/context.h"
#include "server/workers/program_streams.h"

namespace hotplate::server {

class RunProgramCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, v1::RunProgramResponse>,
                             public core::JobObserver,
                             public std::enable_shared_from_this<RunProgramCall> {
 public:
  using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, v1::RunProgramResponse>;
  static Reactor* Start(const ServiceContext& context, grpc::CallbackServerContext* call);

  RunProgramCall(const ServiceContext& context, core::Principal who, std::string peer, StreamTicket ticket);

  void OnReadDone(bool ok) noexcept override;
  void OnWriteDone(bool ok) noexcept override;
  void OnCancel() noexcept override;
  void OnDone() noexcept override;

  void OnChange(const core::JobId& id, std::uint64_t tag, const core::StateChange& event,
                const std::shared_ptr<const core::JobEnd>& end) override;
  bool WantsStatesBeforeEnd() const override { return true; }
  void OnProgress(const core::JobId&, std::uint64_t, const core::JobProgress&) override {}
  void OnNotice(const std::string& text, std::optional<double> seconds_left) override;
  void OnFlush() override {}
  bool HasUnsent() override;

 private:
  void Read();
  void Begin(const v1::Program& program);
  void Submit(const v1::Program& program);
  // Obeys one message; false if it ends the call.
  bool Obey(v1::RunProgramRequest& request);
  // On the program's thread: it has printed something, or taken input.
  void StreamsChanged();
  // Writes what there is, if nothing is under way.
  void Advance();
  void Refuse(const absl::Status& status);
  // The client is gone.
  void Break();

  const ServiceContext& context_;
  const core::Principal who_;
  const std::string peer_;
  const std::shared_ptr<ProgramStreams> streams_ = std::make_shared<ProgramStreams>(/*has_client=*/true);
  grpc::ByteBuffer bytes_;           // as it was read
  v1::RunProgramResponse response_;  // belongs to whoever set writing_

  Mutex mutex_;
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;       // the program came
  bool read_later_ ABSL_GUARDED_BY(mutex_) = false;  // when there is room for input
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool told_id_ ABSL_GUARDED_BY(mutex_) = false;
  bool end_sent_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> refusal_ ABSL_GUARDED_BY(mutex_);
  std::string name_ ABSL_GUARDED_BY(mutex_);  // NameOfProgram, once the program came
  std::string kernel_ ABSL_GUARDED_BY(mutex_);
  core::JobId id_ ABSL_GUARDED_BY(mutex_);
  std::deque<core::StateChange> changes_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::Notice> notices_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const core::JobEnd> end_ ABSL_GUARDED_BY(mutex_);

  std::optional<StreamTicket> ticket_;
  std::shared_ptr<RunProgramCall> self_;
};

}  // namespace hotplate::server
