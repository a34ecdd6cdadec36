// hotplate.v1.Telemetry.
#pragma once

#include "hotplate/v1/telemetry.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class TelemetryService final : public ParsedService<v1::Telemetry> {
 public:
  explicit TelemetryService(const ServiceContext& context);

  grpc::ServerUnaryReactor* Snapshot(grpc::CallbackServerContext* call, const v1::TelemetrySnapshotRequest* request,
                                     v1::TelemetrySnapshotResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchTelemetryResponse>* Watch(grpc::CallbackServerContext* call,
                                                              const v1::WatchTelemetryRequest* request) override;
};

}  // namespace hotplate::server
