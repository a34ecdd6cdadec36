// hotplate cancel: end jobs before their time.
#include "client/cli/commands.h"
#include "client/cli/job_text.h"
#include "client/cli/json.h"

namespace hotplate::cli {
namespace {

absl::Status Cancel(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  for (const std::string& id : call.arguments.words()) {
    const auto job = client->Cancel(id);
    if (!job.ok()) return job.status();
    call.output.Answer(
        [&] {
          if (job->state() == v1::CANCELLED) return Done(call.console, "job " + id + " cancelled");
          if (job->state() > v1::RUNNING) return "job " + id + " had ended already: " + StateName(job->state());
          return Done(call.console, "job " + id + " will be cancelled") + "\n  hotplate wait " + id;
        },
        [&] { return ToJson(*job); }, "");
  }
  return absl::OkStatus();
}

}  // namespace

Command CancelCommand() {
  return {.name = "cancel",
          .group = Group::kJobs,
          .summary = "cancel jobs",
          .details = "A pending job ends at once, a running one within its kernel's bound (hotplate describe KERNEL).",
          .example = "hotplate cancel 22",
          .positionals = {{.name = "JOB", .help = "ids of jobs", .maximum = kAnyNumber, .offer = Offer::kJob}},
          .options = {},
          .run = Cancel};
}

}  // namespace hotplate::cli
