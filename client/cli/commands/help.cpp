// hotplate help: the overview, or one command.
#include "client/cli/help.h"

#include "client/cli/commands.h"

namespace hotplate::cli {
namespace {

absl::Status Help(const Invocation& call) {
  if (call.arguments.Flag("man")) {
    AnswerText(call.output, ManualPage());
    return absl::OkStatus();
  }
  if (call.arguments.words().empty()) {
    AnswerPage(call.console, call.output, HelpOverview());
    return absl::OkStatus();
  }
  const std::string& name = call.arguments.words()[0];
  const Command* command = FindCommand(name);
  if (!command) return UnknownCommand(name);
  const std::vector<std::string> rest(call.arguments.words().begin() + 1, call.arguments.words().end());
  AnswerPage(call.console, call.output, HelpFor(*command, rest));
  return absl::OkStatus();
}

}  // namespace

Command HelpCommand() {
  return {.name = "help",
          .group = Group::kShell,
          .summary = "help with all commands, with one, or with one for a kernel",
          .example = "hotplate help run matmul",
          .positionals = {{.name = "COMMAND", .help = "which command", .minimum = 0, .offer = Offer::kCommand},
                          {.name = "KERNEL", .help = "for run and submit", .minimum = 0, .offer = Offer::kKernel}},
          .options = {{.names = "--man", .value = "", .help = "the manual page, for man -l -"}},
          .works_anywhere = true,
          .run = Help};
}

}  // namespace hotplate::cli
