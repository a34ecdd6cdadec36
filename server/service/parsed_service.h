// A service that parses its own requests. gRPC answers a malformed unary request with a bare UNIMPLEMENTED, and takes
// one on a stream for the stream's end: OK, and silence. Here both are INVALID_ARGUMENT.
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/message_allocator.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <new>
#include <string>
#include <string_view>

#include "kernels/base/status.h"
#include "server/service/acts.h"
#include "server/service/context.h"
#include "server/service/message_room.h"
#include "server/service/refusal.h"
#include "server/service/reused_message.h"

namespace hotplate::server {

inline absl::Status NoMemory() {
  return absl::ResourceExhaustedError("the machine has no memory left for this call; try again later");
}

template <typename Message>
absl::Status Parse(const grpc::ByteBuffer& bytes, Message& message) {
  grpc::ByteBuffer copy(bytes);  // of references to the slices
  try {
    if (grpc::SerializationTraits<Message>::Deserialize(&copy, &message).ok()) return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return NoMemory();
  }
  return absl::InvalidArgumentError(ToAbsl("the message of " + std::to_string(bytes.Length()) + " bytes is not a " +
                                           Message::descriptor()->full_name()));
}

// The request and the answer of each unary call in one piece of memory: a tiny job's are some fifty parts, and gRPC
// would allocate and free them one by one. Thread-safe.
template <typename Request, typename Response>
class UnaryMessages final : public grpc::MessageAllocator<grpc::ByteBuffer, Response> {
 public:
  class OneCall final : public grpc::MessageHolder<grpc::ByteBuffer, Response>, public UnaryCall {
   public:
    OneCall() {
      this->set_request(&bytes_);
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&memory_.arena));
      request_ = google::protobuf::Arena::CreateMessage<Request>(&memory_.arena);
    }
    void Release() override { delete this; }
    absl::StatusOr<const Request*> Parsed(const ServiceContext& context, const grpc::CallbackServerContext& call) {
      if (absl::Status refused = context.TakeRoom(call, bytes_.Length(), place_); !refused.ok()) return refused;
      if (absl::Status status = Parse(bytes_, *request_); !status.ok()) return status;
      bytes_.Clear();
      asked = request_;
      answer = this->response();
      return request_;
    }

   private:
    MessageRoom::Place place_;
    ArenaWithBlock memory_;
    grpc::ByteBuffer bytes_;
    Request* request_;
  };

  grpc::MessageHolder<grpc::ByteBuffer, Response>* AllocateMessages() override { return new OneCall; }
};

// `Generated`: the class of the service that is made from the .proto; `Base`: which of its servers.
template <typename Generated, typename Base = typename Generated::CallbackService>
class ParsedService : public Base {
 protected:
  explicit ParsedService(const ServiceContext& context) : context_(context) {}

  // To be called once for each method, with its name in the .proto. The request lives until the call is finished.
  template <typename Self, typename Request, typename Response>
  void Unary(const char* name,
             grpc::ServerUnaryReactor* (Self::*method)(grpc::CallbackServerContext*, const Request*, Response*)) {
    using Messages = UnaryMessages<Request, Response>;
    static Messages messages;  // without a state
    const google::protobuf::MethodDescriptor* const described = MethodOf(name);
    auto* handler = new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, Response>(
        [this, method, described](grpc::CallbackServerContext* call, const grpc::ByteBuffer*,
                                  Response* response) -> grpc::ServerUnaryReactor* {
          auto& mine = static_cast<typename Messages::OneCall&>(*call->GetRpcAllocatorState());
          mine.method = described;
          const absl::StatusOr<const Request*> request = mine.Parsed(context_, *call);
          if (!request.ok()) return Malformed<grpc::ServerUnaryReactor>(call, request.status());
          return (static_cast<Self*>(this)->*method)(call, *request, response);
        });
    handler->SetMessageAllocator(&messages);
    this->MarkMethodRawCallback(described->index(), handler);
  }

  // The same of a method that answers with a stream. The request lives as long as `method` runs.
  template <typename Self, typename Request, typename Response>
  void ServerStream(const char* name,
                    grpc::ServerWriteReactor<Response>* (Self::*method)(grpc::CallbackServerContext*, const Request*)) {
    const google::protobuf::MethodDescriptor* const described = MethodOf(name);
    auto* handler = new grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, Response>(
        [this, method, described](grpc::CallbackServerContext* call,
                                  const grpc::ByteBuffer* bytes) -> grpc::ServerWriteReactor<Response>* {
          using Reactor = grpc::ServerWriteReactor<Response>;
          Request request;
          const absl::Status status = Parse(*bytes, request);
          if (!status.ok()) return Malformed<Reactor>(call, status, ShortName(*described));
          return (static_cast<Self*>(this)->*method)(call, &request);
        });
    this->MarkMethodRawCallback(described->index(), handler);
  }

  // For a method whose handler parses its messages.
  template <typename Response>
  void BidiStream(
      const char* name,
      std::function<grpc::ServerBidiReactor<grpc::ByteBuffer, Response>*(grpc::CallbackServerContext*)> method) {
    this->MarkMethodRawCallback(MethodOf(name)->index(),
                                new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, Response>(std::move(method)));
  }

  const ServiceContext& context_;

 private:
  static const google::protobuf::MethodDescriptor* MethodOf(const char* name) {
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    return pool->FindServiceByName(Generated::service_full_name())->FindMethodByName(name);
  }

  // Callers without a token get that error first.
  template <typename Reactor>
  Reactor* Malformed(grpc::CallbackServerContext* call, const absl::Status& malformed,
                     std::string_view stream = "") const {
    const absl::Status known = context_.KnowsCaller(*call, stream);
    return new Refusal<Reactor>(known.ok() ? malformed : known);
  }
};

}  // namespace hotplate::server
