// hotplated(1), from the same table as --help.
#pragma once

#include <string>

namespace hotplate::server {

std::string ManualPage();

}  // namespace hotplate::server
