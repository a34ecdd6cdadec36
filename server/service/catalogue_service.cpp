#include "server/service/catalogue_service.h"

#include "kernels/base/status.h"
#include "server/service/unary.h"
#include "server/wire/catalogue.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

v1::KernelSpec Described(const KernelSpec& spec, const core::Engine& engine) {
  v1::KernelSpec described = wire::ToProto(spec);
  for (const std::unique_ptr<Device>& device : engine.devices()) {
    const absl::Status offered = device->Offers(spec.name());
    if (offered.ok()) continue;
    described.add_unavailable(device->info().id + " cannot run " + spec.name() + ": " +
                              std::string(ToStd(offered.message())));
  }
  return described;
}

}  // namespace

CatalogueService::CatalogueService(const ServiceContext& context) : ParsedService(context) {
  Unary("ListKernels", &CatalogueService::ListKernels);
  Unary("DescribeKernel", &CatalogueService::DescribeKernel);
}

grpc::ServerUnaryReactor* CatalogueService::ListKernels(grpc::CallbackServerContext* call,
                                                        const v1::ListKernelsRequest*,
                                                        v1::ListKernelsResponse* response) {
  return AnswerNow(context_, call, core::Scope::kObserve, [&](const core::Principal& who) {
    const std::shared_ptr<const Catalog> catalog = context_.engine().CatalogFor(who);
    for (const SharedSpec& spec : catalog->specs()) *response->add_kernels() = Described(*spec, context_.engine());
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* CatalogueService::DescribeKernel(grpc::CallbackServerContext* call,
                                                           const v1::DescribeKernelRequest* request,
                                                           v1::DescribeKernelResponse* response) {
  return AnswerNow(context_, call, core::Scope::kObserve, [&](const core::Principal& who) -> absl::Status {
    const absl::StatusOr<SharedSpec> spec = context_.engine().CatalogFor(who)->Find(request->kernel().substr(0, 128));
    if (!spec.ok()) return spec.status();
    *response->mutable_kernel() = Described(**spec, context_.engine());
    response->set_generation(context_.generation());
    return absl::OkStatus();
  });
}

}  // namespace hotplate::server
