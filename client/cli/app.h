// The whole program behind main: finds the verb, reads its words, runs it, and tells how it ended.
#pragma once

#include <string>
#include <vector>

#include "client/cli/settings.h"
#include "client/cli/terminal/console.h"

namespace hotplate::cli {

inline constexpr char kVersion[] = HOTPLATE_VERSION;

// A warning about a daemon of another version; empty if it is this program's.
std::string SkewText(const std::string& daemon, const std::string& version);

// `words` without the program's own name. Returns the exit code.
int RunHotplate(const std::vector<std::string>& words, Console console, const Environment& environment);

}  // namespace hotplate::cli
