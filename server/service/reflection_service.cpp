#include "server/service/reflection_service.h"

#include <set>
#include <utility>

#include "kernels/array/quoted.h"

namespace hotplate::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::FileDescriptorResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;
using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, ServerReflectionResponse>;

void AddWithImports(const FileDescriptor& file, std::set<const FileDescriptor*>& seen, FileDescriptorResponse& files) {
  if (!seen.insert(&file).second) return;
  google::protobuf::FileDescriptorProto described;
  file.CopyTo(&described);
  files.add_file_descriptor_proto(described.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddWithImports(*file.dependency(i), seen, files);
}

void RespondWith(const FileDescriptor* file, const std::string& asked, ServerReflectionResponse& response) {
  if (file == nullptr) {
    response.mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
    response.mutable_error_response()->set_error_message("there is no " + Quoted(asked) + " here");
    return;
  }
  std::set<const FileDescriptor*> seen;
  AddWithImports(*file, seen, *response.mutable_file_descriptor_response());
}

void Respond(const ServerReflectionRequest& request, const std::vector<std::string>& services,
             ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kListServices:
      for (const std::string& name : services) response.mutable_list_services_response()->add_service()->set_name(name);
      return;
    case ServerReflectionRequest::kFileByFilename:
      return RespondWith(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(), response);
    case ServerReflectionRequest::kFileContainingSymbol:
      return RespondWith(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                         request.file_containing_symbol(), response);
    default:
      response.mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
      response.mutable_error_response()->set_error_message("the protocol is proto3 and has no extensions");
  }
}

}  // namespace

// One call: an answer to each request, one after the other. Deletes itself when gRPC is done with it.
class ReflectionService::Stream final : public Reactor {
 public:
  explicit Stream(const std::vector<std::string>& services) : services_(services) { StartRead(&bytes_); }

  void OnReadDone(bool ok) noexcept override {
    if (!ok) return Finish(grpc::Status::OK);
    ServerReflectionRequest request;
    if (absl::Status status = Parse(bytes_, request); !status.ok()) return Finish(wire::ToGrpc(status));
    response_.Clear();
    Respond(request, services_, response_);
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) noexcept override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
    StartRead(&bytes_);
  }

  void OnDone() noexcept override { delete this; }

 private:
  const std::vector<std::string>& services_;
  grpc::ByteBuffer bytes_;
  ServerReflectionResponse response_;
};

ReflectionService::ReflectionService(const ServiceContext& context, std::vector<std::string> services)
    : ParsedService(context), services_(std::move(services)) {
  BidiStream<ServerReflectionResponse>("ServerReflectionInfo", [this](grpc::CallbackServerContext* call) -> Reactor* {
    if (absl::Status status = context_.KnowsCaller(*call, "ServerReflection.ServerReflectionInfo"); !status.ok())
      return new Refusal<Reactor>(status);
    return new Stream(services_);
  });
}

}  // namespace hotplate::server
