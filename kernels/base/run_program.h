// Another program, run to its end: Slurm's commands, mostly. No shell is involved, so that no word of a user's is ever
// taken for more than a word.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate {

// A process's variables, or what a test has in their place.
using VariableReader = std::function<std::optional<std::string>(const std::string& name)>;

struct ProgramCall {
  std::vector<std::string> words = {};  // the program, as in PATH or with a slash, and its arguments
  std::string input = {};               // its standard input
  std::vector<std::pair<std::string, std::string>> environment = {};  // set on top of this process's own
  // Variables of this process that it does not get; "SQUEUE_*": all that begin so.
  std::vector<std::string> without = {};
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  std::size_t longest_output = std::size_t{1} << 20;  // of each stream; what comes after it is dropped
  // Takes standard output as it comes, all of it, in place of ProgramResult::out. False: no more is wanted.
  std::function<bool(std::string_view)> on_output = {};
  // Asked to stop from another thread.
  std::stop_token stop = {};
};

struct ProgramResult {
  int exit_code = 0;  // 128 + n where signal n ended it
  std::string out = {}, err = {};
};

// Where `program` is in PATH; itself if it has a slash and can be run; nothing if it is nowhere.
std::optional<std::string> FindProgram(const std::string& program, const VariableReader& environment);

// Waits on the calling thread. NOT_FOUND: no such program in PATH. DEADLINE_EXCEEDED: it was ended because it took
// longer than its timeout; what it had said is in the message. CANCELLED: it was ended because of `on_output` or
// `stop`. INTERNAL: it ended, and how is not known (this process ignores SIGCHLD, or something else in it waits for all
// children). Any exit code is a result. A child of its own that outlives it and holds its output is not waited for. The
// program leads a process group of its own, which is ended whole: a Ctrl-C at the terminal does not reach it, so that
// a submission under way is not torn in half.
absl::StatusOr<ProgramResult> RunProgram(const ProgramCall& call, const VariableReader& environment);

// The seam for tests of those who run programs: what would have been run, to what came of it.
using ProgramRunner = std::function<absl::StatusOr<ProgramResult>(const ProgramCall&)>;

}  // namespace hotplate
