// A verb of the program: its texts for help and completion, and its function.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/arguments.h"
#include "client/cli/ending.h"
#include "client/cli/settings.h"
#include "client/cli/terminal/console.h"
#include "client/cli/terminal/output.h"
#include "client/lib/client.h"

namespace hotplate::cli {

struct Command;
struct ProgramWords;

// Everything that one run of a verb may use.
struct Invocation {
  const Command& command;
  const std::vector<std::string>& words;  // the words after the verb, as typed
  const Arguments& arguments;
  const Settings& settings;
  const Environment& environment;
  Console& console;
  Output& output;
  // Where the record is left of the daemon that was last connected to.
  v1::EndpointRecord& connected;
  // The words of a program of the user's (programs/program_words.h); null if the command runs none.
  const ProgramWords* program = nullptr;

  // The same with other settings, which must live as long.
  Invocation With(const Settings& others) const {
    return {command, words, arguments, others, environment, console, output, connected, program};
  }

  // The daemon that the settings lead to. If there is none, the error tells the fate of its allocation.
  absl::StatusOr<client::Client> Connect() const;
  // The same, but the error has only what the connection itself tells.
  absl::StatusOr<client::Client> TryConnect(int retries = client::ConnectOptions().retries) const;
};

// Writes a line to standard error, above a progress line if one is drawn there.
void Remark(Console& console, const std::string& text);
// Reports that the connection was lost and is being tried again, or with OK that it is back.
void TellConnection(Console& console, const absl::Status& status);

enum class Group { kDaemon, kKernels, kJobs, kArrays, kDevices, kShell };

struct Command {
  std::string name;
  Group group;
  std::string summary;       // one line, no full stop
  std::string details = {};  // more for --help; may be empty
  std::string example;       // a command line that works
  std::vector<PositionalSpec> positionals = {};
  std::vector<OptionSpec> options = {};
  // How a command uses the words after "--"; empty: it does not take any.
  std::string rest = {};
  // The first word names a kernel, whose parameters are further options: the command parses its words itself.
  bool takes_kernel_parameters = false;
  // Works even if no place to look for a daemon is known; its settings are then empty.
  bool works_anywhere = false;
  absl::Status (*run)(const Invocation&) = nullptr;
};

// Options that every command has: --server, --endpoint, --directory, --json, --quiet, --help.
const std::vector<OptionSpec>& CommonOptions();
// The common ones and the command's own.
std::vector<OptionSpec> AllOptions(const Command& command);

}  // namespace hotplate::cli
