// hotplate show: all about one job.
#include "client/cli/commands.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

absl::Status Show(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto ids = SelectJobs(*client, call.arguments.words(), AllJobs::kEveryOne);
  if (!ids.ok()) return ids.status();
  for (const std::string& id : *ids) {
    const auto job = client->Job(id);
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
          .details = "--quiet prints only the states.",
          .example = "hotplate show last",
          .positionals = {{.name = "JOB", .help = kJobWords, .maximum = kAnyNumber, .offer = Offer::kJob}},
          .options = {},
          .run = Show};
}

}  // namespace hotplate::cli
