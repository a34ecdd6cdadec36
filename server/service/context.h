// State shared by all services. Built once by the daemon, immutable; the objects that it refers to are thread-safe and
// outlive it.
//
// The life of a call:
//   1. Admit refuses calls without a good token (auth.h), identifies the principal, checks the method's scope and notes
//      that the session is alive. The audit log is told of refusals there, and of acts when they are answered (acts.h).
//   2. The handler translates the message (wire/), asks the engine or the arrays, and answers. It runs on one of gRPC's
//      few threads and never waits: jobs answer through an observer, and files are opened on FileThread. Tiny jobs
//      compute on it, within the engine's bounds of work and threads, and up to a number for each Run message.
//   3. A stream goes on in its reactor's callbacks. What they throw, for want of memory, gRPC swallows (1.51,
//      CatchingCallback), and the call stands still for as long as its client waits. So they are noexcept: they refuse
//      what needs much memory (NoMemory), and else the daemon ends there, as it does where its own threads throw.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hotplate/v1/server.pb.h"
#include "server/caches.h"
#include "server/core/engine.h"
#include "server/core/run/telemetry.h"
#include "server/durable/durable_jobs.h"
#include "server/environments/jit_caches.h"
#include "server/environments/named_environments.h"
#include "server/service/auth.h"
#include "server/service/failed_calls.h"
#include "server/service/file_thread.h"
#include "server/service/guest_streams.h"
#include "server/service/message_room.h"
#include "server/service/open_run_streams.h"
#include "server/wire/job.h"
#include "server/wire/result.h"
#include "server/workers/call_message.h"
#include "server/workers/function_table.h"
#include "server/workers/supervisor.h"
#include "server/workers/warm_pythons.h"
#include "server/workers/worker_pool.h"

namespace hotplate::server {

class AuditLog;
class GuestTokens;

// Requests by clients to the process itself. Return at once.
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
  // For programs of users. No supervisor: they are refused.
  struct ProgramSettings {
    bool expressions = true;  // whether expressions are run
    Supervisor* supervisor = nullptr;
    NamedEnvironments* environments = nullptr;  // with `supervisor`
    JitCaches jit_caches;
    WarmPythons* pythons = nullptr;      // null: each Python program starts anew, and there are no functions
    FunctionTable* functions = nullptr;  // with `pythons`
    WorkerPool* workers = nullptr;       // with `pythons`
    SegmentCache* segments = nullptr;    // with `pythons`
    mode_t umask = 077;                  // of the owner
    std::uint64_t memory_bytes = 0;      // for the processes of one job together; 0: no limit
  };
  static constexpr std::uint64_t kAnyBytes = std::numeric_limits<std::uint64_t>::max();
  struct Parts {
    core::Engine* engine;
    const core::TelemetrySampler* telemetry;
    std::shared_ptr<const Authenticator> authenticator;
    GuestTokens* guests = nullptr;  // outlives the context
    std::shared_ptr<GuestStreams> guest_streams;
    DaemonControl* control;
    AuditLog* audit = nullptr;  // null: there is none
    wire::JobBounds bounds;     // for callers who are no guests: without an allowance
    wire::ReceiptFacts facts;
    v1::GetServerInfoResponse info;         // everything that does not change while the daemon runs
    std::uint64_t inbox_bytes = kAnyBytes;  // of unary requests that are worked on
    ProgramSettings programs;
    CacheFolders caches;
    DurableJobs* durable = nullptr;  // null: jobs are in memory alone
    // When the allocation ends, as known now. May be empty.
    std::function<std::optional<core::WallTime>()> allocation_end;
    // The bytes that arrays may take where they are saved at the end, if known. May be empty.
    std::function<std::optional<std::uint64_t>()> room_to_save;
    // ArraySaver::SaveNow. May be empty, without `durable`.
    std::function<absl::StatusOr<std::string>(const core::ArraySnapshot& array)> save_array;
    // A sentence on a job that is not this daemon's; empty if nothing is known. May be empty itself.
    std::function<std::string(const std::string& job_id)> whose_job;
  };
  explicit ServiceContext(Parts parts);

  core::Engine& engine() const { return *parts_.engine; }
  core::ArrayStore& arrays() const { return parts_.engine->arrays(); }
  const core::TelemetrySampler& telemetry() const { return *parts_.telemetry; }
  DaemonControl& control() const { return *parts_.control; }
  AuditLog* audit() const { return parts_.audit; }
  // For the jobs of this caller. A guest's have no path but its own root.
  std::shared_ptr<const wire::JobBounds> BoundsFor(const core::Principal& who) const;
  std::uint64_t max_array_bytes() const { return parts_.bounds.max_array_bytes; }
  const wire::ReceiptFacts& facts() const { return parts_.facts; }
  const ProgramSettings& programs() const { return parts_.programs; }
  const CacheFolders& caches() const { return parts_.caches; }
  DurableJobs* durable() const { return parts_.durable; }
  GuestTokens& guests() const { return *parts_.guests; }
  GuestStreams& guest_streams() const { return *parts_.guest_streams; }
  const v1::GetServerInfoResponse& info() const { return parts_.info; }
  std::optional<core::WallTime> allocation_end() const {
    return parts_.allocation_end ? parts_.allocation_end() : std::nullopt;
  }
  std::optional<std::uint64_t> room_to_save() const {
    return parts_.room_to_save ? parts_.room_to_save() : std::nullopt;
  }
  // Saves an array for the next daemon. Calls `done` once, on any thread, with its file. Waits for the file system.
  void SaveArray(const core::ArraySnapshot& array, std::function<void(absl::StatusOr<std::string>)> done) const;
  // Some may have been freed: the next daemon is not to have them.
  void NoteFreedArrays() const;
  // `status` of a call about a job; if the job is not here, says whose it is, or why, as far as that is known.
  // To those who see all jobs: it may be anybody's.
  absl::Status AboutJob(const core::Principal& who, const absl::Status& status, const std::string& job_id) const;
  // The age of the daemon.
  core::nanoseconds age() const { return std::chrono::steady_clock::now() - made_; }
  const std::string& generation() const { return parts_.info.generation(); }
  OpenRunStreams& run_streams() const { return run_streams_; }

  // OK, or the reason why the caller is a stranger (UNAUTHENTICATED). `stream`: "Jobs.Run", for the audit log, which
  // knows the methods of unary calls.
  absl::Status KnowsCaller(grpc::CallbackServerContext& call, std::string_view stream = "") const;

  // Before a unary call's message is unpacked: UNAUTHENTICATED, or RESOURCE_EXHAUSTED where large ones have no room.
  absl::Status TakeRoom(const grpc::CallbackServerContext& call, std::uint64_t bytes, MessageRoom::Place& place) const;

  // The caller's token has ended since: a stream that tells again and again ends, too.
  bool IsOver(const core::Principal& who) const {
    const auto allowance = engine().AllowanceOf(who.token);
    return allowance != nullptr && allowance->is_over(who.serial);
  }

  // The caller, if allowed. Touches the caller's session, which may have no room: calls that leave a job, an array or a
  // stream must ask for that themselves.
  absl::StatusOr<core::Principal> Admit(grpc::CallbackServerContext& call, core::Scope needed,
                                        std::string_view stream = "") const;

  // UNAVAILABLE while the daemon drains.
  absl::Status AcceptsJobs() const;

  // Runs `task` on the files' thread; its effects reach the engine before the daemon counts as idle. `bytes`: its size.
  // RESOURCE_EXHAUSTED names the limit: too much waits there, and the task will not run.
  absl::Status PostForFiles(std::uint64_t bytes, std::function<void()> task) const;
  // The same of a question. One of somebody who may only observe is no use of the daemon, whether there is an answer or
  // not: it may be asked again and again by who has nothing here, and has no effect that idling could lose.
  absl::Status PostQuestion(const core::Principal& who, std::uint64_t bytes, std::function<void()> task) const;

  // The same on a thread for what takes the node's interpreters and modules seconds.
  absl::Status PostForEnvironments(std::uint64_t bytes, std::function<void()> task) const;

  // One of these two.
  using Post = absl::Status (ServiceContext::*)(std::uint64_t bytes, std::function<void()> task) const;

  // RESOURCE_EXHAUSTED, with the limit and the remedy, for a message over message-bytes.
  absl::Status CheckSize(std::uint64_t message_bytes) const;
  absl::Status CheckSize(const google::protobuf::Message& message) const { return CheckSize(message.ByteSizeLong()); }

 private:
  // Admit and KnowsCaller, as far as they find out.
  absl::StatusOr<core::Principal> Identify(const grpc::CallbackServerContext& call, core::Scope needed) const;
  absl::StatusOr<std::shared_ptr<const Token>> FindCaller(const grpc::CallbackServerContext& call) const;
  // RESOURCE_EXHAUSTED: the caller's certificate has come with too many wrong tokens.
  absl::Status MayTry(const grpc::CallbackServerContext& call) const;
  void NoteStranger(grpc::CallbackServerContext& call, std::string_view stream, const absl::Status& why) const;

  const Parts parts_;
  const core::SteadyTime made_ = std::chrono::steady_clock::now();
  static constexpr std::size_t kEnvironmentsAtOnce = 4;  // an interpreter that hangs holds up no other
  mutable FileThread files_, environments_{kEnvironmentsAtOnce};
  mutable OpenRunStreams run_streams_;
  mutable MessageRoom message_room_;
  const core::Clock clock_;
  mutable FailedCalls failed_calls_{clock_};
};

// The right to hold a stream open, counted by the engine. Move-only; gives it back when destroyed.
class StreamTicket {
 public:
  // RESOURCE_EXHAUSTED names the limit. A Run stream without jobs, whose session holds nothing, is closed to make room:
  // its client opens another one for its next job.
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
