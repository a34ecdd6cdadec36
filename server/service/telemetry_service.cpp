#include "server/service/telemetry_service.h"

#include <grpcpp/alarm.h>

#include <memory>
#include <optional>
#include <utility>

#include "kernels/base/mutex.h"
#include "kernels/base/status.h"
#include "server/service/refusal.h"
#include "server/service/unary.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

using TelemetryReactor = grpc::ServerWriteReactor<v1::WatchTelemetryResponse>;
using std::chrono::milliseconds;

constexpr milliseconds kShortestInterval{100}, kLongestInterval{60'000}, kDefault{1'000};

// Writes the newest sample at each alarm, unless it was already written (samples are late on a busy machine) or the
// last write is still under way. Deletes itself when gRPC is done with it; Finish is called when no alarm or write is
// pending.
class TelemetryStream final : public TelemetryReactor {
 public:
  TelemetryStream(const ServiceContext& context, core::Principal who, StreamTicket ticket, core::nanoseconds interval)
      : context_(context), who_(std::move(who)), ticket_(std::move(ticket)), interval_(interval) {
    Tick(true);
  }

  void OnWriteDone(bool ok) noexcept override {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) Stop();
    FinishIfIdle(lock);
  }

  void OnCancel() noexcept override {
    MutexLock lock(mutex_);
    Stop();
    FinishIfIdle(lock);
  }

  void OnDone() noexcept override { delete this; }

 private:
  void Tick(bool ok) {
    MutexLock lock(mutex_);
    alarm_set_ = false;
    if (!ok || context_.IsOver(who_)) stopped_ = true;
    if (stopped_) return FinishIfIdle(lock);
    const bool write = !std::exchange(writing_, true);
    alarm_set_ = true;
    // A new one each time: this function may be running as the old one's.
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(std::chrono::system_clock::now() + interval_, [this](bool fired) { Tick(fired); });
    lock.Unlock();
    if (!write) return;
    const core::TelemetrySample newest = context_.telemetry().Newest();
    if (std::exchange(written_, newest.time) == newest.time) {
      lock.Lock();
      writing_ = false;
      return FinishIfIdle(lock);
    }
    response_.Clear();
    wire::ToProto(newest, *response_.mutable_sample());
    response_.set_generation(context_.generation());
    StartWrite(&response_);
  }

  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    stopped_ = true;
    if (alarm_set_) alarm_->Cancel();
  }

  // Releases the lock if it finishes, which the analysis cannot follow.
  void FinishIfIdle(MutexLock& lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (!stopped_ || writing_ || alarm_set_ || std::exchange(finished_, true)) return;
    lock.Unlock();
    if (context_.IsOver(who_)) return Finish(wire::ToGrpc(core::EndedToken(who_.token)));
    Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
  }

  const ServiceContext& context_;
  const core::Principal who_;
  const StreamTicket ticket_;
  const core::nanoseconds interval_;
  // Owned by the thread that set writing_.
  v1::WatchTelemetryResponse response_;
  std::optional<core::WallTime> written_;

  Mutex mutex_;
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);
  bool alarm_set_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<TelemetryReactor*> Open(const ServiceContext& context, grpc::CallbackServerContext* call,
                                       const v1::WatchTelemetryRequest& request) {
  const absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kObserve, "Telemetry.Watch");
  if (!who.ok()) return who.status();
  core::nanoseconds interval = kDefault;
  if (request.has_interval()) {
    const absl::StatusOr<core::nanoseconds> given = wire::PositiveDuration(request.interval(), "interval");
    if (!given.ok()) return given.status();
    if (*given < kShortestInterval || *given > kLongestInterval) {
      return InvalidField("interval", "interval is " + std::to_string(given->count() / 1'000'000) +
                                          " ms; it must be from 100 ms to 60 s");
    }
    interval = *given;
  }
  absl::StatusOr<StreamTicket> ticket = StreamTicket::Take(context, who->session, core::SessionUse::kLooks);
  if (!ticket.ok()) return ticket.status();
  return new TelemetryStream(context, *who, *std::move(ticket), interval);
}

}  // namespace

TelemetryService::TelemetryService(const ServiceContext& context) : ParsedService(context) {
  Unary("Snapshot", &TelemetryService::Snapshot);
  ServerStream("Watch", &TelemetryService::Watch);
}

grpc::ServerUnaryReactor* TelemetryService::Snapshot(grpc::CallbackServerContext* call,
                                                     const v1::TelemetrySnapshotRequest* request,
                                                     v1::TelemetrySnapshotResponse* response) {
  return AnswerNow(context_, call, core::Scope::kObserve, [&](const core::Principal&) {
    if (request->history() <= 1) {
      wire::ToProto(context_.telemetry().Newest(), *response->add_samples());
    } else {
      const std::size_t count = std::min<std::size_t>(request->history(), core::TelemetrySampler::kRingSize);
      for (const core::TelemetrySample& sample : context_.telemetry().History(count)) {
        wire::ToProto(sample, *response->add_samples());
      }
    }
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::WatchTelemetryResponse>* TelemetryService::Watch(
    grpc::CallbackServerContext* call, const v1::WatchTelemetryRequest* request) {
  const absl::StatusOr<TelemetryReactor*> stream = Open(context_, call, *request);
  if (!stream.ok()) return new Refusal<TelemetryReactor>(stream.status());
  return *stream;
}

}  // namespace hotplate::server
