// A daemon that was lost in the middle of a command, and may come back: restarted, or by a job that follows on its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "client/lib/client.h"

namespace hotplate::cli {

// Whether a daemon that comes back, or another start of it, would answer.
bool MayAnswerLater(const absl::Status& status);

// Whether `hotplate up --follow-on` has submitted a job that goes on under the name of the daemon that this command was
// last connected to.
bool IsFollowed(const Invocation& call);

// Waits for a lost daemon: one of the same name, whose record is read anew each time, since it may start elsewhere. If
// its job waits to start again, waits for that first. CANCELLED: interrupted.
absl::StatusOr<client::Client> Regain(const Invocation& call, const std::string& name, absl::Status lost,
                                      const std::function<bool(std::chrono::milliseconds)>& interrupted);

// Watches a job to its end, over the ends of daemons that are followed.
absl::StatusOr<v1::JobEnd> WatchOn(const Invocation& call, client::Client& client, const std::string& job,
                                   const std::function<void(const v1::JobUpdate&)>& on_update);

}  // namespace hotplate::cli
