// A program of a user's, to be run in processes of its own, and how it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/types.h"

namespace hotplate::server {

struct TerminalSize {
  std::uint16_t rows = 0, columns = 0;  // 0: not known
};

struct Program {
  std::string file;                              // an absolute path, which can be executed
  std::vector<std::string> arguments;            // the first is the program's name for itself
  std::vector<std::string> environment;          // NAME=value
  std::vector<std::string> task_variables = {};  // HOTPLATE_* of a task of a sweep, NAME=value
  std::string folder;                            // to begin in
  std::uint64_t memory_bytes = 0;  // all its processes together, beyond which they are killed; 0: no limit
  mode_t umask = 077;
  bool strays_end = false;  // what its processes abandon is killed at once, not at its own end
  std::optional<TerminalSize> terminal = std::nullopt;  // its standard streams are one, of this size as it begins
  int threads_beside_gpu = 1;                           // of the processor, where it gets a lane of a GPU
  std::string named_environment = {};                   // its Python environment; empty: none of a name
};

// A program as bytes, for another process of the same hotplated: each string with its length before it.
std::string TextOf(const Program& program);
Program ProgramOf(const std::string& text);

struct ProgramEnd {
  core::ProcessUse use;  // without exit code and signal if it hangs in the kernel
  bool over_memory = false;
  int left = 0;  // processes that could not be killed, since they hang in the kernel
};

}  // namespace hotplate::server
