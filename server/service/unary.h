// How a unary call is answered at once.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "server/service/context.h"
#include "server/wire/status.h"

namespace hotplate::server {

// `answer` fills the response and returns a status: absl::Status(const core::Principal&).
template <typename Answer>
grpc::ServerUnaryReactor* AnswerNow(const ServiceContext& context, grpc::CallbackServerContext* call,
                                    core::Scope needed, Answer&& answer) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const absl::StatusOr<core::Principal> who = context.Admit(*call, needed);
  reactor->Finish(wire::ToGrpc(who.ok() ? answer(*who) : who.status()));
  return reactor;
}

}  // namespace hotplate::server
