#include "server/service/acts.h"

#include <google/protobuf/descriptor.h>

#include <cstdlib>
#include <functional>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "hotplate/v1/arrays.pb.h"
#include "hotplate/v1/environments.pb.h"
#include "hotplate/v1/server.pb.h"
#include "hotplate/v1/tokens.pb.h"
#include "server/audit_log.h"
#include "server/log.h"
#include "server/net/peer.h"
#include "server/service/client_certificate.h"
#include "server/service/context.h"

namespace hotplate::server {
namespace {

constexpr std::size_t kLongestNameOfAct = 128;

// AuditLog::Act::object and name.
struct DoneTo {
  std::string object, name;
  bool worth_a_line = true;  // false: the call went well, and neither changed anything nor handed data out
};
using ReadDoneTo =
    std::function<DoneTo(const google::protobuf::Message& request, const google::protobuf::Message& response)>;

// The object is a field of the request.
template <typename Request>
ReadDoneTo Field(const std::string& (Request::*field)() const) {
  return [field](const google::protobuf::Message& request, const google::protobuf::Message&) {
    return DoneTo{(static_cast<const Request&>(request).*field)(), ""};
  };
}

template <typename Request, typename Response, typename Read>
ReadDoneTo Both(Read read) {
  return [read](const google::protobuf::Message& request, const google::protobuf::Message& response) -> DoneTo {
    return read(static_cast<const Request&>(request), static_cast<const Response&>(response));
  };
}

// A job that calls a function has the label that its caller chose.
std::string_view NameOfJob(const v1::JobSpec& job) {
  const std::string& name = job.has_function() && !job.label().empty() ? job.label() : job.kernel();
  return Beginning(name, kLongestNameOfAct);
}

enum class LinesOfAct { kOneEach, kSummed };

struct ActRow {
  const char* method;
  const char* act;
  ReadDoneTo done_to = nullptr;
  LinesOfAct lines = LinesOfAct::kOneEach;
};

// The end of one's own session is no act: a client that just goes away has the same effect.
std::vector<ActRow> ActRows() {
  return {
      {"Jobs.Submit", "submit",
       Both<v1::SubmitJobRequest, v1::SubmitJobResponse>([](const auto& request, const auto& response) {
         return DoneTo{response.job_id(), std::string(NameOfJob(request.job()))};
       })},
      {"Jobs.Cancel", "cancel", Field(&v1::CancelJobRequest::job_id)},
      {"Jobs.FetchResult", "fetch", Field(&v1::FetchResultRequest::job_id)},
      {"Programs.Submit", "submit",
       Both<v1::SubmitProgramRequest, v1::SubmitProgramResponse>([](const auto& request, const auto& response) {
         return DoneTo{response.job_id(), std::string(NameOfProgram(request.program()))};
       })},
      {"Programs.Signal", "signal", Field(&v1::SignalProgramRequest::job_id)},
      // Summed: whoever follows a program asks again and again, mostly for nothing.
      {"Programs.Output", "fetch",
       Both<v1::ProgramOutputRequest, v1::ProgramOutputResponse>([](const auto& request, const auto& response) {
         return DoneTo{std::string(Beginning(request.job_id(), kLongestNameOfAct)), "", response.pieces_size() > 0};
       }),
       LinesOfAct::kSummed},
      // It runs an interpreter of the caller's choice.
      {"Programs.OpenEnvironment", "environment.open",
       Both<v1::OpenEnvironmentRequest, v1::OpenEnvironmentResponse>([](const auto& request, const auto& response) {
         const v1::Program& python = request.python();
         const std::string asked = python.arguments().empty() ? "" : python.arguments(0);
         return DoneTo{python.python_environment(), response.interpreter().empty() ? asked : response.interpreter()};
       })},
      {"Programs.PutFunction", "function.put", Field(&v1::PutFunctionRequest::name)},
      {"Programs.RestartWorkers", "workers.restart"},
      {"Programs.AddEnvironment", "environment.add", Field(&v1::AddEnvironmentRequest::name)},
      {"Programs.RemoveEnvironment", "environment.remove", Field(&v1::RemoveEnvironmentRequest::name)},
      {"Arrays.Create", "put",
       Both<v1::CreateArrayRequest, v1::CreateArrayResponse>([](const auto& request, const auto& response) {
         return DoneTo{response.array().id(), request.name()};
       })},
      {"Arrays.Free", "free", Field(&v1::FreeArrayRequest::array_id)},
      {"Arrays.Renew", "renew", Field(&v1::RenewArrayRequest::array_id)},
      {"Arrays.Save", "save", Field(&v1::SaveArrayRequest::array_id)},
      {"Server.Drain", "drain"},
      {"Server.Shutdown", "shutdown"},
      {"Server.ClearCaches", "cache.clear",
       Both<v1::ClearCachesRequest, v1::ClearCachesResponse>([](const auto& request, const auto&) {
         return DoneTo{absl::StrJoin(request.names(), " "), ""};
       })},
      {"Server.PruneJournal", "journal.prune"},
      {"Tokens.Create", "token.create",
       Both<v1::CreateTokenRequest, v1::CreateTokenResponse>([](const auto& request, const auto&) {
         const std::string& scope = v1::TokenScope_Name(request.token().scope());
         return DoneTo{request.token().name(), absl::AsciiStrToLower(absl::StripPrefix(scope, "TOKEN_SCOPE_"))};
       })},
      {"Tokens.Revoke", "token.revoke", Field(&v1::RevokeTokenRequest::name)},
  };
}

const std::unordered_map<const google::protobuf::MethodDescriptor*, ActRow>& ActTable() {
  static const auto table = [] {
    std::unordered_map<const google::protobuf::MethodDescriptor*, ActRow> rows;
    for (ActRow& row : ActRows()) {
      const auto* method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
          "hotplate.v1." + std::string(row.method));
      if (method == nullptr) std::abort();  // a row names a method that there is not
      rows.emplace(method, std::move(row));
    }
    return rows;
  }();
  return table;
}

const UnaryCall* UnaryCallOf(grpc::CallbackServerContext& call) {
  return dynamic_cast<const UnaryCall*>(call.GetRpcAllocatorState());
}

}  // namespace

std::string_view NameOfProgram(const v1::Program& program) {
  const std::string& name = program.label().empty() ? program.kind() : program.label();
  return name.empty() ? "exec" : Beginning(name, kLongestNameOfAct);
}

std::string ShortName(const google::protobuf::MethodDescriptor& method) {
  return method.service()->name() + "." + method.name();
}

std::string_view ActOf(const google::protobuf::MethodDescriptor& method) {
  const auto found = ActTable().find(&method);
  return found == ActTable().end() ? std::string_view() : found->second.act;
}

std::string PeerFor(const ServiceContext& context, const grpc::CallbackServerContext& call) {
  return context.audit() != nullptr ? AddressIn(call.peer()) : "";
}

void NoteCall(const ServiceContext& context, grpc::CallbackServerContext& call, const std::string& token,
              const absl::Status& answer) {
  const UnaryCall* const unary = context.audit() != nullptr ? UnaryCallOf(call) : nullptr;
  if (unary == nullptr) return;
  const auto found = ActTable().find(unary->method);
  if (found == ActTable().end()) return NoteRefused(context, call, token, "", answer);
  const ActRow& row = found->second;
  const DoneTo done_to = row.done_to ? row.done_to(*unary->asked, *unary->answer) : DoneTo();
  if (answer.ok() && !done_to.worth_a_line) return;
  const std::string peer = PeerFor(context, call);
  const AuditLog::Act act{row.act, token, peer, done_to.object, done_to.name, answer};
  row.lines == LinesOfAct::kSummed ? context.audit()->Count(act) : context.audit()->Note(act);
}

void NoteRefused(const ServiceContext& context, grpc::CallbackServerContext& call, const std::string& token,
                 std::string_view stream, const absl::Status& why) {
  const bool lacks_right = absl::IsUnauthenticated(why) || absl::IsPermissionDenied(why);
  if (context.audit() == nullptr || !lacks_right) return;
  std::string method(stream);
  if (const UnaryCall* const unary = UnaryCallOf(call); unary != nullptr) method = ShortName(*unary->method);
  const std::string peer = PeerFor(context, call), certificate = ClientInCertificate(call);
  context.audit()->Count({"refused", token, peer, method, "", why, certificate});
}

void NoteAct(const ServiceContext& context, std::string_view act, const core::Principal& who, std::string_view peer,
             std::string_view object, std::string_view name, const absl::Status& result) {
  if (context.audit() != nullptr) context.audit()->Note({act, who.token, peer, object, name, result});
}

void CountRun(const ServiceContext& context, const core::Principal& who, std::string_view peer, const v1::JobSpec& job,
              const absl::Status& accepted) {
  if (context.audit() != nullptr) context.audit()->Count({"run", who.token, peer, "", NameOfJob(job), accepted});
}

}  // namespace hotplate::server
