// Where login and compute nodes cannot talk directly: the ssh port forward to a daemon, and how to use it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/cli/command.h"
#include "client/cli/settings.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::cli {

struct Forwarding {
  std::string command;   // "ssh -N -L 41233:10.77.0.11:41233 gpu1"
  std::string endpoint;  // "localhost:41233": for --endpoint, while that command runs
};

// Nothing for a daemon on this host, and for one that listens on a socket only.
std::optional<Forwarding> ForwardingFor(const v1::EndpointRecord& record);

// The next step of a connection that failed; empty where no forward would help, or one is in use.
std::string ForwardingAdvice(const Settings& settings);

// `hotplate status --forward`.
absl::Status ShowForwarding(const Invocation& call);

}  // namespace hotplate::cli
