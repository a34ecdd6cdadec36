// hotplate up: have a daemon running. On this machine, in a batch job, or in an allocation that is there already.
#include "client/cli/allocation/cluster_up.h"
#include "client/cli/commands.h"
#include "client/cli/local_up.h"

namespace hotplate::cli {
namespace {

// Which options mean nothing beside which way to start.
absl::Status CheckWay(const Arguments& arguments) {
  const bool local = arguments.Flag("local"), attach = arguments.Text("attach").has_value();
  if (local && attach) return UsageError("--local and --attach: a daemon is started in one place");
  if (!local && !attach) return absl::OkStatus();
  const std::string way = local ? "--local" : "--attach";
  for (const char* option : {"account", "gpus", "gpu-type", "time", "partition", "cpus", "memory", "directive"})
    if (!arguments.All(option).empty())
      return UsageError("--" + std::string(option) + " asks for an allocation, and " + way + " takes what is there");
  for (const char* flag : {"again", "detach", "exclusive"})
    if (arguments.Flag(flag))
      return UsageError("--" + std::string(flag) + " asks for an allocation, and " + way + " takes what is there");
  if (local)
    for (const char* option : {"site", "on-interrupt", "idle-timeout"})
      if (arguments.Text(option))
        return UsageError("--" + std::string(option) + " and --local do not go together" +
                          (std::string(option) == "idle-timeout" ? ": say it behind a --" : ""));
  return absl::OkStatus();
}

absl::Status Up(const Invocation& call) {
  if (const absl::Status status = CheckWay(call.arguments); !status.ok()) return status;
  if (call.arguments.Flag("local")) return LocalUp(call);
  if (call.arguments.Text("attach")) return AttachUp(call);
  return ClusterUp(call);
}

}  // namespace

Command UpCommand() {
  return {
      .name = "up",
      .group = Group::kDaemon,
      .summary = "start a daemon, and wait until it is ready",
      .details =
          "In a batch job that asks for GPUs as the site's profile says (hotplate sites), on this machine (--local),\n"
          "or in an allocation that you have already (--attach). One that runs already is left as it is, and one that\n"
          "waits in the queue under that --name is waited for; without --name another job is submitted. The daemon\n"
          "goes on when this command ends; its log: hotplate logs. What stands behind -- is given to hotplated\n"
          "(hotplated --help). One in an allocation that you have ends with it, and at a logout where the login node\n"
          "ends all that its users leave behind (KillUserProcesses).\n"
          "Ctrl-C while it waits asks whether to keep the job or to cancel it; where nobody can be asked it is kept.\n"
          "Exit code 9: the scheduler refused, or ended the job before it ran; 3: the daemon did not get ready, or it\n"
          "did and this machine cannot reach it: then how to forward its port (hotplate status --forward) is said.\n"
          "With --detach nothing is waited for, and 0 means that the job is submitted.",
      .example = "hotplate up --site hpc2n --account hpc2n2024-142 --gpus 1 --gpu-type l40s --time 30m",
      .options = {{.names = "--local", .value = "", .help = "on this machine; inside an allocation: on its node"},
                  {.names = "--site",
                   .value = "NAME",
                   .help = "the site's profile (default: HOTPLATE_SITE, else generic-slurm)",
                   .offer = Offer::kSite},
                  {.names = "-A,--account", .value = "ACCOUNT", .help = "the project to charge (HOTPLATE_ACCOUNT)"},
                  {.names = "--gpus", .value = "N", .help = "how many GPUs (default 1)"},
                  {.names = "--gpu-type", .value = "TYPE", .help = "which GPUs: l40s, a100, …"},
                  {.names = "-t,--time", .value = "TIME", .help = "how long: 30m, 2h, 01:30:00"},
                  {.names = "-p,--partition", .value = "NAME", .help = "the scheduler's partition or queue"},
                  {.names = "--cpus", .value = "N", .help = "cores"},
                  {.names = "--memory", .value = "SIZE", .help = "host memory: 64G"},
                  {.names = "--exclusive", .value = "", .help = "the whole node"},
                  {.names = "--directive",
                   .value = "TEXT",
                   .help = "one more for the scheduler: --directive=--qos=high",
                   .repeatable = true},
                  {.names = "--name",
                   .value = "NAME",
                   .help = "the daemon's name (default: local, or the cluster's name and the job's id)"},
                  {.names = "--idle-timeout",
                   .value = "TIME",
                   .help = "the daemon ends itself after so long without use (default 15m; 0: never)"},
                  {.names = "--detach", .value = "", .help = "do not wait: submit, and tell the job's id"},
                  {.names = "--attach",
                   .value = "JOBID",
                   .help = "start it inside this job of yours, beside what runs"},
                  {.names = "--again", .value = "", .help = "what was asked for last time; options given here replace"},
                  {.names = "--dry-run", .value = "", .help = "print the batch script, submit nothing"},
                  {.names = "--on-interrupt",
                   .value = "WHAT",
                   .help = "at Ctrl-C keep or cancel the job, without a question",
                   .offer = Offer::kChoices,
                   .choices = {"keep", "cancel"}},
                  {.names = "--timeout",
                   .value = "TIME",
                   .help = "how long to wait until it is ready (default 30s with --local, else as long as it takes)"}},
      .rest = "DAEMON OPTIONS",
      .run = Up};
}

}  // namespace hotplate::cli
