#include "client/cli/app.h"

#include <algorithm>
#include <exception>

#include "client/cli/allocation/absence.h"
#include "client/cli/allocation/records.h"
#include "client/cli/command.h"
#include "client/cli/commands.h"
#include "client/cli/help.h"
#include "client/cli/jobs/numpy_words.h"
#include "client/cli/libraries.h"
#include "client/cli/programs/program_words.h"
#include "client/cli/terminal/json.h"
#include "client/lib/endpoint.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

// Reports that the current daemon has ended, and that another one answers in its place.
void TellPassedOver(const Invocation& call) {
  if (!call.settings.server.empty() || !call.output.talkative()) return;
  const auto current = ServerName(call.settings);
  if (!current || *current == call.connected.name()) return;
  const auto record = RecordOf(call.settings, *current);
  if (!record || !client::KnownEnded(*record)) return;
  Remark(call.console, "the current daemon, " + *current + ", " + (client::KnownDead(*record) ? "died" : "has ended") +
                           "; " + call.connected.name() + " answers. Clear it: hotplate down " + *current);
}

// OK if everything was written.
absl::Status Flushed(Console& console) {
  console.out.flush();
  if (console.out) return absl::OkStatus();
  return WithExitCode(absl::DataLossError("standard output cannot be written to"), kExitFailed);
}

void AnswerVersion(const Console&, Output& output) {
  const std::string line = "hotplate " + std::string(kVersion);
  output.Answer([&] { return line; }, [] { return JsonObject().Text("version", kVersion).Json(); }, line);
}

// The name and the version of each library, and the headers' where they differ or the library does not tell its own.
std::string LibrariesJson() {
  std::vector<std::string> rows;
  for (const codec::LibraryVersion& library : Libraries()) {
    JsonObject row;
    row.Text("name", library.name);
    if (!library.version.empty()) row.Text("version", library.version);
    if (!library.headers.empty() && library.headers != library.version) row.Text("headers", library.headers);
    rows.push_back(row.Json());
  }
  return JsonArray(rows);
}

void AnswerVersionAndLibraries(const Console&, Output& output) {
  const std::string line = "hotplate " + std::string(kVersion);
  output.Answer([&] { return line + "\n" + codec::LibraryTable(Libraries()); },
                [] { return JsonObject().Text("version", kVersion).Raw("libraries", LibrariesJson()).Json(); }, line);
}

void AnswerOverview(const Console& console, Output& output) { AnswerPage(console, output, HelpOverview()); }

// By the words, which need not make sense, else by HOTPLATE_OUTPUT.
absl::StatusOr<OutputForm> FormOf(const std::vector<std::string>& words, const Environment& environment) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto has = [&](const char* word) { return std::find(words.begin(), end, word) != end; };
  if (has("--json")) return OutputForm::kJson;
  if (has("-q") || has("--quiet")) return OutputForm::kQuiet;
  const std::string form = environment("HOTPLATE_OUTPUT").value_or("text");
  if (form == "json") return OutputForm::kJson;
  if (form == "quiet") return OutputForm::kQuiet;
  if (form == "text") return OutputForm::kPeople;
  return UsageError("HOTPLATE_OUTPUT=" + form + ": it can be json, quiet or text");
}

// Answers a request without a verb, such as --version.
int AnswerAlone(Console& console, OutputForm form, void (*answer)(const Console&, Output&)) {
  answer(console, *MakeOutput(form, console));
  const absl::Status status = Flushed(console);
  Report(console, status);
  return ExitCodeOf(status);
}

// A command with a kernel's parameters cannot be parsed before the kernel is known. The common options are then picked
// out by hand.
absl::StatusOr<Arguments> CommonArguments(const std::vector<std::string>& words) {
  std::vector<std::string> common;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i)
    for (const OptionSpec& option : CommonOptions())
      for (const std::string& name : option.AllNames()) {
        if (words[i] == name) {
          common.push_back(words[i]);
          if (!option.IsFlag() && i + 1 < words.size()) common.push_back(words[i + 1]);
        } else if (!option.IsFlag() && words[i].rfind(name + "=", 0) == 0) {
          common.push_back(words[i]);
        }
      }
  return ParseArguments(CommonOptions(), common);
}

// NumPy's linspace has an argument that is called like an option of every command.
std::string EndpointOfNumpy(const Command& command, const std::vector<std::string>& words, const Settings& settings) {
  constexpr const char* kKernel = "linspace";
  const bool of_kernel =
      command.takes_kernel_parameters && std::find(words.begin(), words.end(), kKernel) != words.end();
  return of_kernel ? NumpyHint(kKernel, "endpoint", settings.endpoint) : "";
}

absl::Status RunCommandLine(const Command& command, const std::vector<std::string>& words, const ProgramWords* program,
                            OutputForm form, Console& console, const Environment& environment) {
  const auto arguments = program != nullptr ? ParseArguments(AllProgramOptions(), program->own)
                         : command.takes_kernel_parameters
                             ? CommonArguments(words)
                             : ParseArguments(AllOptions(command), words, !command.rest.empty());
  if (!arguments.ok()) return arguments.status();
  const auto output = MakeOutput(form, console);
  if (arguments->Flag("help")) {
    AnswerPage(console, *output, HelpFor(command, words));
    return Flushed(console);
  }
  if (!command.takes_kernel_parameters && program == nullptr)
    if (const absl::Status status = CheckPositionals(command.positionals, arguments->words()); !status.ok())
      return status;
  auto settings = ResolveSettings({.directory = arguments->Text("directory"),
                                   .server = arguments->Text("server"),
                                   .endpoint = arguments->Text("endpoint")},
                                  environment);
  if (!settings.ok() && command.works_anywhere) settings = Settings{};
  if (!settings.ok()) return settings.status();
  if (!settings->endpoint.empty() && !command.works_anywhere)
    if (const auto endpoint = client::ParseEndpoint(settings->endpoint); !endpoint.ok())
      return UsageError(std::string(endpoint.status().message()) + EndpointOfNumpy(command, words, *settings));
  v1::EndpointRecord connected;
  const Invocation call{command, words, *arguments, *settings, environment, console, *output, connected, program};
  absl::Status status = command.run(call);
  if (client::ConnectionLost(status)) status = WhyLost(call, status);
  const absl::Status flushed = Flushed(console);
  return status.ok() ? flushed : status;
}

}  // namespace

absl::StatusOr<client::Client> Invocation::Connect() const {
  auto client = TryConnect();
  if (!client.ok()) return WhyNoDaemon(*this, client.status());
  return client;
}

absl::StatusOr<client::Client> Invocation::TryConnect(int retries) const {
  client::ConnectOptions options;
  options.retries = retries;
  options.server = settings.server;
  options.endpoint = settings.endpoint;
  options.directory = settings.directory;
  options.on_connection = [&console = console](const absl::Status& status) { TellConnection(console, status); };
  auto client = client::Client::Connect(options);
  if (!client.ok()) return client;
  const bool first = connected.name().empty();
  connected = client->record();
  if (first) TellPassedOver(*this);
  return client;
}

std::string SkewText(const std::string& daemon, const std::string& version) {
  if (version == kVersion) return "";
  return "the daemon " + daemon + " is hotplated " + version + ", and this is hotplate " + kVersion +
         ": use its own hotplate, or start a daemon of this version (hotplate down, then hotplate up)";
}

void Remark(Console& console, const std::string& text) {
  console.err << (console.err_terminal ? "\r\033[K" : "") << Fitted("! " + Printable(text), ErrorWidthOf(console))
              << std::endl;
}

void TellConnection(Console& console, const absl::Status& status) {
  Remark(console, status.ok() ? "connected again"
                              : "connection lost: " + client::WithoutHowToStart(std::string(status.message())) +
                                    "; trying again for at most " + DurationText(client::kReconnectBound));
}

int RunHotplate(const std::vector<std::string>& words, Console console, const Environment& environment) {
  // Options before the verb belong to it, like those after it. No verb follows "--".
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const std::size_t verb = FirstWord(CommonOptions(), {words.begin(), dashes});
  const bool has_verb = verb != static_cast<std::size_t>(dashes - words.begin());
  const Command* const command = has_verb ? FindCommand(words[verb]) : nullptr;
  std::vector<std::string> rest = words;
  if (has_verb) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(verb));
  const std::optional<ProgramWords> program = command != nullptr ? SplitProgram(*command, rest) : std::nullopt;
  const auto form = FormOf(program ? program->own : words, environment);
  if (!form.ok()) {
    Report(console, form.status());
    return ExitCodeOf(form.status());
  }
  console.json = *form == OutputForm::kJson;
  if (!has_verb) {
    const bool verbose = std::find(words.begin(), words.end(), "-v") != words.end();
    for (const std::string& word : words) {
      if (word == "--version" || word == "-V")
        return AnswerAlone(console, *form, verbose ? AnswerVersionAndLibraries : AnswerVersion);
      if (word == "--help" || word == "-h") return AnswerAlone(console, *form, AnswerOverview);
    }
    if (!words.empty()) {
      Report(console,
             WithNextStep(UsageError("no command in \"" + Join(words, " ") + "\""), "all commands: hotplate help"));
    } else {
      console.err << HelpOverview();
    }
    return kExitUsage;
  }
  absl::Status status;
  if (!command) {
    status = UnknownCommand(words[verb]);
  } else {
    try {  // exceptions of the standard library and third parties: ours throws none
      status = RunCommandLine(*command, rest, program ? &*program : nullptr, *form, console, environment);
    } catch (const std::bad_alloc&) {
      status = absl::ResourceExhaustedError("this machine has no memory left for that");
    } catch (const std::exception& error) {
      status = absl::InternalError(std::string("unexpected: ") + error.what());
    }
    if (IsUsageError(status)) status = WithNextStep(status, "hotplate " + command->name + " --help");
  }
  Report(console, status);
  return ExitCodeOf(status);
}

}  // namespace hotplate::cli
