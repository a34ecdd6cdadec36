#include "client/cli/commands.h"

#include "client/cli/catalogue/catalogue.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"

namespace hotplate::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      UpCommand(),         DownCommand(),    StatusCommand(),     UseCommand(),     TokenCommand(),    JoinCommand(),
      LogsCommand(),       SitesCommand(),   PartitionsCommand(), KernelsCommand(), DescribeCommand(), RunCommand(),
      EvalCommand(),       SubmitCommand(),  GraphCommand(),      ExecCommand(),    PythonCommand(),   EnvCommand(),
      WorkersCommand(),    JobsCommand(),    ShowCommand(),       WhyCommand(),     HistoryCommand(),  WatchCommand(),
      WaitCommand(),       CancelCommand(),  ResultCommand(),     PutCommand(),     GetCommand(),      ArraysCommand(),
      FreeCommand(),       DevicesCommand(), TopCommand(),        MetricsCommand(), CacheCommand(),    JournalCommand(),
      CompletionCommand(), VersionCommand(), HelpCommand(),
  };
  return commands;
}

const Command* FindCommand(const std::string& name) {
  for (const Command& command : Commands())
    if (command.name == name) return &command;
  return nullptr;
}

namespace {

// Words from other programs, and our commands for them. They are not matched by similarity: "stop" is not a misspelt
// "top".
struct Brought {
  const char* word;
  const char* here;
};
constexpr const char* kEnd = "a job: hotplate cancel JOB · the daemon: hotplate down";
constexpr const char* kRemove = "an array: hotplate free NAME · a job: hotplate cancel JOB";
constexpr const char* kFetch = "hotplate get ARRAY -o FILE · hotplate result JOB -o FILE";
constexpr Brought kBrought[] = {
    {"ls", "hotplate jobs · hotplate arrays · hotplate kernels"},
    {"list", "hotplate jobs · hotplate arrays · hotplate kernels"},
    {"ps", "hotplate jobs --active"},
    {"queue", "hotplate jobs --active"},
    {"squeue", "hotplate jobs --active"},
    {"info", "hotplate status · hotplate devices"},
    {"sinfo", "hotplate status · hotplate partitions"},
    {"nvidia-smi", "hotplate devices · hotplate top"},
    {"sbatch", "hotplate submit KERNEL …, and hotplate run KERNEL … waits for the result"},
    {"srun", "hotplate run KERNEL …, and hotplate submit KERNEL … does not wait"},
    {"log", "hotplate logs · the function: hotplate eval 'log(x)' x=X"},
    {"start", "hotplate up"},
    {"restart", "hotplate down, then hotplate up"},
    {"stop", kEnd},
    {"kill", kEnd},
    {"scancel", kEnd},
    {"exit", "hotplate down"},
    {"quit", "hotplate down"},
    {"rm", kRemove},
    {"del", kRemove},
    {"delete", kRemove},
    {"cp", "hotplate put FILE · hotplate get ARRAY -o FILE"},
    {"push", "hotplate put FILE"},
    {"upload", "hotplate put FILE"},
    {"load", "hotplate put FILE"},
    {"pull", kFetch},
    {"fetch", kFetch},
    {"download", kFetch},
    {"plot", "hotplate result JOB -o FILE.png"},
    {"config", "settings are in the environment and in ~/.config/hotplate/config.toml: hotplate help guide"},
};

// A hint for an unknown command, or with the names of topics for what `help` does not know.
std::string HintFor(const std::string& word, std::vector<std::string> names) {
  for (const Brought& brought : kBrought)
    if (word == brought.word) return ". Here: " + std::string(brought.here);
  const std::vector<v1::KernelSpec> kernels = EmbeddedKernels();
  if (FindKernel(kernels, word).ok())
    return ". It is a kernel: hotplate " + std::string(names.empty() ? "run " : "describe ") + word;
  if (const auto equivalent = EquivalentOf(kernels, word)) return ". " + *equivalent;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::vector<std::string> nearest = NearestNames(word, names);
  return nearest.empty() ? "" : ". Nearest: " + Join(nearest, ", ");
}

}  // namespace

absl::Status UnknownCommand(const std::string& word, const std::vector<std::string>& topics) {
  const std::string what = topics.empty() ? "command " : "command or topic ";
  return WithNextStep(
      WithExitCode(absl::InvalidArgumentError("no " + what + Quoted(word) + HintFor(word, topics)), kExitUsage),
      topics.empty() ? "all commands: hotplate help" : "all commands and topics: hotplate help");
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
      {.names = "--json", .value = "", .help = "answer in JSON (or HOTPLATE_OUTPUT=json)"},
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
