// A program of a user's, to be run in processes of its own, and how it ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hotplate::server {

struct Program {
  std::string file;                      // an absolute path, which can be executed
  std::vector<std::string> arguments;    // the first is the program's name for itself
  std::vector<std::string> environment;  // NAME=value
  std::string folder;                    // to begin in
  std::uint64_t memory_bytes = 0;        // all its processes together, beyond which they are killed; 0: no limit
  mode_t umask = 077;
  int threads_beside_gpu = 1;  // of the processor, where it gets a lane of a GPU
};

struct ProgramEnd {
  std::optional<int> exit_code, signal;  // one of them, unless it hangs in the kernel
  bool over_memory = false;
  // Of the program and the children that it waited for.
  std::chrono::nanoseconds user{}, system{};
  std::uint64_t peak_bytes = 0;  // resident, of the largest of them
  int left = 0;                  // processes that could not be killed, since they hang in the kernel
};

}  // namespace hotplate::server
