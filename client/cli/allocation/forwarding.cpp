#include "client/cli/allocation/forwarding.h"

#include "client/cli/allocation/records.h"
#include "client/cli/ending.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/output.h"
#include "client/lib/endpoint.h"

namespace hotplate::cli {

std::optional<Forwarding> ForwardingFor(const v1::EndpointRecord& record) {
  for (const v1::Endpoint& endpoint : record.endpoints()) {
    // A node's name goes into a command line that people copy: nothing but a name.
    if (endpoint.port() == 0 || endpoint.node() == HostName() || !client::IsServerName(endpoint.node())) continue;
    const bool six = endpoint.address().find(':') != std::string::npos;
    const std::string port = std::to_string(endpoint.port());
    return Forwarding{"ssh -N -L " + port + ":" + (six ? "[" : "") + endpoint.address() + (six ? "]" : "") + ":" +
                          port + " " + endpoint.node(),
                      "localhost:" + port};
  }
  return std::nullopt;
}

std::string ForwardingAdvice(const Settings& settings) {
  if (!settings.endpoint.empty()) return "";
  const auto found = client::FindRecord(settings.server, settings.directory);
  if (!found.ok()) return "";
  const auto forwarding = ForwardingFor(found->record);
  if (!forwarding) return "";
  return "if its node cannot be reached from here, forward its port: " + forwarding->command +
         "\nand then: hotplate --endpoint " + forwarding->endpoint + " …";
}

absl::Status ShowForwarding(const Invocation& call) {
  const auto found = client::FindRecord(call.settings.server, call.settings.directory);
  if (!found.ok()) return found.status();
  const auto forwarding = ForwardingFor(found->record);
  if (!forwarding)
    return absl::FailedPreconditionError("daemon \"" + found->record.name() +
                                         "\" needs no forward: it runs on this host, or has no port");
  call.output.Answer(
      [&] { return forwarding->command + "\nhotplate --endpoint " + forwarding->endpoint + " …"; },
      [&] { return JsonObject().Text("command", forwarding->command).Text("endpoint", forwarding->endpoint).Json(); },
      forwarding->command);
  return absl::OkStatus();
}

}  // namespace hotplate::cli
