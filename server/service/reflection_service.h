// grpc.reflection.v1alpha.ServerReflection, by which grpcurl and the like learn the protocol; behind the token like the
// rest: gRPC's own would ask for none.
#pragma once

#include <string>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/service/parsed_service.h"

namespace hotplate::server {

class ReflectionService final : public ParsedService<grpc::reflection::v1alpha::ServerReflection> {
 public:
  // `services`: the full names of the other services.
  ReflectionService(const ServiceContext& context, std::vector<std::string> services);

 private:
  class Stream;

  const std::vector<std::string> services_;
};

}  // namespace hotplate::server
