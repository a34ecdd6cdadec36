// Runs another program and takes what it says: no shell, a time limit, bounded output.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::server {

struct ProgramLimits {
  std::chrono::nanoseconds timeout = std::chrono::seconds(20);
  std::size_t output_bytes = 64 << 10;  // of each of its two outputs
};

struct ProgramEnd {
  int exit_status = 0;  // 128 + N: by signal N
  std::string output, errors;
};

// `words[0]` is looked for in PATH; `environment` ("NAME=value") is all that the program sees of one. It gets no input,
// and a process group of its own, which is killed whole when the time is over, the output too long, or `give_up` (asked
// ten times a second) says so. Waits on the calling thread. NOT_FOUND: there is no such program. DEADLINE_EXCEEDED,
// RESOURCE_EXHAUSTED, CANCELLED: it was killed.
absl::StatusOr<ProgramEnd> RunProgram(const std::vector<std::string>& words,
                                      const std::vector<std::string>& environment, const ProgramLimits& limits,
                                      const std::function<bool()>& give_up);

}  // namespace hotplate::server
