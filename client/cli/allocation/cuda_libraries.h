// Whether what a profile loads fits the CUDA plug-ins that lie beside the daemon: said before a job waits in the queue.
#pragma once

#include <string>

#include "client/cli/settings.h"
#include "client/cli/sites/site.h"

namespace hotplate::cli {

// The kernels that call CUDA's libraries find these in the module that is loaded, and they must be of the plug-in's
// major version. One sentence with what to do where they will not be found as far as can be known from here; empty
// otherwise, and where `program` (hotplated) is not to be seen from here.
std::string CudaLibrariesText(const Site& site, const std::string& program, const Environment& environment);

}  // namespace hotplate::cli
