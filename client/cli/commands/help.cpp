// hotplate help: the overview, one command, or a page.
#include "client/cli/help.h"

#include "client/cli/catalogue/topics.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/page_text.h"

namespace hotplate::cli {
namespace {

std::vector<std::string> TopicNames() {
  std::vector<std::string> names;
  for (const Topic& topic : Topics())
    if (!FindCommand(topic.name)) names.push_back(topic.name);
  return names;
}

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
  const Topic* topic = FindTopic(name);
  if (!command && !topic) return UnknownCommand(name, TopicNames());
  std::string text;
  if (command) text = HelpFor(*command, {call.arguments.words().begin() + 1, call.arguments.words().end()});
  if (command && topic) text += "\n";
  if (topic) text += PageText(topic->page, call.console.width, call.console.out_colour);
  AnswerPage(call.console, call.output, text);
  return absl::OkStatus();
}

}  // namespace

Command HelpCommand() {
  return {.name = "help",
          .group = Group::kShell,
          .summary = "show an overview, the help of a command, or a page",
          .details = "If a command and a topic have the same name, both are shown.",
          .example = "hotplate help quickstart",
          .positionals = {{.name = "NAME", .help = "a command or a topic", .minimum = 0, .offer = Offer::kHelp},
                          {.name = "KERNEL", .help = "for run and submit", .minimum = 0, .offer = Offer::kKernel}},
          .options = {{.names = "--man", .value = "", .help = "print the manual page, for man -l -"}},
          .works_anywhere = true,
          .run = Help};
}

}  // namespace hotplate::cli
