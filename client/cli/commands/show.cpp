// hotplate show: all about one job.
#include "client/cli/allocation/absence.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/journals/kept_job.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

void AnswerKept(const Invocation& call, const KeptAnswer& kept) {
  call.output.Answer([&] { return Fitted(TextOf(kept, call.console.out_colour), WidthOf(call.console)); },
                     [&] { return JsonOf(kept); }, StateName(kept.job.state()));
}

// Without a daemon: shows the jobs from the journals. NOT_FOUND, and nothing is shown, if they lack one of them.
absl::Status ShowKept(const Invocation& call) {
  auto kept = KeptJobs::Open(call);
  if (!kept.ok()) return absl::NotFoundError(kept.status().message());
  const auto ids = kept->Select(call.arguments.words(), call.arguments.Text("server").value_or(""));
  if (!ids.ok()) return ids.status();
  std::vector<KeptAnswer> answers;
  for (const std::string& id : *ids) {
    auto answer = kept->Find(id);
    if (!answer.ok()) return answer.status();
    answers.push_back(*std::move(answer));
  }
  for (const KeptAnswer& answer : answers) AnswerKept(call, answer);
  return absl::OkStatus();
}

absl::Status Show(const Invocation& call) {
  auto client = call.TryConnect();
  if (!client.ok()) {
    if (!absl::IsUnavailable(client.status())) return WhyNoDaemon(call, client.status());
    const absl::Status shown = ShowKept(call);
    return absl::IsNotFound(shown) ? WhyNoDaemon(call, client.status()) : shown;
  }
  const auto ids = SelectJobs(*client, call.arguments.words(), AllJobs::kEveryOne);
  if (!ids.ok()) return ids.status();
  std::optional<KeptJobs> kept;  // once a job is not the daemon's any more
  for (const std::string& id : *ids) {
    const auto job = client->Job(id);
    if (absl::IsNotFound(job.status())) {
      if (!kept) {
        auto opened = KeptJobs::Open(call);
        if (!opened.ok()) return opened.status();
        kept.emplace(*std::move(opened));
      }
      const auto answer = kept->Find(id);
      if (!answer.ok()) return absl::IsNotFound(answer.status()) ? job.status() : answer.status();
      AnswerKept(call, *answer);
      continue;
    }
    if (!job.ok()) return job.status();
    call.output.Answer([&] { return Fitted(JobPage(*job, call.console.out_colour), WidthOf(call.console)); },
                       [&] { return ToJson(*job); }, StateName(job->state()));
  }
  return absl::OkStatus();
}

}  // namespace

Command ShowCommand() {
  return {.name = "show",
          .group = Group::kJobs,
          .summary = "show jobs: state, parameters, error, receipt",
          .details =
              "A job that the daemon does not have any more, or whose daemon has ended, is looked for in the journals\n"
              "(hotplate history). --quiet prints only the states.",
          .example = "hotplate show last",
          .positionals = {{.name = "JOB", .help = kJobWords, .maximum = kAnyNumber, .offer = Offer::kJob}},
          .options = {},
          .run = Show};
}

}  // namespace hotplate::cli
