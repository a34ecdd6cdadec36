#include "client/cli/allocation/follow_on.h"

#include <algorithm>
#include <vector>

#include "client/cli/ending.h"

namespace hotplate::cli {
namespace {

constexpr int kMostFollowOn = 20;

}  // namespace

absl::StatusOr<int> FollowOnOption(const Arguments& arguments) {
  const auto count = arguments.Integer("follow-on", 0, kMostFollowOn);
  if (!count.ok()) return count.status();
  return static_cast<int>(count->value_or(0));
}

absl::Status CheckFollowOn(const Site& site, const AllocationRequest& request, int count, Scheduler& scheduler) {
  if (count == 0) return absl::OkStatus();
  if (site.scheduler != SchedulerKind::kSlurm)
    return UsageError("--follow-on " + std::to_string(count) + ": site " + site.name + " has " + Word(site.scheduler) +
                      ", and jobs follow on each other only under Slurm");
  if (request.name.empty() && scheduler.ClusterName().empty())
    return UsageError(
        "--follow-on " + std::to_string(count) +
        " needs --name here: Slurm does not tell the cluster's name, by which the daemon would call itself");
  return absl::OkStatus();
}

absl::Status SubmitFollowOn(const std::string& directory, const Site& site, AllocationPlan plan, const Launch& launch,
                            int count, Scheduler& scheduler, AllocationNote& note) {
  const std::vector<std::string> directives = plan.request.directives;
  plan.request.name = note.name;
  // All before it: of a job in the middle that is cancelled, Slurm too says that it has ended.
  std::string before = note.job.id;
  absl::Status failed;
  for (int i = 0; i < count && failed.ok(); ++i) {
    plan.request.directives = directives;
    plan.request.directives.push_back("--dependency=afterany:" + before);
    const auto script = RenderScript(site, plan, launch);
    const absl::StatusOr<SchedulerJob> job = script.ok() ? scheduler.Submit(*script) : script.status();
    failed = job.status();
    if (!failed.ok()) break;
    note.follow_on.push_back(job->id);
    before += ":" + job->id;
    failed = WriteNote(directory, note);
  }
  if (failed.ok()) return failed;
  return WithNextStep(
      Worded(failed, "job " + note.job.id + " is submitted, and " + std::to_string(note.follow_on.size()) + " of the " +
                         std::to_string(count) + " that were to follow on: " + std::string(failed.message())),
      "use what there is: hotplate up --name " + note.name + " · give it up: hotplate down " + note.name);
}

bool HasJob(const AllocationNote& note, const std::string& job) {
  const auto has = [&](const std::vector<std::string>& jobs) {
    return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
  };
  return note.job.id == job || has(note.earlier) || has(note.follow_on);
}

std::optional<AllocationNote> NextOf(const std::string& directory, const AllocationNote& note) {
  if (note.follow_on.empty()) return std::nullopt;
  AllocationNote next = note;
  next.earlier.push_back(note.job.id);
  next.job.id = note.follow_on.front();
  next.follow_on.erase(next.follow_on.begin());
  Site site;
  site.scheduler = note.scheduler;
  next.output_file = OutputFile(site, directory, next.job.id);
  return next;
}

AllocationNote AtJob(const std::string& directory, AllocationNote note, const std::string& job) {
  if (std::find(note.follow_on.begin(), note.follow_on.end(), job) == note.follow_on.end()) return note;
  while (note.job.id != job) note = *NextOf(directory, note);
  return note;
}

absl::Status CancelFollowOn(const std::string& directory, Scheduler& scheduler, AllocationNote& note) {
  while (!note.follow_on.empty()) {
    SchedulerJob job = note.job;
    job.id = note.follow_on.back();
    if (absl::Status status = scheduler.Cancel(job); !status.ok()) return status;
    note.follow_on.pop_back();
    if (absl::Status status = WriteNote(directory, note); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace hotplate::cli
