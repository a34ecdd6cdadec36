// hotplate.v1.Catalogue.
#pragma once

#include "hotplate/v1/catalogue.grpc.pb.h"
#include "server/service/context.h"

namespace hotplate::server {

class CatalogueService final : public v1::Catalogue::CallbackService {
 public:
  explicit CatalogueService(const ServiceContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* ListKernels(grpc::CallbackServerContext* call, const v1::ListKernelsRequest* request,
                                        v1::ListKernelsResponse* response) override;
  grpc::ServerUnaryReactor* DescribeKernel(grpc::CallbackServerContext* call, const v1::DescribeKernelRequest* request,
                                           v1::DescribeKernelResponse* response) override;

 private:
  const ServiceContext& context_;
};

}  // namespace hotplate::server
