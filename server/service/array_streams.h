// The streams that carry arrays: one reactor per call; each deletes itself when gRPC is done with it.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "server/service/context.h"

namespace hotplate::server {

grpc::ServerReadReactor<grpc::ByteBuffer>* StartWriteStream(const ServiceContext& context,
                                                            grpc::CallbackServerContext* call,
                                                            grpc::ByteBuffer* response);

grpc::ServerWriteReactor<grpc::ByteBuffer>* StartReadStream(const ServiceContext& context,
                                                            grpc::CallbackServerContext* call,
                                                            const grpc::ByteBuffer* request);

}  // namespace hotplate::server
