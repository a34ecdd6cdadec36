#include "server/daemon.h"

#include <cstdio>
#include <memory>
#include <string>

#include "kernels/base/quantity.h"
#include "server/assembly.h"
#include "server/ending.h"
#include "server/saved/held_notes.h"
#include "server/spare_memory.h"

namespace hotplate::server {
namespace {

using core::nanoseconds;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "hotplated: %s\n", std::string(status.message()).c_str());
  switch (status.code()) {
    case absl::StatusCode::kAlreadyExists:
      return kExitNameTaken;
    case absl::StatusCode::kPermissionDenied:
      return kExitNotPrivate;
    default:
      return kExitCannotStart;
  }
}

// Returns only where the end does not end the process.
void Serve(Assembly& daemon) {
  const Config& config = daemon.config();
  const std::shared_ptr<spdlog::logger>& log = daemon.log();
  Ending ending(daemon);
  SpareMemory spare_memory;
  log->info("{}", WhenUnused(config));
  const HeldNotes held_notes(daemon.engine(), daemon.job_ids(), daemon.saver(),
                             [log](const std::string& why) { log->warn("{}", why); });
  const std::string idle = "idle for " + DurationText(config.idle_timeout) + ": no job, upload or download";
  for (;;) {
    const Control::Wish wish = daemon.control().Wait(kTick);
    switch (wish.kind) {
      case Control::Wish::Kind::kSignal:
        ending.Signalled();
        [[fallthrough]];
      case Control::Wish::Kind::kShutdown:
        return ending.Drain(ending.TimeoutOf(wish), wish.reason, true);
      case Control::Wish::Kind::kDrain:
        ending.Drain(ending.TimeoutOf(wish), wish.reason, false);
        break;
      case Control::Wish::Kind::kFinished:
      case Control::Wish::Kind::kNone:
        break;
    }
    daemon.server().RefreshHealth();
    spare_memory.GiveBack(daemon.clock().Now(), daemon.engine().Status().idle);
    if (nanoseconds left{}; ending.IsNear(left)) return ending.Drain(left, ending.WhenItEnds(), true);
    if (config.idle_timeout.count() > 0 && daemon.engine().DrainIfIdle(config.idle_timeout, idle)) {
      // Successors for whom jobs are left have work to do.
      if (!daemon.engine().LeavesJobs()) daemon.CancelSuccessors();
      // Nobody waits, and the arrays' owner is not here to be asked: what takes long to save may take long.
      return ending.Drain(ending.TimeoutOf({}), idle, true, ending.TimeToSaveWhenIdle());
    }
  }
}

}  // namespace

int RunDaemon(const Config& config, const Surroundings& surroundings, Supervisor* supervisor) {
  Assembly daemon(config, surroundings, supervisor);
  if (absl::Status status = daemon.Start(); !status.ok()) {
    daemon.GiveUp();
    return Fail(status);
  }
  Serve(daemon);
  return kExitOk;
}

}  // namespace hotplate::server
