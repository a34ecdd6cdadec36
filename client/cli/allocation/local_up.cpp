#include "client/cli/allocation/local_up.h"

#include <poll.h>

#include <filesystem>

#include "client/cli/allocation/daemon_start.h"
#include "client/cli/allocation/deaths.h"
#include "client/cli/allocation/local_daemon.h"
#include "client/cli/allocation/private_folder.h"
#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/journals/left_behind.h"
#include "client/cli/terminal/json.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

// hotplated's exit code when another daemon of its name holds the lock. Its 2 and 6 mean what ours do.
constexpr int kAnotherDaemonRuns = 5;
constexpr std::chrono::milliseconds kPoll(5);

class LocalStart {
 public:
  // `options`: for hotplated.
  LocalStart(const Invocation& call, std::string name, std::vector<std::string> options, nanoseconds timeout)
      : call_(call),
        name_(std::move(name)),
        options_(std::move(options)),
        deadline_(Steady::now() + timeout),
        log_(LogPath(call.settings, name_)) {}

  absl::Status Run() {
    if (const auto info = AskDaemon(call_.settings, name_); info.ok() && info->state() == v1::SERVING)
      return Answer(*info, false);
    else if (!info.ok() && absl::IsPermissionDenied(info.status()))
      return info.status();  // an unsafe record: a new daemon would not make it safe
    const auto program = FindDaemonProgram(call_.environment);
    if (!program.ok()) return program.status();
    if (const absl::Status made = MakePrivateFolder(call_.settings.directory + "/logs"); !made.ok()) return made;
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
    words.insert(words.end(), options_.begin(), options_.end());
    auto process = DaemonProcess::Start(program, words, log_);
    if (!process.ok()) return process.status();
    while (Steady::now() < deadline_) {
      if (const auto info = AskDaemon(call_.settings, name_); info.ok() && info->state() == v1::SERVING) {
        if (const absl::Status status = Answer(*info, static_cast<int>(info->pid()) == process->pid()); !status.ok())
          return status;
        return false;
      }
      if (const auto code = process->Ended()) {
        if (*code != kAnotherDaemonRuns)
          return WithExitCode(
              absl::UnavailableError("hotplated ended with code " + std::to_string(*code) + " before it was ready" +
                                     Why(LogTail(log_, log_start, 8))),
              *code == kExitUsage || *code == kExitNotAllowed ? static_cast<ExitCode>(*code) : kExitNoDaemon);
        return WaitForTheOther(LogTail(log_, log_start, 3));
      }
      poll(nullptr, 0, static_cast<int>(kPoll.count()));
    }
    return absl::DeadlineExceededError(name_ + " (pid " + std::to_string(process->pid()) +
                                       ") is not ready yet; it is still starting\n" + "log: " + log_ +
                                       " · hotplate status · hotplate logs -f");
  }

  std::string Why(const std::string& its_words) const {
    if (!its_words.empty()) return ":\n" + its_words + "\nlog: " + log_;
    return ", and wrote nothing to its log " + log_ +
           "\nis there space on that disk? otherwise start it by hand: hotplated --name " + name_;
  }

  // Another daemon of this name is starting, or serving, or ending.
  absl::StatusOr<bool> WaitForTheOther(const std::string& its_words) {
    const Steady::time_point patience = std::min(deadline_, Steady::now() + std::chrono::seconds(2));
    while (Steady::now() < patience) {
      if (const auto info = AskDaemon(call_.settings, name_); info.ok() && info->state() == v1::SERVING) {
        if (const absl::Status status = Answer(*info, false); !status.ok()) return status;
        return false;
      }
      poll(nullptr, 0, static_cast<int>(kPoll.count()));
    }
    if (Steady::now() < deadline_) return true;
    return absl::UnavailableError("another daemon named " + name_ + " has its name but does not serve:\n" + its_words);
  }

  absl::Status Answer(const v1::GetServerInfoResponse& info, bool started) {
    // The one that was asked for is the one that the next commands mean.
    if (const absl::Status status = SetCurrent(call_.settings, name_); !status.ok()) return status;
    if (const std::string unavailable = UnavailableText(info); !unavailable.empty())
      call_.console.err << "! " << Printable(unavailable) << std::endl;
    if (started) TellLoss(call_, info);
    if (started) TellLeftBehind(call_, name_);
    if (!started && !options_.empty())
      Remark(call_.console, name_ + " was running already, so that " + Join(options_, " ") +
                                (options_.size() > 1 ? " were" : " was") +
                                " not applied; to start it anew: hotplate down " + name_);
    std::vector<std::string> devices;
    for (const v1::Device& device : info.devices()) devices.push_back(device.id() + " " + device.name());
    const std::string who = info.name() + "   pid " + std::to_string(info.pid());
    call_.output.Answer(
        [&] {
          std::string text =
              Done(call_.console, started ? "ready  " + who : "already running  " + who) + "   " + Join(devices, ", ");
          if (info.has_idle_timeout() && info.idle_timeout().seconds() > 0)
            text += "   ends itself after " + DurationText(std::chrono::seconds(info.idle_timeout().seconds())) +
                    " without use";
          return text + FromHere();
        },
        [&] {
          return JsonObject()
              .Text("name", info.name())
              .Raw("pid", std::to_string(info.pid()))
              .Raw("started", started ? "true" : "false")
              .Text("log", log_)
              .Raw("unavailableKernels", UnavailableJson(info))
              .Json();
        },
        info.name());
    return absl::OkStatus();
  }

  const Invocation& call_;
  const std::string name_;
  const std::vector<std::string> options_;
  const Steady::time_point deadline_;
  const std::string log_;
};

}  // namespace

absl::Status LocalUp(const Invocation& call) {
  const auto name = WantedName(call);
  if (!name.ok()) return name.status();
  if (const absl::Status status = CheckDaemonOptions(call.arguments.rest()); !status.ok()) return status;
  const auto timeout = call.arguments.Duration("timeout");
  if (!timeout.ok()) return timeout.status();
  auto options = PythonOptions(call.arguments);
  if (!options.ok()) return options.status();
  options->insert(options->end(), call.arguments.rest().begin(), call.arguments.rest().end());
  return LocalStart(call, name->empty() ? "local" : *name, *std::move(options),
                    timeout->value_or(std::chrono::seconds(30)))
      .Run();
}

}  // namespace hotplate::cli
