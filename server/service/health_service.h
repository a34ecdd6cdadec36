// grpc.health.v1.Health, behind the token like the rest: gRPC's own would ask for none.
#pragma once

#include <map>
#include <set>
#include <string>

#include "grpc/health/v1/health.grpc.pb.h"
#include "kernels/base/mutex.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class HealthService final : public ParsedService<grpc::health::v1::Health> {
 public:
  explicit HealthService(const ServiceContext& context);

  // "" is the daemon as a whole. Watchers are told of changes.
  void Tell(const std::string& service, bool serving);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* call,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* call, const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  class Watcher;
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;

  Status StatusLocked(const std::string& service) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::map<std::string, bool> serving_ ABSL_GUARDED_BY(mutex_);
  std::set<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hotplate::server
