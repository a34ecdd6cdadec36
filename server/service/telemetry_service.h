// hotplate.v1.Telemetry.
#pragma once

#include "hotplate/v1/telemetry.grpc.pb.h"
#include "server/service/context.h"

namespace hotplate::server {

class TelemetryService final : public v1::Telemetry::CallbackService {
 public:
  explicit TelemetryService(const ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* Snapshot(grpc::CallbackServerContext* call, const v1::TelemetrySnapshotRequest* request,
                                     v1::TelemetrySnapshotResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchTelemetryResponse>* Watch(grpc::CallbackServerContext* call,
                                                              const v1::WatchTelemetryRequest* request) override;

 private:
  const ServiceContext& context_;
};

}  // namespace hotplate::server
