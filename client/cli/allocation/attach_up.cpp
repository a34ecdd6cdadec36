// hotplate up --attach JOBID: the daemon as a step of a job that is there already.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "client/cli/allocation/cluster_up.h"
#include "client/cli/allocation/daemon_start.h"
#include "client/cli/allocation/local_daemon.h"
#include "client/cli/allocation/private_folder.h"
#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/allocation/up_wait.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

absl::Status CannotAttach(const SchedulerJob& job, const JobStatus& status) {
  const std::string text = StateText(job, status);
  switch (status.phase) {
    case JobStatus::Phase::kPending:
      return WithNextStep(absl::FailedPreconditionError(text + ": a daemon can be started in it once it runs"),
                          "squeue -j " + job.id);
    case JobStatus::Phase::kForgotten:
      return WithNextStep(WithExitCode(absl::NotFoundError("Slurm knows no job " + job.id), kExitScheduler),
                          "yours: squeue --me");
    default:
      return WithNextStep(WithExitCode(absl::FailedPreconditionError(text + ": it is over"), kExitScheduler),
                          "yours: squeue --me");
  }
}

}  // namespace

absl::Status AttachUp(const Invocation& call) {
  SchedulerJob job{*call.arguments.Text("attach"), ""};
  if (!IsJobId(job.id)) return UsageError("--attach " + Quoted(job.id) + " is not a job id; your jobs: squeue --me");
  SchedulerKind kind = SchedulerKind::kSlurm;
  if (const std::string name = call.arguments.Text("site").value_or(call.settings.site); !name.empty()) {
    const auto site = FindSite(name, call.environment);
    if (!site.ok()) return site.status();
    kind = site->scheduler;
    job.cluster = site->cluster;
  }
  auto name = WantedName(call);
  if (!name.ok()) return name.status();
  if (const absl::Status status = CheckDaemonOptions(call.arguments.rest()); !status.ok()) return status;
  const auto python = PythonOptions(call.arguments);
  if (!python.ok()) return python.status();
  const auto on_interrupt = OnInterruptOption(call);
  if (!on_interrupt.ok()) return on_interrupt.status();
  const auto timeout = call.arguments.Duration("timeout");
  if (!timeout.ok()) return timeout.status();
  const auto idle = call.arguments.Duration("idle-timeout");
  if (!idle.ok()) return idle.status();
  const auto program = FindDaemonProgram(call.environment);
  if (!program.ok()) return program.status();

  UpInterrupts interrupts;
  const auto scheduler = SchedulerFor(kind, job.cluster, call.environment, interrupts.token());
  const std::string cluster = scheduler->ClusterName();
  auto resolved = scheduler->Resolve(job);
  if (!resolved.ok()) return resolved.status();
  job = *std::move(resolved);
  job.home = cluster;
  if (name->empty()) name = (cluster.empty() ? "slurm" : cluster) + "-" + job.id;
  std::vector<std::string> words = {*program, "--name", *name, "--directory", call.settings.directory};
  if (*idle) words.insert(words.end(), {"--idle-timeout", *call.arguments.Text("idle-timeout")});
  words.insert(words.end(), python->begin(), python->end());
  words.insert(words.end(), call.arguments.rest().begin(), call.arguments.rest().end());
  const auto step = scheduler->InsideJob(job, words);
  if (!step.ok()) return step.status();
  if (call.arguments.Flag("dry-run")) {
    call.output.Answer([&] { return Join(*step, " "); },
                       [&] { return JsonObject().Raw("command", JsonTexts(*step)).Json(); }, Join(*step, " "));
    return absl::OkStatus();
  }

  const auto status = scheduler->State(job);
  if (!status.ok()) return status.status();
  if (status->phase != JobStatus::Phase::kRunning) return CannotAttach(job, *status);
  const auto starter_program = FindProgram(step->front(), call.environment);
  if (!starter_program)
    return WithExitCode(absl::NotFoundError("no " + step->front() + " in PATH: is this a login node of the cluster?"),
                        kExitScheduler);
  const std::string log = LogPath(call.settings, *name);
  if (const absl::Status made = MakePrivateFolder(call.settings.directory + "/logs"); !made.ok()) return made;
  if (const absl::Status prepared = PrepareNotes(call.settings.directory); !prepared.ok()) return prepared;

  WaitingLine line(call.console, call.output.talkative());
  const AllocationNote note{.name = *name,
                            .site = "",
                            .scheduler = kind,
                            .job = job,
                            .output_file = log,
                            .request = {},
                            .submit_time = static_cast<EpochSeconds>(Now().seconds()),
                            .attached = true};
  std::optional<Starter> starter;
  std::size_t output_start = 0;
  if (const auto info = AskDaemon(call.settings, *name); !info.ok() || info->state() != v1::SERVING) {
    if (const absl::Status status_of_note = WriteNote(call.settings.directory, note); !status_of_note.ok())
      return status_of_note;
    std::error_code error;
    if (const auto size = std::filesystem::file_size(log, error); !error) output_start = static_cast<std::size_t>(size);
    // A step that is started from outside of the job is not told.
    if (!cluster.empty()) setenv("SLURM_CLUSTER_NAME", cluster.c_str(), /*overwrite=*/0);
    // It outlives this command, and a logout: a session of its own, without a terminal.
    auto process = DaemonProcess::Start(*starter_program, {step->begin() + 1, step->end()}, log);
    if (!process.ok()) return process.status();
    const auto running = std::make_shared<DaemonProcess>(*std::move(process));
    starter =
        Starter{.ended = [running] { return running->Ended(); }, .end = [running] { kill(running->pid(), SIGTERM); }};
  }
  return UpWait{.call = call,
                .scheduler = *scheduler,
                .note = note,
                .interrupts = interrupts,
                .line = line,
                .on_interrupt = *on_interrupt,
                .timeout = *timeout,
                .submitted = starter.has_value(),
                .starter = starter,
                .output_start = output_start}
      .Run();
}

}  // namespace hotplate::cli
