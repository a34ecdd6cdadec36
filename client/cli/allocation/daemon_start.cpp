#include "client/cli/allocation/daemon_start.h"

#include <filesystem>

#include "client/cli/allocation/records.h"
#include "client/lib/endpoint.h"
#include "kernels/array/quoted.h"
#include "kernels/base/module_name.h"

namespace hotplate::cli {
namespace {

struct ReservedFlag {
  const char* name;
  const char* instead;
};
constexpr ReservedFlag kReserved[] = {
    {"--name", "up itself has it, before the --: --name NAME"},
    {"--directory", "up itself has it, before the --: --directory DIR"},
    {"--log-file", "hotplate logs finds the log where up puts it, in $HOTPLATE_DIR/logs"},
    {"--check-config", "it starts no daemon: hotplated --check-config"},
    {"--help", "it starts no daemon: hotplated --help"},
    {"-h", "it starts no daemon: hotplated --help"},
    {"--version", "it starts no daemon: hotplated --version"},
};

}  // namespace

absl::StatusOr<v1::GetServerInfoResponse> AskDaemon(const Settings& settings, const std::string& name) {
  const auto found = client::ReadRecord(RecordPath(settings, name));
  if (!found.ok()) return found.status();
  if (client::KnownDead(found->record)) return absl::UnavailableError("the daemon of this record is gone");
  client::ConnectOptions options;
  options.server = name;
  options.directory = settings.directory;
  options.connect_timeout = std::chrono::seconds(2);
  options.deadline = std::chrono::seconds(5);
  options.retries = 0;
  auto client = client::Client::Connect(options);
  if (!client.ok()) return client.status();
  return client->Info();
}

absl::Status CheckDaemonOptions(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    for (const ReservedFlag& flag : kReserved)
      if (word.substr(0, word.find('=')) == flag.name)
        return UsageError(word + " cannot follow the --: " + flag.instead);
  return absl::OkStatus();
}

std::string InterpreterPath(const std::string& python) {
  if (python.find('/') == std::string::npos || python[0] == '/') return python;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  return error ? python : (folder / python).lexically_normal().string();
}

absl::StatusOr<std::vector<std::string>> PythonOptions(const Arguments& arguments) {
  std::vector<std::string> words;
  if (const auto python = arguments.Text("python")) {
    if (python->empty()) return UsageError("--python is empty: give an interpreter's path on the node");
    words.push_back("--python=" + InterpreterPath(*python));
  }
  for (const std::string& module : arguments.All("module")) {
    if (!IsModuleName(module)) return UsageError("--module is " + Quoted(module) + "; it must be " + kModuleNameRule);
    words.push_back("--module=" + module);
  }
  return words;
}

absl::StatusOr<std::string> WantedName(const Invocation& call) {
  const std::string name = call.arguments.Text("name").value_or(call.environment("HOTPLATE_NAME").value_or(""));
  if (!name.empty() && !client::IsServerName(name))
    return UsageError("--name: " + Quoted(name) + " is not a valid daemon name; use letters, digits, '.', '_' and '-'");
  return name;
}

std::string FromHere() {
  return "\n  from here:  hotplate kernels · hotplate run KERNEL … · hotplate top · hotplate down";
}

}  // namespace hotplate::cli
