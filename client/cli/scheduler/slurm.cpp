#include "client/cli/scheduler/slurm.h"

#include <utility>

#include "client/cli/ending.h"
#include "kernels/base/slurm.h"

namespace hotplate::cli {
namespace {

// A busy slurmctld takes its time, and sbatch repeats by itself for a while.
constexpr std::chrono::seconds kSubmitTimeout(120), kCheckTimeout(60), kCancelTimeout(60);

// Slurm's own words, and the remedy.
absl::Status SlurmRefuses(const std::string& what, const ProgramResult& result) {
  std::string words = Trimmed(result.err);
  if (words.empty()) words = Trimmed(result.out);
  if (words.empty()) words = "exit code " + std::to_string(result.exit_code) + ", without any output";
  absl::Status status =
      WithExitCode(absl::FailedPreconditionError("Slurm refuses (" + what + "):\n" + words), kExitScheduler);
  const std::string advice = slurm::WhatToDo(words);
  return advice.empty() ? status : WithNextStep(status, advice);
}

JobStatus StatusOf(const SlurmJob& job) {
  return {.phase = slurm::PhaseOf(job.state),
          .state = job.state,
          .reason = job.reason,
          .nodes = job.nodes,
          .user = job.user,
          .start = job.start,
          .end = job.end};
}

class SlurmScheduler : public Scheduler {
 public:
  SlurmScheduler(ProgramRunner run, std::string cluster, std::stop_token stop)
      : run_(std::move(run)), cluster_(std::move(cluster)), stop_(std::move(stop)) {}

  std::string Name() const override { return "Slurm"; }
  std::string CheckedBy() const override { return "sbatch --test-only"; }

  absl::Status Check(const std::string& script) override {
    const SlurmCommands commands(run_, {.cluster = cluster_, .timeout = kCheckTimeout, .stop = stop_});
    const auto result = commands.Run("sbatch", {"--test-only"}, Script(script));
    if (!result.ok()) return NoAnswer(result.status());
    if (result->exit_code == 0) return absl::OkStatus();
    if (const std::string words = Trimmed(result->err); slurm::OnlyDoubts(words)) return absl::AbortedError(words);
    return SlurmRefuses("sbatch --test-only", *result);
  }

  absl::StatusOr<SchedulerJob> Submit(const std::string& script) override {
    const SlurmCommands commands(run_, {.cluster = cluster_, .timeout = kSubmitTimeout});
    const auto result = commands.Run("sbatch", {"--parsable"}, Script(script));
    if (absl::IsDeadlineExceeded(result.status()))
      return WithNextStep(NoAnswer(result.status()), "the job may exist nevertheless: squeue --me");
    if (!result.ok()) return NoAnswer(result.status());
    if (result->exit_code != 0) return SlurmRefuses("sbatch", *result);
    auto job = slurm::ParseSubmission(result->out);
    if (!job)
      return WithNextStep(WithExitCode(absl::UnknownError("sbatch accepted the job but printed no id:\n" +
                                                          Trimmed(result->out + result->err)),
                                       kExitScheduler),
                          "look for it: squeue --me");
    if (job->cluster.empty()) job->cluster = cluster_;
    job->remarks += (job->remarks.empty() ? "" : "\n") + Trimmed(result->err);
    return *std::move(job);
  }

  absl::StatusOr<JobStatus> State(const SchedulerJob& job) override { return Ask(job, stop_); }

  absl::Status Cancel(const SchedulerJob& wanted) override {
    const std::stop_token to_the_end;  // cancels go on after Ctrl-C, which often causes them
    const auto found = Where(wanted, to_the_end);
    if (!found.ok()) return found.status();
    const SchedulerJob& job = *found;
    if (!job.user.empty()) {  // an operator may cancel anybody's
      const auto status = Ask(job, to_the_end);
      if (!status.ok()) return status.status();
      if (status->over()) return absl::OkStatus();
    }
    const SlurmCommands commands(run_, {.cluster = job.cluster, .timeout = kCancelTimeout});
    const auto result = commands.Run("scancel", {job.id});
    if (!result.ok()) return NoAnswer(result.status());
    // One that is over already is as good as cancelled.
    if (result->exit_code == 0 || result->err.find("Invalid job id") != std::string::npos) return absl::OkStatus();
    return SlurmRefuses("scancel " + job.id, *result);
  }

  absl::StatusOr<SchedulerJob> Resolve(const SchedulerJob& job) override {
    if (job.id.find_first_of("_+") == std::string::npos) return job;
    const auto result = On(job.cluster, stop_).Ask("squeue", {"-h", "-a", "-j", job.id, "-o", "%A"});
    if (!result.ok()) return NoAnswer(result.status());
    const auto number = slurm::ParseSubmission(result->out);  // a number of its own on the last line, too
    return number ? SchedulerJob{number->id, job.cluster, job.home, job.user} : job;
  }

  std::string ClusterName() override { return cluster_.empty() ? OwnName(stop_) : cluster_; }

  absl::StatusOr<std::vector<std::string>> InsideJob(const SchedulerJob& job,
                                                     const std::vector<std::string>& words) override {
    std::vector<std::string> step = On(job.cluster, stop_)
                                        .Command("srun", {"--jobid=" + job.id, "--overlap", "--nodes=1", "--ntasks=1",
                                                          "--cpu-bind=none", "--quiet"});
    step.insert(step.end(), words.begin(), words.end());
    return step;
  }

  std::string LookCommand(const SchedulerJob& job) const override {
    return std::string("squeue ") + (job.cluster.empty() ? "" : "-M " + job.cluster + " ") + "-j " + job.id;
  }

 private:
  static ProgramCall Script(const std::string& script) {
    return {.input = script, .without = slurm::VariablesAgainst(script)};
  }

  SlurmCommands On(const std::string& cluster, const std::stop_token& stop) const {
    return SlurmCommands(run_, {.cluster = cluster, .stop = stop});
  }

  // The job with the cluster that has to be named for it: the one of this host may have another job of that number.
  absl::StatusOr<SchedulerJob> Where(SchedulerJob job, const std::stop_token& stop) {
    if (!job.cluster.empty() || job.home.empty()) return job;
    const std::string own = OwnName(stop);
    if (own.empty())
      return WithExitCode(absl::UnavailableError("scontrol show config does not tell which cluster this is"),
                          kExitScheduler);
    if (own != job.home) job.cluster = job.home;
    return job;
  }

  // The name of this host's cluster; asked for until there is an answer.
  std::string OwnName(const std::stop_token& stop) {
    if (!own_name_.empty()) return own_name_;
    auto config = On("", stop).Config();
    if (config.ok()) own_name_ = (*config)["ClusterName"];
    return own_name_;
  }

  absl::StatusOr<JobStatus> Ask(const SchedulerJob& wanted, const std::stop_token& stop) {
    const auto found = Where(wanted, stop);
    if (!found.ok()) return found.status();
    const SchedulerJob& job = *found;
    const auto queued = On(job.cluster, stop).Queued(job.id);
    if (!queued.ok()) return NoAnswer(queued.status());
    if (*queued) return OfUser(StatusOf(**queued), job);
    return Past(job, stop);
  }

  // Another user's job has that number by now: this one is long over.
  static JobStatus OfUser(JobStatus status, const SchedulerJob& job) {
    return job.user.empty() || status.user.empty() || status.user == job.user ? std::move(status) : JobStatus{};
  }

  // squeue forgets a job minutes after its end. Where there is accounting, it remembers; else nobody does.
  JobStatus Past(const SchedulerJob& job, const std::stop_token& stop) {
    const auto accounted = On(job.cluster, stop).Accounted(job.id);
    if (!accounted.ok() || !*accounted) return {};
    JobStatus status = StatusOf(**accounted);
    // The accounting lags behind; squeue is the one to know what goes on.
    if (status.phase != JobStatus::Phase::kEnded) return {};
    return OfUser(std::move(status), job);
  }

  const ProgramRunner run_;
  const std::string cluster_;
  const std::stop_token stop_;
  std::string own_name_;  // once OwnName was answered
};

}  // namespace

std::unique_ptr<Scheduler> MakeSlurm(ProgramRunner run, const std::string& cluster, std::stop_token stop) {
  return std::make_unique<SlurmScheduler>(std::move(run), cluster, std::move(stop));
}

}  // namespace hotplate::cli
