// hotplate.v1.Server.
#pragma once

#include "hotplate/v1/server.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class ServerService final : public ParsedService<v1::Server> {
 public:
  explicit ServerService(const ServiceContext& context);

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* call, const v1::GetServerInfoRequest* request,
                                    v1::GetServerInfoResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* call, const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;
  grpc::ServerUnaryReactor* Shutdown(grpc::CallbackServerContext* call, const v1::ShutdownRequest* request,
                                     v1::ShutdownResponse* response) override;
  grpc::ServerUnaryReactor* CloseSession(grpc::CallbackServerContext* call, const v1::CloseSessionRequest* request,
                                         v1::CloseSessionResponse* response) override;
  grpc::ServerUnaryReactor* ListCaches(grpc::CallbackServerContext* call, const v1::ListCachesRequest* request,
                                       v1::ListCachesResponse* response) override;
  grpc::ServerUnaryReactor* ClearCaches(grpc::CallbackServerContext* call, const v1::ClearCachesRequest* request,
                                        v1::ClearCachesResponse* response) override;
  grpc::ServerUnaryReactor* PruneJournal(grpc::CallbackServerContext* call, const v1::PruneJournalRequest* request,
                                         v1::PruneJournalResponse* response) override;
};

}  // namespace hotplate::server
