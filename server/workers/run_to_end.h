// A program of the owner's that only answers a question, such as an interpreter that is asked for its version.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "server/workers/supervisor.h"

namespace hotplate::server {

struct EndedProgram {
  ProgramEnd end;
  std::string out, err;  // the first kLongestAnswer bytes of each

  static constexpr std::size_t kLongestAnswer = std::size_t{4} << 20;
};

// Runs it to its end, with nothing on its standard input; what it leaves behind is killed. Waits on the calling thread.
// DEADLINE_EXCEEDED: it was ended after `timeout`; the message has its last words. CANCELLED: `give_up` said so. Else
// refuses as Supervisor::Start.
absl::StatusOr<EndedProgram> RunToEnd(Supervisor& supervisor, const Program& program, std::chrono::milliseconds timeout,
                                      const std::function<bool()>& give_up);

// The last line of a text that is not empty, without blanks around it; shortened.
std::string LastLineOf(const std::string& text);

}  // namespace hotplate::server
