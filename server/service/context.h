// What all services share. Built once by the daemon, immutable; what it refers to is thread-safe and outlives it.
//
// The life of a call:
//   1. Admit refuses it if it has no good token (auth.h), tells the principal, checks the method's scope and notes that
//      the session is alive.
//   2. The handler translates the message (wire/), asks the engine or the arrays, and answers. It runs on one of
//      gRPC's few threads and never waits: jobs answer through an observer, files are opened on FileThread. Tiny jobs
//      compute on it, within the engine's bounds of work and threads, and so many to a Run message.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "hotplate/v1/server.pb.h"
#include "server/core/engine.h"
#include "server/core/run/telemetry.h"
#include "server/service/auth.h"
#include "server/service/file_thread.h"
#include "server/service/open_run_streams.h"
#include "server/wire/job.h"
#include "server/wire/result.h"

namespace hotplate::server {

// What a client may ask of the process itself. Returns at once.
class DaemonControl {
 public:
  virtual ~DaemonControl() = default;
  // From now on draining() is true. No timeout: the configured one. `by`: the token's name, for the log.
  virtual void RequestDrain(std::optional<core::nanoseconds> timeout, const std::string& by) = 0;
  virtual void RequestShutdown(std::optional<core::nanoseconds> timeout, const std::string& by) = 0;
  virtual bool draining() const = 0;
};

class ServiceContext {
 public:
  struct Parts {
    core::Engine* engine;
    const core::TelemetrySampler* telemetry;
    std::shared_ptr<const Authenticator> authenticator;
    DaemonControl* control;
    wire::JobBounds bounds;
    wire::ReceiptFacts facts;
    v1::GetServerInfoResponse info;  // all that does not change while the daemon runs
    // When the allocation ends, as known now. May be empty.
    std::function<std::optional<core::WallTime>()> allocation_end;
    // A sentence on a job that is not this daemon's; empty if nothing is known. May be empty itself.
    std::function<std::string(const std::string& job_id)> whose_job;
  };
  explicit ServiceContext(Parts parts);

  core::Engine& engine() const { return *parts_.engine; }
  core::ArrayStore& arrays() const { return parts_.engine->arrays(); }
  const core::TelemetrySampler& telemetry() const { return *parts_.telemetry; }
  DaemonControl& control() const { return *parts_.control; }
  const wire::JobBounds& bounds() const { return parts_.bounds; }
  const wire::ReceiptFacts& facts() const { return parts_.facts; }
  const v1::GetServerInfoResponse& info() const { return parts_.info; }
  std::optional<core::WallTime> allocation_end() const {
    return parts_.allocation_end ? parts_.allocation_end() : std::nullopt;
  }
  // `status` of a call about a job; if there is no such job, with whose it is where that is known.
  absl::Status AboutJob(const absl::Status& status, const std::string& job_id) const;
  // How long the daemon has been there.
  core::nanoseconds age() const { return std::chrono::steady_clock::now() - made_; }
  const std::string& generation() const { return parts_.info.generation(); }
  OpenRunStreams& run_streams() const { return run_streams_; }

  // OK, or why whoever calls is a stranger (UNAUTHENTICATED).
  absl::Status KnowsCaller(const grpc::CallbackServerContext& call) const;

  // The caller, if allowed; touches their session, but for which there may be no room: what leaves something behind in
  // it, a job, an array or a stream, has to ask for that.
  absl::StatusOr<core::Principal> Admit(const grpc::CallbackServerContext& call, core::Scope needed) const;

  // UNAVAILABLE while the daemon drains.
  absl::Status AcceptsJobs() const;

  // Lets `task` run on the files' thread; what it leaves behind is in the engine before the daemon counts as idle.
  // `bytes`: what it holds. RESOURCE_EXHAUSTED names the limit, and it will not run, if too much waits there.
  absl::Status PostForFiles(std::uint64_t bytes, std::function<void()> task) const;

  // RESOURCE_EXHAUSTED, naming the limit and what to do instead, for a message over message-bytes.
  absl::Status CheckSize(std::uint64_t message_bytes) const;
  absl::Status CheckSize(const google::protobuf::Message& message) const { return CheckSize(message.ByteSizeLong()); }

 private:
  const Parts parts_;
  const core::SteadyTime made_ = std::chrono::steady_clock::now();
  mutable FileThread files_;
  mutable OpenRunStreams run_streams_;
};

// The right to hold a stream open, counted by the engine. Move-only; gives it back when destroyed.
class StreamTicket {
 public:
  // RESOURCE_EXHAUSTED names the limit. A Run stream without a job, whose session holds nothing, makes room: its client
  // opens another one when it has a job.
  static absl::StatusOr<StreamTicket> Take(const ServiceContext& context, const core::SessionId& session,
                                           core::SessionUse use);

  StreamTicket(StreamTicket&& other) noexcept;
  StreamTicket& operator=(StreamTicket&&) = delete;
  ~StreamTicket();

 private:
  StreamTicket(const ServiceContext& context, core::SessionId session);

  const ServiceContext* context_;
  core::SessionId session_;
};

}  // namespace hotplate::server
