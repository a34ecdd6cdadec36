// How a unary call is answered: at once, or by another thread.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <utility>

#include "server/service/acts.h"
#include "server/service/context.h"
#include "server/wire/status.h"

namespace hotplate::server {

// `answer` fills the response and returns a status: absl::Status(const core::Principal&).
template <typename Answer>
grpc::ServerUnaryReactor* AnswerNow(const ServiceContext& context, grpc::CallbackServerContext* call,
                                    core::Scope needed, Answer&& answer) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const absl::StatusOr<core::Principal> who = context.Admit(*call, needed);
  const absl::Status status = who.ok() ? answer(*who) : who.status();
  if (who.ok()) NoteCall(context, *call, who->token, status);
  reactor->Finish(wire::ToGrpc(status));
  return reactor;
}

// The same of a call that is answered later, on any thread: `start` is given the caller, and a function of a status
// that it has called once; or it returns why that will not be.
template <typename Start>
grpc::ServerUnaryReactor* AnswerWhenDone(const ServiceContext& context, grpc::CallbackServerContext* call,
                                         core::Scope needed, Start&& start) {
  grpc::ServerUnaryReactor* const reactor = call->DefaultReactor();
  const absl::StatusOr<core::Principal> who = context.Admit(*call, needed);
  if (!who.ok()) {
    reactor->Finish(wire::ToGrpc(who.status()));
    return reactor;
  }
  const auto finish = [reactor, &context, call, token = who->token](const absl::Status& status) {
    NoteCall(context, *call, token, status);
    reactor->Finish(wire::ToGrpc(status));
  };
  if (absl::Status refused = start(*who, finish); !refused.ok()) finish(refused);
  return reactor;
}

// The same on another thread, to which `post` brings it. `refusal`: why a caller that is admitted is refused, if that
// is known.
template <typename Answer>
grpc::ServerUnaryReactor* AnswerLater(const ServiceContext& context, grpc::CallbackServerContext* call,
                                      core::Scope needed, ServiceContext::Post post,
                                      const google::protobuf::Message& request, absl::Status refusal, Answer&& answer) {
  return AnswerWhenDone(context, call, needed, [&](const core::Principal&, const auto& finish) {
    if (!refusal.ok()) return refusal;
    return (context.*post)(request.ByteSizeLong(), [finish, answer] { finish(answer()); });
  });
}

}  // namespace hotplate::server
