// One connection and one session: the metadata, deadlines, retries and statuses that all calls share.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/lib/awake_wait.h"
#include "client/lib/client.h"
#include "client/lib/endpoint.h"
#include "client/lib/wire.h"
#include "hotplate/v1/arrays.grpc.pb.h"
#include "hotplate/v1/catalogue.grpc.pb.h"
#include "hotplate/v1/jobs.grpc.pb.h"
#include "hotplate/v1/programs.grpc.pb.h"
#include "hotplate/v1/server.grpc.pb.h"
#include "hotplate/v1/telemetry.grpc.pb.h"
#include "hotplate/v1/tokens.grpc.pb.h"
#include "kernels/base/mutex.h"

namespace hotplate::client {

// The longest time that a wait goes without calling JobOptions::on_wait.
inline constexpr std::chrono::milliseconds kLook(50);
using OnWait = std::function<bool()>;

struct Cancellation::State {
  std::stop_source source;
};

// gRPC's alarms and deadlines are read off the system's clock.
std::chrono::system_clock::time_point OnSystemClock(Clock::time_point time);

// Waits between attempts: doubles from 50 ms to 1 s, with jitter so that many clients do not come back together.
class Backoff {
 public:
  nanoseconds Next();
  void Reset() { attempt_ = 0; }
  bool fresh() const { return attempt_ == 0; }

 private:
  int attempt_ = 0;
};

// False when it was stopped before the time was over.
bool SleepFor(nanoseconds duration, const std::stop_token& stop);

// Cancels a call when a stop is asked for, for as long as it lives.
class CancelOnStop {
 public:
  CancelOnStop(const std::stop_token& stop, grpc::ClientContext& context)
      : callback_(stop, [&context] { context.TryCancel(); }) {}

 private:
  std::stop_callback<std::function<void()>> callback_;
};

// kAnew: only by another start of the daemon, which knows nothing of what the one before may have done.
enum class Repeat { kNever, kAnew, kSafe };

struct CallRules {
  Repeat repeat = Repeat::kSafe;
  // Per attempt; nullopt: the connection's deadline.
  std::optional<nanoseconds> deadline = std::nullopt;
  bool no_deadline = false;
  // For all attempts together.
  Deadline until = std::nullopt;
  std::stop_token stop = {};
};

// One start of the daemon, by its record, and the way to it.
struct Target {
  Target(FoundRecord the_record, std::shared_ptr<grpc::Channel> the_channel);

  const FoundRecord found;
  const std::shared_ptr<grpc::Channel> channel;
  const std::string authorization;
  const std::unique_ptr<v1::Catalogue::Stub> catalogue;
  const std::unique_ptr<v1::Arrays::Stub> arrays;
  const std::unique_ptr<v1::Jobs::Stub> jobs;
  const std::unique_ptr<v1::Programs::Stub> programs;
  const std::unique_ptr<v1::Telemetry::Stub> telemetry;
  const std::unique_ptr<v1::Server::Stub> server;
  const std::unique_ptr<v1::Tokens::Stub> tokens;
  const std::unique_ptr<grpc::GenericStub> generic;
  std::atomic<bool> connected{false};  // once
};

// To one daemon, by its name: where it was started anew, the connection goes over to the new start, which Translate
// finds out after a loss. What is of the old one stays valid, and answers nobody.
class Connection {
 public:
  Connection(FoundRecord found, ConnectOptions options, std::shared_ptr<grpc::Channel> channel);

  // The present start. Each attempt takes it once, for its metadata, its stub and its status.
  Target& now() const { return *now_; }
  // How often the connection has gone over to another.
  std::size_t moves() const { return moves_; }

  // Token, session and version; to be called once on each context.
  void Authorize(const Target& target, grpc::ClientContext& context) const;

  // A gRPC status in the library's words: which daemon did not answer, whose certificate is wrong. After a loss, looks
  // whether the daemon was started anew.
  absl::Status Translate(Target& target, const grpc::Status& status) const;

  // Waits before another attempt. The channel keeps connecting meanwhile, which gRPC only does while somebody waits for
  // it. False if it was stopped; `on_wait` can end it only by that.
  bool Pause(nanoseconds duration, const std::stop_token& stop, const OnWait& on_wait = nullptr) const;
  grpc::Channel& channel() const { return *now().channel; }

  // True if the daemon may still be there although no connection could be made: the network may be down. Reads the
  // record, which takes time on a network file system.
  bool MayComeBack(Target& target, const grpc::Status& status) const;

  // A unary method as a call on its own queue, on which the library can wait its own way.
  template <typename Stub, typename Request, typename Response>
  using Method = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Stub::*)(grpc::ClientContext*,
                                                                                      const Request&,
                                                                                      grpc::CompletionQueue*);

  template <typename Stub>
  using StubOf = const std::unique_ptr<Stub> Target::*;

  // Makes one attempt, whatever `rules` allow.
  template <typename Stub, typename Request, typename Response>
  grpc::Status CallOnce(const Target& target, StubOf<Stub> stub, Method<Stub, Request, Response> method,
                        const Request& request, Response& response, const CallRules& rules = {}) const {
    if (request.ByteSizeLong() > kLargestMessage) return TooLarge();
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    SetUp(target, context, rules);
    const CancelOnStop cancel(rules.stop, context);
    const auto call = ((*(target.*stub)).*method)(&context, request, &queue);
    call->StartCall();
    grpc::Status status;
    call->Finish(&response, &status, nullptr);
    const bool answered = Await(queue) || !status.ok();
    if (WasDropped(status) && !rules.stop.stop_requested()) return Dropped();
    return answered ? status : Unreadable();
  }

  template <typename Stub, typename Request, typename Response>
  absl::Status Call(StubOf<Stub> stub, Method<Stub, Request, Response> method, const Request& request,
                    Response& response, const CallRules& rules = {}) const {
    Repeats repeats{.moves = moves()};
    while (true) {
      Target& target = now();
      const absl::Status status = Translate(target, CallOnce(target, stub, method, request, response, rules));
      if (repeats.told && !ConnectionLost(status)) options_.on_connection(absl::OkStatus());
      if (status.ok() || !MayRepeat(status, rules, repeats)) return status;
      response.Clear();
    }
  }

  const FoundRecord& found() const { return now().found; }
  const ConnectOptions& options() const { return options_; }
  const std::string& session() const { return options_.session; }
  RequestIds& request_ids() const { return request_ids_; }

 private:
  // Protobuf's own limit; gRPC ends the process where a call on a queue goes beyond it.
  static constexpr std::size_t kLargestMessage = std::numeric_limits<int>::max();
  static grpc::Status TooLarge();
  // A call that nobody here cancelled, and not the daemon's service either: its gRPC, as it ended.
  static bool WasDropped(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::CANCELLED && status.error_message() == "CANCELLED" &&
           status.error_details().empty();
  }
  static grpc::Status Dropped();
  static grpc::Status Unreadable();

  // True if the peer hung up and there was never a connection: a daemon does so with a foreign client certificate,
  // which in TLS 1.3 it sees only after the client's handshake. Call it with every status, so that it learns of
  // connections.
  static bool IsShutOut(Target& target, const grpc::Status& status);
  void SetUp(const Target& target, grpc::ClientContext& context, const CallRules& rules) const;
  // Goes over to the start of the daemon that has replaced the record; false where none has.
  bool MoveOn() const;
  // Waits for the queue's one event. False if it is a failure. A lone call waits awake if the last one was answered
  // soon; several calls at a time leave the processors to other work.
  bool Await(grpc::CompletionQueue& queue) const;
  // The repetitions of one call.
  struct Repeats {
    std::size_t moves;  // Connection::moves at the last loss
    int attempts = 0;
    Backoff backoff = {};
    Deadline until = {};  // since when the daemon is waited for that follows on the lost one
    bool told = false;    // ConnectOptions::on_connection was called with the loss
  };
  // Waits before it returns true.
  bool MayRepeat(const absl::Status& status, const CallRules& rules, Repeats& repeats) const;

  const ConnectOptions options_;
  mutable Mutex moving_;
  mutable std::vector<std::unique_ptr<Target>> targets_ ABSL_GUARDED_BY(moving_);  // all, since calls may use them
  mutable std::atomic<Target*> now_;
  mutable std::atomic<std::size_t> moves_{0};
  mutable std::atomic<std::size_t> waited_in_vain_{0};  // moves() + 1 when the daemon to follow has not come in time
  mutable RequestIds request_ids_;
  mutable AwakeWaits waits_;
  mutable std::atomic<int> waiting_{0};
};

// The time during which a call that outlives its connection is cut off.
class Outage {
 public:
  explicit Outage(const Connection& connection) : connection_(connection) {}
  // Whether to try again after another attempt has failed. `may_come_back` is Connection::MayComeBack. The time begins
  // with the first failure.
  bool Lasts(bool may_come_back);
  // True once: the loss must now be reported.
  bool ToTell() { return !std::exchange(told_, true); }
  // Call it when the daemon has sent something, or when nobody waits for it any more. True if the loss had been
  // reported.
  bool Over();

 private:
  const Connection& connection_;
  Deadline until_;
  bool told_ = false;
};

// The one rule by which a call on one thread outlives its connection and reports to ConnectOptions::on_connection:
// `retries` attempts in any case, and more for as long as ConnectOptions::reconnect allows while the daemon cannot be
// reached. Attempts that brought something do not count.
class Reconnecting {
 public:
  Reconnecting(const Connection& connection, std::stop_token stop, OnWait on_wait = nullptr)
      : connection_(connection),
        stop_(std::move(stop)),
        on_wait_(std::move(on_wait)),
        outage_(connection),
        moves_(connection.moves()) {}

  // The daemon can be reached. That alone is no reason to try for ever.
  void Reached();
  // The current attempt brought something, news or not.
  void Answered();
  // The current attempt brought the call further.
  void Progressed();
  // Call it after an attempt that lost the connection. True: make another one, the pause is over.
  bool Again(const absl::Status& status, bool may_come_back);

 private:
  void Tell(const absl::Status& news) const;

  const Connection& connection_;
  const std::stop_token stop_;
  const OnWait on_wait_;
  Backoff backoff_;
  Outage outage_;
  std::size_t moves_;  // Connection::moves at the last loss
  int failures_ = 0;
  bool answered_ = false;  // since the last loss
};

}  // namespace hotplate::client
