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

// Nobody can be asked: what the journals have of all these jobs. Nothing is answered if they lack one.
bool ShowKept(const Invocation& call) {
  std::vector<KeptAnswer> answers;
  for (const std::string& word : call.arguments.words()) {
    auto kept = FindInJournals(call.settings, word);
    if (!kept.ok()) return false;
    answers.push_back(*std::move(kept));
  }
  for (const KeptAnswer& kept : answers) AnswerKept(call, kept);
  return true;
}

absl::Status Show(const Invocation& call) {
  auto client = call.TryConnect();
  if (!client.ok()) {
    if (absl::IsUnavailable(client.status()) && ShowKept(call)) return absl::OkStatus();
    return WhyNoDaemon(call, client.status());
  }
  const auto ids = SelectJobs(*client, call.arguments.words(), AllJobs::kEveryOne);
  if (!ids.ok()) return ids.status();
  for (const std::string& id : *ids) {
    const auto job = client->Job(id);
    if (absl::IsNotFound(job.status())) {
      const auto kept = FindInJournals(call.settings, id);
      if (!kept.ok()) return job.status();
      AnswerKept(call, *kept);
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
