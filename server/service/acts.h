// How calls get into the audit log. Calls that are not admitted: ServiceContext::Admit tells. Unary calls: AnswerNow
// and its kin (unary.h) tell as they answer, by one table of the methods that change something or hand data out
// (acts.cpp). Streams, and the jobs of Run and Execute: each tells itself.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/server_callback.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/programs.pb.h"
#include "server/core/types.h"

namespace hotplate::server {

class ServiceContext;

// Kept with a unary call's messages (parsed_service.h): gRPC's context of a call does not tell its method.
struct UnaryCall {
  const google::protobuf::MethodDescriptor* method = nullptr;
  const google::protobuf::Message* asked = nullptr;  // null: it could not be parsed
  const google::protobuf::Message* answer = nullptr;
};

// "Jobs.Cancel"
std::string ShortName(const google::protobuf::MethodDescriptor& method);

// The act that a unary call of the method is by the table; empty: none.
std::string_view ActOf(const google::protobuf::MethodDescriptor& method);

// The caller's address; empty if there is no audit log.
std::string PeerFor(const ServiceContext& context, const grpc::CallbackServerContext& call);

// A unary call that was admitted, just before its answer goes out.
void NoteCall(const ServiceContext& context, grpc::CallbackServerContext& call, const std::string& token,
              const absl::Status& answer);

// A call that was not, if it lacked a token or a right. `stream`: the method, unless the call is unary.
void NoteRefused(const ServiceContext& context, grpc::CallbackServerContext& call, const std::string& token,
                 std::string_view stream, const absl::Status& why);

// The label, else the kind.
std::string_view NameOfProgram(const v1::Program& program);

// A stream's own, once.
void NoteAct(const ServiceContext& context, std::string_view act, const core::Principal& who, std::string_view peer,
             std::string_view object, std::string_view name, const absl::Status& result);

// A job of Run or Execute, once it is accepted or refused.
void CountRun(const ServiceContext& context, const core::Principal& who, std::string_view peer, const v1::JobSpec& job,
              const absl::Status& accepted);

}  // namespace hotplate::server
