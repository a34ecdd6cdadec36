// hotplate.v1.Arrays. Write and Read use raw messages, so that bytes go straight to and from arrays
// (proto/codec/chunk.h).
#pragma once

#include "hotplate/v1/arrays.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class ArraysService final
    : public ParsedService<v1::Arrays,
                           v1::Arrays::WithRawCallbackMethod_Write<
                               v1::Arrays::WithRawCallbackMethod_Read<v1::Arrays::WithCallbackMethod_Create<
                                   v1::Arrays::WithCallbackMethod_Describe<v1::Arrays::WithCallbackMethod_List<
                                       v1::Arrays::WithCallbackMethod_Free<v1::Arrays::WithCallbackMethod_Renew<
                                           v1::Arrays::WithCallbackMethod_Save<v1::Arrays::Service>>>>>>>>> {
 public:
  explicit ArraysService(const ServiceContext& context);

  grpc::ServerUnaryReactor* Create(grpc::CallbackServerContext* call, const v1::CreateArrayRequest* request,
                                   v1::CreateArrayResponse* response) override;
  grpc::ServerReadReactor<grpc::ByteBuffer>* Write(grpc::CallbackServerContext* call,
                                                   grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Read(grpc::CallbackServerContext* call,
                                                   const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* call, const v1::DescribeArrayRequest* request,
                                     v1::DescribeArrayResponse* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* call, const v1::ListArraysRequest* request,
                                 v1::ListArraysResponse* response) override;
  grpc::ServerUnaryReactor* Free(grpc::CallbackServerContext* call, const v1::FreeArrayRequest* request,
                                 v1::FreeArrayResponse* response) override;
  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* call, const v1::RenewArrayRequest* request,
                                  v1::RenewArrayResponse* response) override;
  grpc::ServerUnaryReactor* Save(grpc::CallbackServerContext* call, const v1::SaveArrayRequest* request,
                                 v1::SaveArrayResponse* response) override;
};

}  // namespace hotplate::server
