// The file by which a daemon leaves its warm Pythons to the next one of its name (v1::WarmEnvironments).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/workers/warm_pythons.h"

namespace hotplate::server {

// Waits for the file system. Without anything to leave, there is no file afterwards.
absl::Status LeaveWarm(const std::string& directory, const std::string& name, const WarmPythons& pythons);

// Removes the file, and has the Pythons prepared that the daemon before left; `pythons` null: none. Returns how many.
std::size_t TakeOverWarm(const std::string& directory, const std::string& name, WarmPythons* pythons);

}  // namespace hotplate::server
