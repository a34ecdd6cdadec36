#include "client/cli/help.h"

#include "client/cli/app.h"
#include "client/cli/catalogue/catalogue.h"
#include "client/cli/catalogue/topics.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/terminal/table.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

struct GroupName {
  Group group;
  const char* name;
};
constexpr GroupName kGroups[] = {
    {Group::kDaemon, "Daemon"}, {Group::kKernels, "Kernels"}, {Group::kJobs, "Jobs"},
    {Group::kArrays, "Arrays"}, {Group::kDevices, "Devices"}, {Group::kShell, "Shell"},
};

struct ExitMeaning {
  ExitCode code;
  const char* meaning;
};
constexpr ExitMeaning kExitMeanings[] = {
    {kExitOk, "success"},
    {kExitFailed, "the job FAILED, tasks of a sweep did, or its output could not be written"},
    {kExitUsage, "the command line is wrong"},
    {kExitNoDaemon, "no daemon answers, or the connection was lost"},
    {kExitInvalid, "refused: the call is not valid, exceeds a limit, or uses a name that is unknown or taken"},
    {kExitTryLater, "refused for now (memory in use, a full queue, a draining daemon): try later"},
    {kExitNotAllowed, "not allowed: token or permissions"},
    {kExitTimeout, "the job or run --timeout exceeded its time limit"},
    {kExitCancelled, "the job was CANCELLED"},
    {kExitScheduler, "the scheduler refused, or ended the job before it ran; or it has no accounting"},
    {kExitInterrupted, "interrupted"},
};

std::string OptionText(const OptionSpec& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.AllNames())
    if (name.find('_') == std::string::npos) names.push_back(name);  // the spelling with underscores works too
  return Join(names, ", ") + (option.IsFlag() ? "" : " " + option.value);
}

std::string OptionRows(const std::vector<OptionSpec>& options) {
  Table table;
  table.Indent(2);
  for (const OptionSpec& option : options) table.Row({OptionText(option), option.help});
  return table.Text();
}

}  // namespace

std::string HelpOverview() {
  std::string text = "hotplate " + std::string(kVersion) +
                     ": runs kernels on devices that a daemon keeps warm\n\n"
                     "  hotplate up --local && hotplate run mandelbrot -o m.png && hotplate down\n";
  for (const GroupName& group : kGroups) {
    Table table;
    table.Indent(2);
    for (const Command& command : Commands())
      if (command.group == group.group) table.Row({command.name, command.summary});
    text += "\n" + std::string(group.name) + "\n" + table.Text();
  }
  Table topics;
  topics.Indent(2);
  for (const Topic& topic : Topics()) topics.Row({topic.name, topic.summary});
  return text + "\nTopics\n" + topics.Text() +
         "\nOne command: hotplate COMMAND --help.  One kernel: hotplate describe KERNEL.  One topic: hotplate help "
         "TOPIC.\n";
}

std::string UsageLine(const Command& command) {
  std::string line = "hotplate " + command.name;
  for (const PositionalSpec& positional : command.positionals) {
    const std::string name = positional.name + (positional.maximum > 1 ? "…" : "");
    line += positional.minimum > 0 ? " " + name : " [" + name + "]";
  }
  if (command.takes_kernel_parameters) line += " [--PARAMETER VALUE…]";
  if (!command.options.empty()) line += " [OPTIONS]";
  if (!command.rest.empty()) line += " [-- " + command.rest + "]";
  return line;
}

std::string HelpFor(const Command& command, const std::vector<std::string>& words) {
  std::string text = UsageLine(command) + "\n  " + command.summary + "\n";
  if (!command.details.empty()) text += "\n" + command.details + "\n";
  if (!command.positionals.empty()) {
    Table table;
    table.Indent(2);
    for (const PositionalSpec& positional : command.positionals) table.Row({positional.name, positional.help});
    text += "\nArguments\n" + table.Text();
  }
  if (command.takes_kernel_parameters) {
    const std::size_t first = FirstWord(AllOptions(command), words);
    if (first < words.size()) {
      const auto kernel = FindKernel(EmbeddedKernels(), words[first]);
      if (kernel.ok()) text += "\nThe kernel\n  " + DescribeKernel(*kernel);
    }
  }
  if (!command.options.empty()) text += "\nOptions\n" + OptionRows(command.options);
  text += "\nFor every command\n" + OptionRows(CommonOptions());
  return text + "\nExample\n  " + command.example + "\n";
}

std::string ManualPage() {
  std::string page = ".TH HOTPLATE 1 \"\" \"Hotplate " + std::string(kVersion) + "\" \"User Commands\"\n" +
                     ".SH NAME\nhotplate \\- run kernels on devices that a daemon keeps warm\n" +
                     ".SH SYNOPSIS\n.B hotplate\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n";
  const auto options = [&page](const std::vector<OptionSpec>& list) {
    for (const OptionSpec& option : list)
      page += ".TP\n.B " + Roff(OptionText(option)) + "\n" + Roff(option.help) + "\n";
  };
  for (const GroupName& group : kGroups) {
    page += ".SH " + std::string(group.name) + " COMMANDS\n";
    for (const Command& command : Commands()) {
      if (command.group != group.group) continue;
      page += ".SS " + Roff(UsageLine(command)) + "\n" + Roff(command.summary) + ".\n";
      if (!command.details.empty()) page += ".PP\n" + Roff(command.details) + "\n";
      for (const PositionalSpec& positional : command.positionals)
        page += ".TP\n.I " + Roff(positional.name) + "\n" + Roff(positional.help) + "\n";
      options(command.options);
      page += ".PP\nExample:\n.PP\n.nf\n" + Roff("  " + command.example) + "\n.fi\n";
    }
  }
  page += ".SH TOPICS\n.B hotplate help\n.I TOPIC\nshows a page:\n";
  for (const Topic& topic : Topics()) page += ".TP\n.B " + Roff(topic.name) + "\n" + Roff(topic.summary) + "\n";
  page += ".SH OPTIONS OF EVERY COMMAND\n";
  options(CommonOptions());
  page += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : kExitMeanings)
    page += ".TP\n.B " + std::to_string(exit.code) + "\n" + exit.meaning + "\n";
  return page +
         ".SH ENVIRONMENT\n"
         ".TP\n.B HOTPLATE_DIR\nThe folder of endpoint records and logs (default ~/.hotplate).\n"
         ".TP\n.B HOTPLATE_SERVER\nThe daemon to talk to.\n"
         ".TP\n.B HOTPLATE_SITE\nThe site profile that up uses.\n"
         ".TP\n.B HOTPLATE_ACCOUNT\nThe project that up charges.\n"
         ".TP\n.B HOTPLATE_NAME\nThe name of the daemon that up starts.\n"
         ".TP\n.B HOTPLATE_ENDPOINT\nThe address of the daemon, as with --endpoint.\n"
         ".TP\n.B HOTPLATE_SITES\nA folder of site profiles (NAME.toml). They override the built-in ones; your own in "
         "~/.config/hotplate/sites override them.\n"
         ".TP\n.B HOTPLATE_OUTPUT\njson: answer in JSON, as with --json; quiet: as with --quiet; text.\n"
         ".TP\n.B NO_COLOR\nTurns colours off.\n"
         ".SH FILES\n.TP\n.I ~/.config/hotplate/config.toml\n"
         "Defaults for directory, server, site and account; flags and environment override them. In "
         "$XDG_CONFIG_HOME if that is set.\n"
         ".SH SEE ALSO\n.BR hotplated (1)\n";
}

}  // namespace hotplate::cli
