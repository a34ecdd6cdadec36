#include "server/slurm/own_cluster.h"

#include "server/config.h"

namespace hotplate::server {

SlurmCommands OwnCluster(const std::stop_token& stop) {
  return SlurmCommands(
      [](const ProgramCall& call) { return RunProgram(call, Surroundings::OfThisProcess().environment); },
      {.own_cluster = true, .stop = stop});
}

}  // namespace hotplate::server
