#include "client/cli/allocation/regain.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "client/cli/allocation/absence.h"
#include "client/cli/allocation/follow_on.h"
#include "client/cli/allocation/text.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {

bool MayAnswerLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsUnauthenticated(status);  // somebody else has its port by now
}

bool IsFollowed(const Invocation& call) {
  const auto note = ReadNote(call.settings.directory, call.connected.name());
  if (!note) return false;
  const std::string& job = call.connected.slurm_job_id();
  const AllocationNote then = AtJob(call.settings.directory, *note, job);
  // Now another job has the name, or one will.
  return HasJob(*note, job) && (then.job.id != job || !then.follow_on.empty());
}

absl::StatusOr<client::Client> Regain(const Invocation& call, const std::string& name, absl::Status lost,
                                      const std::function<bool(std::chrono::milliseconds)>& interrupted) {
  constexpr std::chrono::milliseconds kPause(500);
  // A daemon that ends cancels its calls. Nobody did so here.
  if (absl::IsCancelled(lost)) lost = absl::UnavailableError("daemon \"" + name + "\" has ended");
  Settings settings = call.settings;
  if (settings.server.empty() && settings.endpoint.empty()) settings.server = name;
  const Invocation there = call.With(settings);
  TellConnection(call.console, lost);
  auto until = std::chrono::steady_clock::now() + client::kReconnectBound;
  NextStart next;
  bool told = false;
  while (!interrupted(kPause)) {
    auto client = there.TryConnect(/*retries=*/0);
    if (client.ok()) {
      TellConnection(call.console, absl::OkStatus());
      return client;
    }
    if (std::chrono::steady_clock::now() < until) continue;
    auto found = LookForLost(call);  // a daemon that ends in order takes its record away
    if (!found) found = LookForAllocation(there);
    if (!next.Expected(found)) return lost;
    const bool waits = found->status.ok() && found->status->phase == JobStatus::Phase::kPending;
    if (waits && !std::exchange(told, true)) {
      Remark(call.console, name + " is not back: waiting, without a limit, for its job to start again: " +
                               StateText(found->note.job, *found->status));
    }
    until = std::chrono::steady_clock::now() + client::kReconnectBound;
  }
  return absl::CancelledError("interrupted");
}

absl::StatusOr<v1::JobEnd> WatchOn(const Invocation& call, client::Client& client, const std::string& job,
                                   const std::function<void(const v1::JobUpdate&)>& on_update) {
  std::uint64_t last = 0;
  const auto news = [&](const v1::JobUpdate& update) {
    if (update.sequence() != 0 && update.sequence() <= last) return;  // told by the daemon before
    last = std::max<std::uint64_t>(last, update.sequence());
    on_update(update);
  };
  while (true) {
    auto end = client.Watch(job, news);
    if (end.ok() || !MayAnswerLater(end.status()) || !IsFollowed(call)) return end;
    auto next = Regain(call, client.server_name(), end.status(), [](std::chrono::milliseconds pause) {
      std::this_thread::sleep_for(pause);
      return false;  // Ctrl-C ends the command
    });
    if (!next.ok()) return next.status();
    client = *std::move(next);
  }
}

}  // namespace hotplate::cli
