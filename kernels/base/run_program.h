// Runs another program to its end, mostly Slurm's commands. No shell is involved, so that a user's words are never
// interpreted.
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

// Reads a variable of the process's environment, or of a test's.
using VariableReader = std::function<std::optional<std::string>(const std::string& name)>;

// This process's environment, as NAME=value.
std::vector<std::string> OwnVariables();

struct ProgramCall {
  std::vector<std::string> words = {};  // the program, as in PATH or with a slash, and its arguments
  std::string input = {};               // its standard input
  std::vector<std::pair<std::string, std::string>> environment = {};  // set on top of this process's own
  // Variables of this process that it does not get; "SQUEUE_*": all that begin so.
  std::vector<std::string> without = {};
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  std::size_t longest_output = std::size_t{1} << 20;  // of each stream; the rest is dropped
  // Receives all of standard output as it arrives, instead of ProgramResult::out. False: stop the program.
  std::function<bool(std::string_view)> on_output = {};
  // Requested by another thread to stop the program.
  std::stop_token stop = {};
};

struct ProgramResult {
  int exit_code = 0;  // 128 + n where signal n ended it
  std::string out = {}, err = {};
};

// The path of `program` in PATH; unchanged if it has a slash and is executable; nothing if it is not found.
std::optional<std::string> FindProgram(const std::string& program, const VariableReader& environment);

// Waits on the calling thread. NOT_FOUND: no such program in PATH. DEADLINE_EXCEEDED: ended after its timeout; the
// message has its output. CANCELLED: ended because of `on_output` or `stop`. INTERNAL: it ended with an unknown status
// (this process ignores SIGCHLD, or something else in it waits for all children). Any exit code is a result. Children
// of the program that outlive it and hold its output are not waited for. The program leads its own process group, which
// is ended as a whole. A Ctrl-C at the terminal does not reach it, so that a submission under way is not interrupted
// half-way.
absl::StatusOr<ProgramResult> RunProgram(const ProgramCall& call, const VariableReader& environment);

// The seam for tests: maps a call to its result without running anything.
using ProgramRunner = std::function<absl::StatusOr<ProgramResult>(const ProgramCall&)>;

}  // namespace hotplate
