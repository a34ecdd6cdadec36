// The request and the answer of one unary call in one piece of memory: a tiny job's are some fifty parts, and gRPC
// would allocate and free them one by one.
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/message_allocator.h>

#include "server/service/reused_message.h"

namespace hotplate::server {

// To be set for a method; must live as long as the server. Thread-safe.
template <typename Request, typename Response>
class ArenaMessages final : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new OneCall; }

 private:
  class OneCall final : public grpc::MessageHolder<Request, Response> {
   public:
    OneCall() {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&memory_.arena));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&memory_.arena));
    }
    void Release() override { delete this; }

   private:
    ArenaWithBlock memory_;
  };
};

}  // namespace hotplate::server
