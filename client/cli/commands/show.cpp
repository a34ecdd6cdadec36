// hotplate show: all about one job.
#include "client/cli/commands.h"
#include "client/cli/job_text.h"
#include "client/cli/json.h"

namespace hotplate::cli {
namespace {

absl::Status Show(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto job = client->Job(call.arguments.words()[0]);
  if (!job.ok()) return job.status();
  call.output.Answer([&] { return JobPage(*job); }, [&] { return ToJson(*job); }, StateName(job->state()));
  return absl::OkStatus();
}

}  // namespace

Command ShowCommand() {
  return {.name = "show",
          .group = Group::kJobs,
          .summary = "show one job: state, parameters, error, receipt",
          .details = "With --quiet only its state.",
          .example = "hotplate show 22",
          .positionals = {{.name = "JOB", .help = "the id of a job", .offer = Offer::kJob}},
          .options = {},
          .run = Show};
}

}  // namespace hotplate::cli
