// `module load`, run once on the node: what it changes is kept with an environment's name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/environments/environment_changes.h"
#include "server/workers/run_to_end.h"

namespace hotplate::server {

// RunToEnd with its supervisor; a seam for tests.
using ProgramToEnd = std::function<absl::StatusOr<EndedProgram>(const Program& program)>;

struct LoadedModules {
  v1::EnvironmentChanges changes;
  VariableMap variables;  // of the login shell that has loaded them
};

// Loads them in this order in a login shell that has nothing of the daemon's variables but `own` HOME, USER and the
// like: the daemon may have loaded the same modules itself. INVALID_ARGUMENT, with the words of `module`: one of
// them cannot be loaded, or the node has no command `module`.
absl::StatusOr<LoadedModules> LoadModules(const std::vector<std::string>& modules, const VariableMap& own,
                                          const ProgramToEnd& run);

}  // namespace hotplate::server
