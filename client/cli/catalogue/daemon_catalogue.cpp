#include "client/cli/catalogue/daemon_catalogue.h"

#include "client/cli/catalogue/catalogue.h"

namespace hotplate::cli {

absl::StatusOr<client::Client> ConnectBriefly(const Invocation& call) {
  client::ConnectOptions options;
  options.server = call.settings.server;
  options.endpoint = call.settings.endpoint;
  options.directory = call.settings.directory;
  options.contact = false;  // the question itself is the first contact
  options.connect_timeout = std::chrono::seconds(2);
  options.deadline = std::chrono::seconds(2);
  options.retries = 0;
  return client::Client::Connect(options);
}

std::vector<v1::KernelSpec> KernelsThatApply(const Invocation& call) {
  auto client = ConnectBriefly(call);
  if (client.ok())
    if (auto kernels = client->Kernels(); kernels.ok()) return *std::move(kernels);
  return EmbeddedKernels();
}

}  // namespace hotplate::cli
