// The lock by which a daemon holds its name: a file in HOTPLATE_DIR, whose lock ends with its process, on any node.
#pragma once

#include <string>

namespace hotplate::codec {

std::string NameLockFile(const std::string& directory, const std::string& name);

// Whether no daemon has this name, or is starting or ending with it. False if unknown.
bool IsNameFree(const std::string& directory, const std::string& name);

}  // namespace hotplate::codec
