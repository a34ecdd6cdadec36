// hotplate.v1.Tokens.
#pragma once

#include "hotplate/v1/tokens.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class TokensService final : public ParsedService<v1::Tokens> {
 public:
  explicit TokensService(const ServiceContext& context);

  grpc::ServerUnaryReactor* Create(grpc::CallbackServerContext* call, const v1::CreateTokenRequest* request,
                                   v1::CreateTokenResponse* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* call, const v1::ListTokensRequest* request,
                                 v1::ListTokensResponse* response) override;
  grpc::ServerUnaryReactor* Revoke(grpc::CallbackServerContext* call, const v1::RevokeTokenRequest* request,
                                   v1::RevokeTokenResponse* response) override;
};

}  // namespace hotplate::server
