// How a unary call is answered: at once, or by another thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <utility>

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

// The same on another thread, to which `post` brings it. `refusal`: why a caller that is admitted is refused, if that
// is known.
template <typename Answer>
grpc::ServerUnaryReactor* AnswerLater(const ServiceContext& context, grpc::CallbackServerContext* call,
                                      core::Scope needed, ServiceContext::Post post,
                                      const google::protobuf::Message& request, absl::Status refusal, Answer&& answer) {
  grpc::ServerUnaryReactor* const reactor = call->DefaultReactor();
  absl::Status status = context.Admit(*call, needed).status();
  if (status.ok()) status = std::move(refusal);
  if (status.ok()) {
    status = (context.*post)(request.ByteSizeLong(), [reactor, answer = std::forward<Answer>(answer)] {
      reactor->Finish(wire::ToGrpc(answer()));
    });
  }
  if (!status.ok()) reactor->Finish(wire::ToGrpc(status));
  return reactor;
}

}  // namespace hotplate::server
