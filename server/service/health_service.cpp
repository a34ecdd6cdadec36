#include "server/service/health_service.h"

#include <optional>
#include <utility>

#include "kernels/array/quoted.h"
#include "kernels/base/status.h"

namespace hotplate::server {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

constexpr std::size_t kLongestService = 128;

// One call of Watch. Deletes itself when gRPC is done with it.
class HealthService::Watcher final : public grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  Watcher(HealthService& health, std::string service) : health_(health), service_(std::move(service)) {
    MutexLock lock(health_.mutex_);
    health_.watchers_.insert(this);
    TellLocked();
  }

  void TellLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_.mutex_) {
    const Status now = health_.StatusLocked(service_);
    if (writing_ || gone_ || told_ == now) return;
    told_ = now;
    writing_ = true;
    response_.set_status(now);
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) noexcept override {
    MutexLock lock(health_.mutex_);
    writing_ = false;
    gone_ = gone_ || !ok;
    GoOnLocked();
  }

  void OnCancel() noexcept override {
    MutexLock lock(health_.mutex_);
    gone_ = true;
    GoOnLocked();
  }

  void OnDone() noexcept override {
    {
      MutexLock lock(health_.mutex_);
      health_.watchers_.erase(this);
    }
    delete this;
  }

  // For the service itself, whose mutex is the watcher's.
  void TellUnder([[maybe_unused]] HealthService& health) ABSL_EXCLUSIVE_LOCKS_REQUIRED(health.mutex_) {
    health_.mutex_.AssertHeld();
    TellLocked();
  }

 private:
  void GoOnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_.mutex_) {
    if (!gone_) return TellLocked();
    if (writing_ || std::exchange(finished_, true)) return;
    Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
  }

  HealthService& health_;
  const std::string service_;
  HealthCheckResponse response_;  // belongs to whoever set writing_
  std::optional<Status> told_ ABSL_GUARDED_BY(health_.mutex_);
  bool writing_ ABSL_GUARDED_BY(health_.mutex_) = false;
  bool gone_ ABSL_GUARDED_BY(health_.mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(health_.mutex_) = false;
};

HealthService::HealthService(const ServiceContext& context) : ParsedService(context) {
  Unary("Check", &HealthService::Check);
  ServerStream("Watch", &HealthService::Watch);
}

void HealthService::Tell(const std::string& service, bool serving) {
  MutexLock lock(mutex_);
  serving_[service] = serving;
  for (Watcher* watcher : watchers_) watcher->TellUnder(*this);
}

HealthService::Status HealthService::StatusLocked(const std::string& service) const {
  const auto found = serving_.find(service);
  if (found == serving_.end()) return HealthCheckResponse::SERVICE_UNKNOWN;
  return found->second ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* call, const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  absl::Status status = context_.KnowsCaller(*call);
  if (status.ok()) {
    MutexLock lock(mutex_);
    response->set_status(StatusLocked(request->service()));
    if (response->status() == HealthCheckResponse::SERVICE_UNKNOWN) {
      status = absl::NotFoundError(ToAbsl("service is " + Quoted(request->service()) +
                                          "; the health of \"\", the daemon, is known, and of each device, as "
                                          "\"hotplate.device.cpu0\""));
    }
  }
  reactor->Finish(wire::ToGrpc(status));
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(grpc::CallbackServerContext* call,
                                                                    const HealthCheckRequest* request) {
  absl::Status status = context_.KnowsCaller(*call, "Health.Watch");
  // It is kept as long as the call goes on.
  if (status.ok() && request->service().size() > kLongestService) {
    status = InvalidField("service", "service has " + std::to_string(request->service().size()) + " characters; " +
                                         std::to_string(kLongestService) + " at most");
  }
  if (!status.ok()) return new Refusal<grpc::ServerWriteReactor<HealthCheckResponse>>(status);
  return new Watcher(*this, request->service());
}

}  // namespace hotplate::server
