// Checks that the modules of a profile fit the CUDA plug-ins beside the daemon, before a job waits in the queue.
#pragma once

#include <string>

#include "client/cli/settings.h"
#include "client/cli/sites/site.h"

namespace hotplate::cli {

// Kernels that call CUDA's libraries find them in the loaded module, which must have the plug-in's major version. One
// sentence with the remedy if, as far as this host can tell, they will not be found. Empty otherwise, or if `program`
// (hotplated) cannot be seen from here.
std::string CudaLibrariesText(const Site& site, const std::string& program, const Environment& environment);

}  // namespace hotplate::cli
