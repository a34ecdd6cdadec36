#include "server/service/arrays_service.h"

#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "server/service/array_streams.h"
#include "server/service/unary.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

constexpr std::size_t kLongestName = 128;

// Answers with the array, or with the error.
template <typename Response>
absl::Status Show(const absl::StatusOr<core::ArraySnapshot>& array, const ServiceContext& context, Response& response) {
  if (!array.ok()) return array.status();
  wire::ToProto(*array, *response.mutable_array());
  response.set_generation(context.generation());
  return absl::OkStatus();
}

}  // namespace

ArraysService::ArraysService(const ServiceContext& context) : ParsedService(context) {
  Unary("Create", &ArraysService::Create);
  Unary("Describe", &ArraysService::Describe);
  Unary("List", &ArraysService::List);
  Unary("Free", &ArraysService::Free);
  Unary("Renew", &ArraysService::Renew);
  Unary("Save", &ArraysService::Save);
}

grpc::ServerUnaryReactor* ArraysService::Create(grpc::CallbackServerContext* call,
                                                const v1::CreateArrayRequest* request,
                                                v1::CreateArrayResponse* response) {
  return AnswerNow(context_, call, core::Scope::kSubmit, [&](const core::Principal& who) -> absl::Status {
    // The data would not come any more, and the array to be replaced would be gone.
    if (absl::Status status = context_.AcceptsJobs(); !status.ok()) return status;
    const absl::StatusOr<Signature> signature =
        wire::FromProto(request->signature(), "signature", context_.max_array_bytes());
    if (!signature.ok()) return signature.status();
    if (request->name().size() > kLongestName) {
      return InvalidField("name", "name is " + Quoted(request->name()) + "; at most 128 bytes are possible");
    }
    std::optional<core::nanoseconds> lease;
    if (request->has_lease()) {
      const absl::StatusOr<core::nanoseconds> given = wire::PositiveDuration(request->lease(), "lease");
      if (!given.ok()) return given.status();
      lease = *given;
    }
    if (absl::Status status = context_.engine().CheckDevice(who, request->device()); !status.ok()) return status;
    if (absl::Status status = context_.engine().TouchSession(who.session, 0); !status.ok()) return status;
    return Show(
        context_.arrays().Create(who, *signature, request->name(), lease, request->replace(), request->device()),
        context_, *response);
  });
}

grpc::ServerReadReactor<grpc::ByteBuffer>* ArraysService::Write(grpc::CallbackServerContext* call,
                                                                grpc::ByteBuffer* response) {
  return StartWriteStream(context_, call, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ArraysService::Read(grpc::CallbackServerContext* call,
                                                                const grpc::ByteBuffer* request) {
  return StartReadStream(context_, call, request);
}

grpc::ServerUnaryReactor* ArraysService::Describe(grpc::CallbackServerContext* call,
                                                  const v1::DescribeArrayRequest* request,
                                                  v1::DescribeArrayResponse* response) {
  return AnswerNow(context_, call, core::Scope::kObserve, [&](const core::Principal& who) {
    return Show(context_.arrays().Describe(who, request->array_id().substr(0, kLongestName)), context_, *response);
  });
}

grpc::ServerUnaryReactor* ArraysService::List(grpc::CallbackServerContext* call, const v1::ListArraysRequest*,
                                              v1::ListArraysResponse* response) {
  return AnswerNow(context_, call, core::Scope::kObserve, [&](const core::Principal& who) {
    for (const core::ArraySnapshot& array : context_.arrays().List(who)) wire::ToProto(array, *response->add_arrays());
    response->set_bytes_held(context_.arrays().bytes_held());
    response->set_bytes_limit(context_.arrays().limits().total_bytes);
    response->set_generation(context_.generation());
    wire::ToProto(std::chrono::system_clock::now(), *response->mutable_now());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ArraysService::Free(grpc::CallbackServerContext* call, const v1::FreeArrayRequest* request,
                                              v1::FreeArrayResponse* response) {
  return AnswerNow(context_, call, core::Scope::kSubmit, [&](const core::Principal& who) {
    response->set_generation(context_.generation());
    absl::Status freed = context_.arrays().Free(who, request->array_id().substr(0, kLongestName));
    if (freed.ok()) context_.NoteFreedArrays();
    return freed;
  });
}

grpc::ServerUnaryReactor* ArraysService::Renew(grpc::CallbackServerContext* call, const v1::RenewArrayRequest* request,
                                               v1::RenewArrayResponse* response) {
  return AnswerNow(context_, call, core::Scope::kSubmit, [&](const core::Principal& who) -> absl::Status {
    const absl::StatusOr<core::nanoseconds> lease = wire::PositiveDuration(request->lease(), "lease");
    if (!lease.ok()) return lease.status();
    return Show(context_.arrays().Renew(who, request->array_id().substr(0, kLongestName), *lease), context_, *response);
  });
}

grpc::ServerUnaryReactor* ArraysService::Save(grpc::CallbackServerContext* call, const v1::SaveArrayRequest* request,
                                              v1::SaveArrayResponse* response) {
  return AnswerWhenDone(
      context_, call, core::Scope::kSubmit, [=, this](const core::Principal& who, const auto& finish) {
        return context_.PostForFiles(request->ByteSizeLong(), [=, this] {
          const auto array = context_.arrays().Describe(who, request->array_id().substr(0, kLongestName));
          if (!array.ok()) return finish(array.status());
          context_.SaveArray(*array, [=, this](const absl::StatusOr<std::string>& file) {
            if (file.ok()) response->set_file(*file);
            finish(file.ok() ? Show(array, context_, *response) : file.status());
          });
        });
      });
}

}  // namespace hotplate::server
