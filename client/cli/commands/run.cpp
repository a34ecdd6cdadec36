// hotplate run: one job of a kernel, from files to files, in the foreground.
#include "client/cli/commands.h"
#include "client/cli/jobs/foreground_job.h"

namespace hotplate::cli {
namespace {

absl::Status Run(const Invocation& call) {
  return RunInForeground(call, [&call] { return PrepareJob(call, JobOptionsOfRun()); });
}

}  // namespace

Command RunCommand() {
  return {
      .name = "run",
      .group = Group::kJobs,
      .summary = "run a kernel and wait for its result",
      .details =
          "An INPUT is a .npy file, a number, array:NAME on the daemon, or path:FILE.npy, which the daemon reads\n"
          "itself, so that nothing crosses the network. NAME=INPUT names the input it is for. Without -o, prints a\n"
          "scalar or the summary of an array. -o path:FILE.npy makes the daemon write the file itself. Ctrl-C cancels\n"
          "the job. If the connection breaks, run tries to reach the daemon for 2 minutes and continues the\n"
          "transfers; the job runs once. The daemon cancels the job 10 s after it lost this command (hotplated\n"
          "--disconnect-grace), unless you gave --detach-on-disconnect.",
      .example = "hotplate run matmul a.npy b.npy -o c.npy",
      .positionals = JobPositionals(),
      .options = JobOptionsOfRun(),
      .takes_kernel_parameters = true,
      .run = Run};
}

}  // namespace hotplate::cli
