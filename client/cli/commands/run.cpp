// hotplate run: one job of a kernel, from files to files, in the foreground.
#include "client/cli/commands.h"
#include "client/cli/jobs/foreground_job.h"
#include "client/cli/pipe/pipe.h"
#include "client/cli/pipe/pipe_words.h"

namespace hotplate::cli {
namespace {

absl::Status Run(const Invocation& call) {
  if (AsksForPipe(call.words)) return RunPipe(call);
  if (const absl::Status status = CheckWithoutPipe(call.words); !status.ok()) return status;
  return RunInForeground(call, [&call] { return PrepareJob(call, JobOptionsOfRun()); });
}

std::vector<OptionSpec> Options() {
  std::vector<OptionSpec> options = JobOptionsOfRun();
  for (OptionSpec& option : PipeOptions()) options.push_back(std::move(option));
  return options;
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
          "--disconnect-grace), unless you gave --detach-on-disconnect.\n"
          "With --pipe, without words, each line of standard input is a job as JSON, {\"kernel\": \"selu\", "
          "\"inputs\":\n"
          "{\"x\": \"x.npy\"}}, and each line of standard output an answer. Many jobs are in flight together. It ends\n"
          "with the exit code of the first job that did not complete. The page json (hotplate help json) has the "
          "lines.",
      .example = "hotplate run matmul a.npy b.npy -o c.npy",
      .positionals = JobPositionals(),
      .options = Options(),
      .takes_kernel_parameters = true,
      .run = Run};
}

}  // namespace hotplate::cli
