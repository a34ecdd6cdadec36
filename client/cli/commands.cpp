#include "client/cli/commands.h"

#include "kernels/array/quoted.h"

namespace hotplate::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      UpCommand(),         DownCommand(),    StatusCommand(),   UseCommand(),     LogsCommand(),   SitesCommand(),
      PartitionsCommand(), KernelsCommand(), DescribeCommand(), RunCommand(),     SubmitCommand(), JobsCommand(),
      ShowCommand(),       WatchCommand(),   WaitCommand(),     CancelCommand(),  ResultCommand(), PutCommand(),
      GetCommand(),        ArraysCommand(),  FreeCommand(),     DevicesCommand(), TopCommand(),    MetricsCommand(),
      CompletionCommand(), HelpCommand(),
  };
  return commands;
}

const Command* FindCommand(const std::string& name) {
  for (const Command& command : Commands())
    if (command.name == name) return &command;
  return nullptr;
}

absl::Status UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::vector<std::string> nearest = Nearest(word, names);
  const std::string hint = nearest.empty() ? "" : ". Nearest: " + Join(nearest, ", ");
  return WithNextStep(WithExitCode(absl::InvalidArgumentError("no command " + Quoted(word) + hint), kExitUsage),
                      "all commands: hotplate help");
}

const std::vector<OptionSpec>& CommonOptions() {
  static const std::vector<OptionSpec> options = {
      {.names = "--server",
       .value = "NAME",
       .help = "the daemon to talk to (default: the current one)",
       .offer = Offer::kServer},
      {.names = "--endpoint",
       .value = "HOST:PORT",
       .help = "the address to reach it at, such as a forwarded port (hotplate status --forward)"},
      {.names = "--directory",
       .value = "DIR",
       .help = "the folder of endpoint records (default: HOTPLATE_DIR, else ~/.hotplate)",
       .offer = Offer::kFile},
      {.names = "--json", .value = "", .help = "answer in JSON"},
      {.names = "-q,--quiet", .value = "", .help = "print only what a script needs"},
      {.names = "-h,--help", .value = "", .help = "print this help"},
  };
  return options;
}

std::vector<OptionSpec> AllOptions(const Command& command) {
  std::vector<OptionSpec> options = command.options;
  options.insert(options.end(), CommonOptions().begin(), CommonOptions().end());
  return options;
}

}  // namespace hotplate::cli
