#include "server/service/tokens_service.h"

#include "server/core/jobs/binding.h"
#include "server/service/unary.h"
#include "server/tokens/guest_tokens.h"

namespace hotplate::server {
namespace {

absl::Status CheckDevices(const core::Engine& engine, const v1::TokenLimits& limits) {
  for (const std::string& id : limits.devices()) {
    const auto is_it = [&id](const std::unique_ptr<Device>& device) { return device->info().id == id; };
    if (std::none_of(engine.devices().begin(), engine.devices().end(), is_it))
      return core::NoSuchDevice(engine.devices(), id);
  }
  return absl::OkStatus();
}

void AddUse(const ServiceContext& context, v1::Token& token) {
  token.set_jobs(context.engine().ActiveJobsOf(token.name()));
  token.set_array_bytes(context.arrays().BytesOf(token.name()));
}

}  // namespace

TokensService::TokensService(const ServiceContext& context) : ParsedService(context) {
  Unary("Create", &TokensService::Create);
  Unary("List", &TokensService::List);
  Unary("Revoke", &TokensService::Revoke);
}

grpc::ServerUnaryReactor* TokensService::Create(grpc::CallbackServerContext* call,
                                                const v1::CreateTokenRequest* request,
                                                v1::CreateTokenResponse* response) {
  return AnswerLater(context_, call, core::Scope::kAdmin, &ServiceContext::PostForFiles, *request,
                     CheckDevices(context_.engine(), request->token().limits()), [this, request, response] {
                       absl::StatusOr<v1::Token> token =
                           context_.guests().Create(request->token(), request->full_account());
                       if (!token.ok()) return token.status();
                       *response->mutable_token() = *std::move(token);
                       response->set_generation(context_.generation());
                       return absl::OkStatus();
                     });
}

grpc::ServerUnaryReactor* TokensService::List(grpc::CallbackServerContext* call, const v1::ListTokensRequest* request,
                                              v1::ListTokensResponse* response) {
  return AnswerLater(context_, call, core::Scope::kAdmin, &ServiceContext::PostForFiles, *request, absl::OkStatus(),
                     [this, response] {
                       for (v1::Token& token : context_.guests().List()) {
                         AddUse(context_, token);
                         *response->add_tokens() = std::move(token);
                       }
                       response->set_generation(context_.generation());
                       return absl::OkStatus();
                     });
}

grpc::ServerUnaryReactor* TokensService::Revoke(grpc::CallbackServerContext* call,
                                                const v1::RevokeTokenRequest* request,
                                                v1::RevokeTokenResponse* response) {
  return AnswerLater(context_, call, core::Scope::kAdmin, &ServiceContext::PostForFiles, *request, absl::OkStatus(),
                     [this, request, response] {
                       absl::StatusOr<GuestTokens::Revoked> revoked = context_.guests().Revoke(request->name());
                       if (!revoked.ok()) return revoked.status();
                       AddUse(context_, revoked->token);
                       *response->mutable_token() = std::move(revoked->token);
                       response->set_cancelled_jobs(revoked->cancelled_jobs);
                       response->set_generation(context_.generation());
                       return absl::OkStatus();
                     });
}

}  // namespace hotplate::server
