// hotplate down: drain the daemon and wait until its process has ended.
#include <poll.h>

#include <algorithm>
#include <chrono>

#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/records.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

// How long a daemon on another node may stay silent while its record still names it.
constexpr std::chrono::seconds kSilence(30);
// On top of the drain timeout: the daemon's last steps.
constexpr std::chrono::seconds kMargin(30);

// Whether the daemon's process can be seen from here decides how its end is noticed.
Presence PresenceOf(const v1::GetServerInfoResponse& info, const std::string& record_path, client::Client& client) {
  if (info.node() == HostName())
    return ProcessExists(static_cast<int>(info.pid())) ? Presence::kThere : Presence::kGone;
  if (const auto now = client.Info(); now.ok())
    return now->generation() == info.generation() ? Presence::kThere : Presence::kGone;
  return PresenceByRecord(record_path, info.generation());
}

std::string Who(const v1::GetServerInfoResponse& info) {
  return info.name() + " (pid " + std::to_string(info.pid()) + (info.node() == HostName() ? "" : " on " + info.node()) +
         ")";
}

// Until the daemon has ended. `asked` is the answer to the request.
absl::Status WaitForTheEnd(const Invocation& call, const v1::GetServerInfoResponse& info, client::Client& client,
                           const absl::Status& asked, nanoseconds longest) {
  const std::string record = RecordPath(
      call.settings, call.settings.server.find('/') != std::string::npos ? call.settings.server : info.name());
  const Steady::time_point start = Steady::now();
  Steady::time_point heard = start;
  for (bool told = false;;) {
    const Presence presence = PresenceOf(info, record, client);
    // A daemon that ends while it answers has done what was asked.
    if (presence == Presence::kGone) return absl::OkStatus();
    if (presence == Presence::kThere && !asked.ok()) return asked;
    const Steady::time_point now = Steady::now();
    if (presence == Presence::kThere) heard = now;
    if (now - heard > kSilence)
      return absl::UnavailableError("whether " + Who(info) +
                                    " has ended is not known: it does not answer, and its record " + record +
                                    " is still there\nlook on " + info.node() + ", or at the log: hotplate logs");
    if (now - start > longest)
      return absl::DeadlineExceededError(Who(info) + " was told to end and is still there after " + Span(now - start) +
                                         "; hotplate logs");
    if (!told && now - start > std::chrono::seconds(1) && call.console.err_terminal && call.output.talkative()) {
      call.console.err << "draining " << info.name() << " …  (at most " << Span(longest)
                       << "; Ctrl-C leaves it to itself)\n"
                       << std::flush;
      told = true;
    }
    poll(nullptr, 0, info.node() == HostName() ? 10 : 200);
  }
}

absl::Status Down(const Invocation& call) {
  const auto timeout = call.arguments.Duration("drain-timeout");
  if (!timeout.ok()) return timeout.status();
  client::ConnectOptions options;
  options.server = call.settings.server;
  options.directory = call.settings.directory;
  options.retries = 0;
  auto client = client::Client::Connect(options);
  if (!client.ok()) return client.status();
  const auto info = client->Info();
  if (!info.ok()) return info.status();
  const Steady::time_point start = Steady::now();
  const absl::Status asked = client->Shutdown(*timeout);
  // One that drains already goes on by its own timeout.
  const nanoseconds own =
      info->has_drain_timeout() ? std::chrono::seconds(info->drain_timeout().seconds()) : std::chrono::minutes(2);
  const nanoseconds longest = std::max(timeout->value_or(nanoseconds(0)), own) + kMargin;
  if (const absl::Status status = WaitForTheEnd(call, *info, *client, asked, longest); !status.ok()) return status;
  const nanoseconds took = Steady::now() - start;
  call.output.Answer(
      [&] {
        return Done(call.console, info->name() + " (pid " + std::to_string(info->pid()) + ") drained and ended in " +
                                      Span(took) + ", after " + Span(Between(info->start_time(), Now())));
      },
      [&] { return JsonObject().Text("name", info->name()).Raw("pid", std::to_string(info->pid())).Json(); }, "");
  return absl::OkStatus();
}

}  // namespace

Command DownCommand() {
  return {.name = "down",
          .group = Group::kDaemon,
          .summary = "drain the daemon, and wait until it has ended",
          .details =
              "Jobs that run may finish until the drain timeout is over; then they are cancelled. Ctrl-C ends the\n"
              "waiting; the daemon goes on ending.",
          .example = "hotplate down",
          .options = {{.names = "--drain-timeout",
                       .value = "TIME",
                       .help = "how long jobs may still run (default: the daemon's)"}},
          .run = Down};
}

}  // namespace hotplate::cli
