#include "client/cli/scheduler/lsf.h"

#include <sstream>
#include <utility>
#include <vector>

#include "client/cli/ending.h"

namespace hotplate::cli {
namespace {

constexpr std::chrono::seconds kBsubTimeout(120), kBjobsTimeout(20), kBkillTimeout(60);

absl::Status LsfRefuses(const std::string& what, const ProgramResult& result) {
  const std::string words = Trimmed(result.err.empty() ? result.out : result.err);
  return WithExitCode(absl::FailedPreconditionError("LSF refuses (" + what + "):\n" + words), kExitScheduler);
}

class Lsf : public Scheduler {
 public:
  explicit Lsf(ProgramRunner run) : run_(std::move(run)) {}

  std::string Name() const override { return "LSF"; }
  std::string CheckedBy() const override { return ""; }
  // bsub has no way to look without submitting.
  absl::Status Check(const std::string&) override { return absl::OkStatus(); }

  absl::StatusOr<SchedulerJob> Submit(const std::string& script) override {
    const auto result = run_({.words = {"bsub"}, .input = script, .timeout = kBsubTimeout});
    if (!result.ok()) return WithNextStep(NoAnswer(result.status()), "the job may exist nevertheless: bjobs");
    if (result->exit_code != 0) return LsfRefuses("bsub", *result);
    auto job = lsf::ParseSubmission(result->out);
    if (job) return *std::move(job);
    return WithNextStep(WithExitCode(absl::UnknownError("bsub accepted the job but printed no id:\n" +
                                                        Trimmed(result->out + result->err)),
                                     kExitScheduler),
                        "look for it: bjobs");
  }

  absl::StatusOr<JobStatus> State(const SchedulerJob& job) override {
    const auto result =
        run_({.words = {"bjobs", "-noheader", "-a", "-o", lsf::kBjobsColumns, job.id}, .timeout = kBjobsTimeout});
    if (!result.ok()) return NoAnswer(result.status());
    if (auto status = lsf::ParseBjobs(result->out, job.id)) return *std::move(status);
    if ((result->out + result->err).find("is not found") != std::string::npos) return JobStatus{};
    return WithExitCode(absl::UnavailableError("bjobs: " + Trimmed(result->err)), kExitScheduler);
  }

  absl::Status Cancel(const SchedulerJob& job) override {
    const auto result = run_({.words = {"bkill", job.id}, .timeout = kBkillTimeout});
    if (!result.ok()) return NoAnswer(result.status());
    const std::string words = result->out + result->err;
    if (result->exit_code == 0 || words.find("already finished") != std::string::npos ||
        words.find("No matching job") != std::string::npos)
      return absl::OkStatus();
    return LsfRefuses("bkill " + job.id, *result);
  }

  std::string ClusterName() override { return ""; }

  absl::StatusOr<std::vector<std::string>> InsideJob(const SchedulerJob&, const std::vector<std::string>&) override {
    return absl::UnimplementedError("LSF has no step beside the running ones; inside the job: hotplate up --local");
  }

  std::string LookCommand(const SchedulerJob& job) const override { return "bjobs -l " + job.id; }

 private:
  const ProgramRunner run_;
};

}  // namespace

std::unique_ptr<Scheduler> MakeLsf(ProgramRunner run) { return std::make_unique<Lsf>(std::move(run)); }

namespace lsf {

std::optional<SchedulerJob> ParseSubmission(const std::string& out) {
  for (std::size_t begin = out.find("Job <"); begin != std::string::npos; begin = out.find("Job <", begin + 1)) {
    const std::size_t end = out.find('>', begin);
    if (end == std::string::npos) break;
    if (SchedulerJob job{out.substr(begin + 5, end - begin - 5), ""}; IsJobId(job.id)) return job;
  }
  return std::nullopt;
}

std::optional<JobStatus> ParseBjobs(const std::string& out, const std::string& job_id) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; fields.size() < 3 && std::getline(words, field, '|');)
      fields.push_back(field == "-" ? "" : field);
    std::string reason;
    std::getline(words, reason);
    if (fields.size() != 3 || fields[0] != job_id) continue;
    using Phase = JobStatus::Phase;
    const std::string& word = fields[1];
    // In the words that the rest of the program uses.
    const auto [phase, state] = word == "PEND" || word == "PSUSP" ? std::pair(Phase::kPending, "PENDING")
                                : word == "RUN" || word == "USUSP" || word == "SSUSP" || word == "PROV"
                                    ? std::pair(Phase::kRunning, "RUNNING")
                                : word == "DONE" ? std::pair(Phase::kEnded, "COMPLETED")
                                : word == "EXIT" ? std::pair(Phase::kEnded, "FAILED")
                                                 : std::pair(Phase::kForgotten, "");
    return JobStatus{.phase = phase,
                     .state = state,
                     .reason = reason == "-" ? "" : Trimmed(reason),
                     .nodes = fields[2],
                     .user = {},
                     .start = {},
                     .end = {}};
  }
  return std::nullopt;
}

}  // namespace lsf
}  // namespace hotplate::cli
