// The daemon's description of itself: the answer of Server.GetInfo, and the endpoint record.
#pragma once

#include <string>
#include <vector>

#include "hotplate/v1/endpoint.pb.h"
#include "hotplate/v1/server.pb.h"
#include "server/config.h"
#include "server/core/engine.h"
#include "server/slurm/allocation.h"

namespace hotplate::server {

struct SelfFacts {
  const Config& config;
  const Allocation& allocation;
  std::string generation;
  core::WallTime start_time;
};

// All that does not change while the daemon runs.
v1::GetServerInfoResponse DescribeServer(const SelfFacts& facts, core::Engine& engine);

// The kernels of the catalogue that its devices cannot run now: a library may prove to be of no use when the first job
// needs it.
void DescribeUnavailable(const core::Engine& engine, const Catalog& catalog, v1::GetServerInfoResponse& info);

// Everything except certificates and token.
v1::EndpointRecord DescribeEndpoint(const SelfFacts& facts, const std::vector<std::string>& addresses,
                                    std::uint16_t port);

// Where this daemon's arrays are saved.
std::string SavedArraysFolder(const Config& config);

}  // namespace hotplate::server
