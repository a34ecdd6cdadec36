#include "client/cli/daemon_catalogue.h"

#include "client/cli/catalogue.h"

namespace hotplate::cli {

std::vector<v1::KernelSpec> KernelsThatApply(const Invocation& call) {
  client::ConnectOptions options;
  options.server = call.settings.server;
  options.endpoint = call.settings.endpoint;
  options.directory = call.settings.directory;
  options.contact = false;  // the question itself is the first contact
  options.connect_timeout = std::chrono::seconds(2);
  options.deadline = std::chrono::seconds(2);
  options.retries = 0;
  auto client = client::Client::Connect(options);
  if (client.ok())
    if (auto kernels = client->Kernels(); kernels.ok()) return *std::move(kernels);
  return EmbeddedKernels();
}

}  // namespace hotplate::cli
