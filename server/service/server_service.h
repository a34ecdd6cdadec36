// hotplate.v1.Server.
#pragma once

#include "hotplate/v1/server.grpc.pb.h"
#include "server/service/context.h"

namespace hotplate::server {

class ServerService final : public v1::Server::CallbackService {
 public:
  explicit ServerService(const ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* call, const v1::GetServerInfoRequest* request,
                                    v1::GetServerInfoResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* call, const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;
  grpc::ServerUnaryReactor* Shutdown(grpc::CallbackServerContext* call, const v1::ShutdownRequest* request,
                                     v1::ShutdownResponse* response) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* call, const v1::CloseSessionRequest* request,
                                         v1::CloseSessionResponse* response) override;

 private:
  const ServiceContext& context_;
};

}  // namespace hotplate::server
