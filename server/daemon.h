// The daemon: one start, one life, one end.
//   1. Claims its name in HOTPLATE_DIR, makes certificates and token, and begins to ask Slurm when the allocation ends.
//   2. Opens the devices, then the engine and the arrays over them.
//   3. Listens, and only then publishes the endpoint record, so that everybody who reads it can connect.
//   4. Serves until a signal, a Shutdown, or the idle timeout: so long without a job, an upload or a download. Watching
//      (top, watch, status), held arrays and results do not count as use of the allocation. Watchers are warned of the
//      allocation's end, and the daemon drains by itself in time for it.
//   5. Tells its clients, drains within the timeout, saves arrays under a lease, withdraws the record, and leaves
//      in any case.
#pragma once

#include "server/config.h"
#include "server/workers/supervisor.h"

namespace hotplate::server {

// Exit statuses of hotplated, the same as the command's for the same meaning.
inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCannotStart = 4;
inline constexpr int kExitNameTaken = 5;
inline constexpr int kExitNotPrivate = 6;

// Returns the exit status, after a sentence on standard error if that is not 0. Signals must be blocked
// (Control::BlockSignals). Does not return if a device call hangs on at the end: the process then just leaves.
// `supervisor`: for programs of users; null where there are none.
int RunDaemon(const Config& config, const Surroundings& surroundings, Supervisor* supervisor);

}  // namespace hotplate::server
