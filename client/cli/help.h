// Help for people, from the same data that parses the command line.
#pragma once

#include <string>
#include <vector>

#include "client/cli/command.h"

namespace hotplate::cli {

// All commands with their summaries.
std::string HelpOverview();
// One command; for run and submit with the parameters of the kernel that `words` name, if they name one.
std::string HelpFor(const Command& command, const std::vector<std::string>& words);
// "hotplate run KERNEL [INPUT…] [OPTIONS]"
std::string UsageLine(const Command& command);

// The manual page hotplate(1), in man's macros.
std::string ManualPage();

}  // namespace hotplate::cli
