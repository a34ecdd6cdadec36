// hotplate up: have a daemon running. Here on this machine; a daemon that runs already is as good.
#include <poll.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/local_daemon.h"
#include "client/cli/records.h"
#include "client/lib/endpoint.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

// hotplated's exit code when another daemon of its name holds the lock.
constexpr int kAnotherDaemonRuns = 5;
constexpr std::chrono::milliseconds kPoll(5);

// Flags of hotplated's that up gives itself, or that have it do something else than serve.
struct ReservedFlag {
  const char* name;
  const char* instead;
};
constexpr ReservedFlag kReserved[] = {
    {"--name", "up itself has it, before the --: hotplate up --local --name NAME"},
    {"--directory", "up itself has it, before the --: hotplate up --local --directory DIR"},
    {"--log-file", "hotplate logs finds the log where up puts it, in $HOTPLATE_DIR/logs"},
    {"--check-config", "it starts no daemon: hotplated --check-config"},
    {"--help", "it starts no daemon: hotplated --help"},
    {"-h", "it starts no daemon: hotplated --help"},
    {"--version", "it starts no daemon: hotplated --version"},
};

absl::Status CheckDaemonOptions(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    for (const ReservedFlag& flag : kReserved)
      if (word.substr(0, word.find('=')) == flag.name)
        return UsageError(word + " cannot stand behind the --: " + flag.instead);
  return absl::OkStatus();
}

absl::Status CannotBeMade(const std::string& path, int error) {
  const std::string message =
      path + " cannot be made: " + std::strerror(error) + "; choose another place with HOTPLATE_DIR";
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InvalidArgumentError(message);
  }
}

// With its parents, as far as they are missing: all for this user alone.
absl::Status MakePrivateFolder(const std::string& path) {
  if (path.size() >= PATH_MAX) return CannotBeMade(path, ENAMETOOLONG);
  struct stat info;
  if (stat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode) ? absl::OkStatus() : CannotBeMade(path, ENOTDIR);
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (parent != path && !parent.empty())
    if (const absl::Status status = MakePrivateFolder(parent); !status.ok()) return status;
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return CannotBeMade(path, errno);
}

// What the daemon of this name says of itself, if one answers. No attempt where the record's process is gone.
absl::StatusOr<v1::GetServerInfoResponse> Ask(const Settings& settings, const std::string& name) {
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

class LocalStart {
 public:
  LocalStart(const Invocation& call, std::string name, nanoseconds timeout)
      : call_(call), name_(std::move(name)), deadline_(Steady::now() + timeout), log_(LogPath(call.settings, name_)) {}

  absl::Status Run() {
    if (const auto info = Ask(call_.settings, name_); info.ok() && info->state() == v1::SERVING)
      return Answer(*info, false);
    else if (!info.ok() && absl::IsPermissionDenied(info.status()))
      return info.status();  // an unsafe record: a new daemon would not make it safe
    const auto program = FindDaemonProgram(call_.environment);
    if (!program.ok()) return program.status();
    for (const std::string& folder : {call_.settings.directory, call_.settings.directory + "/logs"})
      if (const absl::Status status = MakePrivateFolder(folder); !status.ok()) return status;
    for (;;) {
      auto again = StartOnce(*program);
      if (!again.ok()) return again.status();
      if (!*again) return absl::OkStatus();
    }
  }

 private:
  // True: another daemon had the name but is on its way out; try again.
  absl::StatusOr<bool> StartOnce(const std::string& program) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(log_, error);
    const std::size_t log_start = error ? 0 : static_cast<std::size_t>(size);
    std::vector<std::string> words = {"--name", name_, "--directory", call_.settings.directory, "--log-file", log_};
    words.insert(words.end(), call_.arguments.rest().begin(), call_.arguments.rest().end());
    auto process = DaemonProcess::Start(program, words, log_);
    if (!process.ok()) return process.status();
    while (Steady::now() < deadline_) {
      if (const auto info = Ask(call_.settings, name_); info.ok() && info->state() == v1::SERVING) {
        if (const absl::Status status = Answer(*info, static_cast<int>(info->pid()) == process->pid()); !status.ok())
          return status;
        return false;
      }
      if (const auto code = process->Ended()) {
        if (*code != kAnotherDaemonRuns)
          return WithExitCode(absl::UnavailableError("hotplated ended with code " + std::to_string(*code) +
                                                     " before it was ready" + Why(LogTail(log_, log_start, 8))),
                              *code == kExitUsage ? kExitUsage : kExitNoDaemon);
        return WaitForTheOther(LogTail(log_, log_start, 3));
      }
      poll(nullptr, 0, static_cast<int>(kPoll.count()));
    }
    return absl::DeadlineExceededError(name_ + " (pid " + std::to_string(process->pid()) +
                                       ") is not ready yet; it goes on starting\n" + "log: " + log_ +
                                       " · hotplate status · hotplate logs -f");
  }

  std::string Why(const std::string& its_words) const {
    if (!its_words.empty()) return ":\n" + its_words + "\nlog: " + log_;
    return ", and said nothing in its log " + log_ +
           "\nis there room on that disk? else start it by hand: hotplated --name " + name_;
  }

  // Another daemon of this name is starting, or serving, or ending.
  absl::StatusOr<bool> WaitForTheOther(const std::string& its_words) {
    const Steady::time_point patience = std::min(deadline_, Steady::now() + std::chrono::seconds(2));
    while (Steady::now() < patience) {
      if (const auto info = Ask(call_.settings, name_); info.ok() && info->state() == v1::SERVING) {
        if (const absl::Status status = Answer(*info, false); !status.ok()) return status;
        return false;
      }
      poll(nullptr, 0, static_cast<int>(kPoll.count()));
    }
    if (Steady::now() < deadline_) return true;
    return absl::UnavailableError("another daemon named " + name_ + " holds its place and does not serve:\n" +
                                  its_words);
  }

  absl::Status Answer(const v1::GetServerInfoResponse& info, bool started) {
    // The one that was asked for is the one that the next commands mean.
    if (const absl::Status status = SetCurrent(call_.settings, name_); !status.ok()) return status;
    std::vector<std::string> devices;
    for (const v1::Device& device : info.devices()) devices.push_back(device.id() + " " + device.name());
    const std::string who = info.name() + "   pid " + std::to_string(info.pid());
    call_.output.Answer(
        [&] {
          std::string text =
              Done(call_.console, started ? "ready  " + who : "already running  " + who) + "   " + Join(devices, ", ");
          if (info.has_idle_timeout() && info.idle_timeout().seconds() > 0)
            text +=
                "   ends itself after " + Span(std::chrono::seconds(info.idle_timeout().seconds())) + " without use";
          return text + "\n  from here:  hotplate kernels · hotplate run KERNEL … · hotplate top · hotplate down";
        },
        [&] {
          return JsonObject()
              .Text("name", info.name())
              .Raw("pid", std::to_string(info.pid()))
              .Raw("started", started ? "true" : "false")
              .Text("log", log_)
              .Json();
        },
        info.name());
    return absl::OkStatus();
  }

  const Invocation& call_;
  const std::string name_;
  const Steady::time_point deadline_;
  const std::string log_;
};

absl::Status Up(const Invocation& call) {
  if (!call.arguments.Flag("local"))
    return UsageError("say where: --local starts a daemon on this machine (inside an allocation: on its node)");
  const std::string name = call.arguments.Text("name").value_or(call.environment("HOTPLATE_NAME").value_or("local"));
  if (!client::IsServerName(name))
    return UsageError("--name: " + Quoted(name) + " cannot be a daemon's name; use letters, digits, '.', '_' and '-'");
  if (const absl::Status status = CheckDaemonOptions(call.arguments.rest()); !status.ok()) return status;
  const auto timeout = call.arguments.Duration("timeout");
  if (!timeout.ok()) return timeout.status();
  return LocalStart(call, name, timeout->value_or(std::chrono::seconds(30))).Run();
}

}  // namespace

Command UpCommand() {
  return {
      .name = "up",
      .group = Group::kDaemon,
      .summary = "start a daemon, and wait until it is ready",
      .details =
          "The daemon goes on when this command ends; its log is in $HOTPLATE_DIR/logs. One that runs already\n"
          "is left as it is. What stands behind -- is given to hotplated (hotplated --help).",
      .example = "hotplate up --local -- --threads 8 --idle-timeout 1h",
      .options = {{.names = "--local", .value = "", .help = "on this machine"},
                  {.names = "--name", .value = "NAME", .help = "the daemon's name (default: local)"},
                  {.names = "--timeout", .value = "TIME", .help = "how long to wait until it is ready (default 30s)"}},
      .rest = "DAEMON OPTIONS",
      .run = Up};
}

}  // namespace hotplate::cli
