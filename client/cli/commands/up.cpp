// hotplate up: have a daemon running. On this machine, in a batch job, or in an allocation that is there already.
#include "client/cli/allocation/cluster_up.h"
#include "client/cli/allocation/local_up.h"
#include "client/cli/commands.h"

namespace hotplate::cli {
namespace {

// Which options mean nothing beside which way to start.
absl::Status CheckWay(const Arguments& arguments) {
  const bool local = arguments.Flag("local"), attach = arguments.Text("attach").has_value();
  if (local && attach) return UsageError("--local and --attach: give one or the other");
  if (!local && !attach) return absl::OkStatus();
  const std::string way = local ? "--local" : "--attach";
  for (const char* option :
       {"account", "gpus", "gpu-type", "time", "partition", "cpus", "memory", "directive", "follow-on"})
    if (!arguments.All(option).empty())
      return UsageError("--" + std::string(option) + " is for a new allocation; " + way + " does not request one");
  for (const char* flag : {"again", "detach", "exclusive"})
    if (arguments.Flag(flag))
      return UsageError("--" + std::string(flag) + " is for a new allocation; " + way + " does not request one");
  if (local)
    for (const char* option : {"site", "on-interrupt", "idle-timeout"})
      if (arguments.Text(option))
        return UsageError("--" + std::string(option) + " and --local do not go together" +
                          (std::string(option) == "idle-timeout" ? ": write it after --" : ""));
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
          "Submits a batch job that requests GPUs as the site's profile says (hotplate sites). --local starts the\n"
          "daemon on this machine, --attach in an allocation that you have already. The daemon keeps running when\n"
          "this command ends; hotplate logs shows its log. Arguments after -- are passed to hotplated (see\n"
          "hotplated --help). If a job with that --name waits in the queue, up waits for it. Without --name it\n"
          "submits another job.\n"
          "A running daemon or a waiting job is left as it is. up then names the options that it did not use.\n"
          "A daemon in an attached allocation ends with the allocation, and at logout where the login node ends its\n"
          "users' processes (KillUserProcesses = yes).\n"
          "With --follow-on N the scheduler gets N more jobs, each of which starts when those before it have ended.\n"
          "Each goes on under the same name, with the jobs that waited or ran, results and named arrays (--journal\n"
          "on). wait and watch go on over the change. down, and a daemon that ends for want of use, cancel those that\n"
          "have not started.\n"
          "Ctrl-C while waiting asks whether to keep or cancel the job. Without a terminal the job is kept.\n"
          "Exit code 9: the scheduler refused the job, or ended it before it ran. 3: the daemon did not become ready,\n"
          "or this machine cannot reach it; up then says how to forward its port (hotplate status --forward).\n"
          "6: the folder of the records is not private. With --detach, up does not wait, and 0 means that\n"
          "the job was submitted.",
      .example = "hotplate up --site hpc2n --account hpc2n2024-142 --gpus 1 --gpu-type l40s --time 30m",
      .options = {{.names = "--local", .value = "", .help = "start it on this machine; in an allocation, on its node"},
                  {.names = "--site",
                   .value = "NAME",
                   .help = "the site's profile (default: HOTPLATE_SITE, else generic-slurm)",
                   .offer = Offer::kSite},
                  {.names = "-A,--account", .value = "ACCOUNT", .help = "the project to charge (HOTPLATE_ACCOUNT)"},
                  {.names = "--gpus", .value = "N", .help = "how many GPUs (default 1)"},
                  {.names = "--gpu-type", .value = "TYPE", .help = "which GPUs: l40s, a100, …"},
                  {.names = "-t,--time", .value = "TIME", .help = "how long: 30m, 2h, 01:30:00"},
                  {.names = "-p,--partition", .value = "NAME", .help = "the scheduler's partition or queue"},
                  {.names = "--cpus", .value = "N", .help = "CPU cores"},
                  {.names = "--memory", .value = "SIZE", .help = "host memory: 64G"},
                  {.names = "--exclusive", .value = "", .help = "the whole node"},
                  {.names = "--directive",
                   .value = "TEXT",
                   .help = "another line for the scheduler: --directive=--qos=high",
                   .repeatable = true},
                  {.names = "--name",
                   .value = "NAME",
                   .help = "the daemon's name (default: local, or the cluster's name and the job's id)"},
                  {.names = "--python",
                   .value = "PATH",
                   .help =
                       "run scripts and functions that name no interpreter with this one, on the node (hotplate env)",
                   .offer = Offer::kFile},
                  {.names = "--module",
                   .value = "NAME",
                   .help = "load this module for them first; repeatable",
                   .repeatable = true},
                  {.names = "--idle-timeout",
                   .value = "TIME",
                   .help = "end the daemon after this long without use (default 15m; 0: never)"},
                  {.names = "--follow-on",
                   .value = "N",
                   .help = "N more jobs that go on under the same name, one after the other"},
                  {.names = "--detach", .value = "", .help = "submit the job, print its id, do not wait"},
                  {.names = "--attach", .value = "JOBID", .help = "start it in this running job of yours"},
                  {.names = "--again", .value = "", .help = "repeat the last request; options here override it"},
                  {.names = "--dry-run", .value = "", .help = "print the batch script and submit nothing"},
                  {.names = "--on-interrupt",
                   .value = "WHAT",
                   .help = "keep or cancel the job on Ctrl-C, without asking",
                   .offer = Offer::kChoices,
                   .choices = {"keep", "cancel"}},
                  {.names = "--timeout",
                   .value = "TIME",
                   .help = "how long to wait for the daemon (default 30s with --local, else no limit)"}},
      .rest = "DAEMON OPTIONS",
      .run = Up};
}

}  // namespace hotplate::cli
