// hotplate.v1.Catalogue.
#pragma once

#include "hotplate/v1/catalogue.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class CatalogueService final : public ParsedService<v1::Catalogue> {
 public:
  explicit CatalogueService(const ServiceContext& context);

  grpc::ServerUnaryReactor* ListKernels(grpc::CallbackServerContext* call, const v1::ListKernelsRequest* request,
                                        v1::ListKernelsResponse* response) override;
  grpc::ServerUnaryReactor* DescribeKernel(grpc::CallbackServerContext* call, const v1::DescribeKernelRequest* request,
                                           v1::DescribeKernelResponse* response) override;
};

}  // namespace hotplate::server
