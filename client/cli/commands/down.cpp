// hotplate down: drain the daemon and wait until its process has ended.
#include <poll.h>

#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/records.h"

namespace hotplate::cli {
namespace {

// Whether the daemon's process can be seen from here decides how its end is noticed.
bool Gone(const v1::GetServerInfoResponse& info, client::Client& client) {
  if (info.node() == HostName()) return !ProcessExists(static_cast<int>(info.pid()));
  return !client.Info().ok();
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
  const auto start = std::chrono::steady_clock::now();
  // A daemon that ends while it answers has done what was asked.
  if (const absl::Status status = client->Shutdown(*timeout); !status.ok() && !Gone(*info, *client)) return status;

  // The daemon leaves in any case when its drain timeout is over; the rest is for its last steps.
  const nanoseconds longest = timeout->value_or(std::chrono::minutes(2)) + std::chrono::seconds(30);
  bool told = false;
  while (!Gone(*info, *client)) {
    const nanoseconds waited = std::chrono::steady_clock::now() - start;
    if (waited > longest)
      return absl::DeadlineExceededError(info->name() + " (pid " + std::to_string(info->pid()) +
                                         ") was told to end and is still there after " + Span(waited) +
                                         "; hotplate logs");
    if (!told && waited > std::chrono::seconds(1) && call.console.err_terminal && call.output.talkative()) {
      call.console.err << "draining " << info->name() << " …\n" << std::flush;
      told = true;
    }
    poll(nullptr, 0, 10);
  }
  const nanoseconds took = std::chrono::steady_clock::now() - start;
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
          .details = "Jobs that run may finish until the drain timeout is over; then they are cancelled.",
          .example = "hotplate down",
          .options = {{.names = "--drain-timeout",
                       .value = "TIME",
                       .help = "how long jobs may still run (default: the daemon's)"}},
          .run = Down};
}

}  // namespace hotplate::cli
