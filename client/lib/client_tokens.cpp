// The calls of Client about guests' tokens.
#include "client/lib/impl.h"
#include "hotplate/v1/tokens.grpc.pb.h"

namespace hotplate::client {

absl::StatusOr<v1::CreateTokenResponse> Client::CreateToken(const v1::CreateTokenRequest& request,
                                                            const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::CreateTokenResponse response;
  const absl::Status status = c.Call(&Target::tokens, &v1::Tokens::Stub::PrepareAsyncCreate, request, response,
                                     {.repeat = Repeat::kNever, .stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::ListTokensResponse> Client::ListTokens(const Cancellation* cancellation) {
  const Connection& c = *impl_->connection;
  v1::ListTokensResponse response;
  const absl::Status status = c.Call(&Target::tokens, &v1::Tokens::Stub::PrepareAsyncList, v1::ListTokensRequest(),
                                     response, {.stop = Impl::TokenOf(cancellation)});
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::RevokeTokenResponse> Client::RevokeToken(const std::string& name) {
  const Connection& c = *impl_->connection;
  v1::RevokeTokenRequest request;
  request.set_name(name);
  v1::RevokeTokenResponse response;
  const absl::Status status =
      c.Call(&Target::tokens, &v1::Tokens::Stub::PrepareAsyncRevoke, request, response, {.repeat = Repeat::kNever});
  if (!status.ok()) return status;
  return response;
}

}  // namespace hotplate::client
