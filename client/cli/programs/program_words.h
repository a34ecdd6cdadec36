// The words of a command that runs a program: Hotplate's own options come first, and all from the program's first word
// on is the program's, whatever it looks like.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cli/command.h"

namespace hotplate::cli {

struct ProgramWords {
  std::string kind;                  // "exec" or "python"
  std::vector<std::string> own;      // Hotplate's
  std::vector<std::string> program;  // the program with its arguments; of python: what goes to the interpreter
};

// Nothing if the command runs no program by these words. Unknown options before a Python script are Python's.
std::optional<ProgramWords> SplitProgram(const Command& command, const std::vector<std::string>& words);

// --device, --label and the like.
const std::vector<OptionSpec>& ProgramOptions();
// The same and the common ones.
std::vector<OptionSpec> AllProgramOptions();

}  // namespace hotplate::cli
