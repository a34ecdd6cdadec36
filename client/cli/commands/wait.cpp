// hotplate wait: until jobs have ended.
#include "client/cli/commands.h"
#include "client/cli/job_text.h"
#include "client/cli/json.h"
#include "client/lib/status.h"

namespace hotplate::cli {
namespace {

absl::Status Wait(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  absl::Status worst;
  for (const std::string& id : call.arguments.words()) {
    const auto end = client->Watch(id, [](const v1::JobUpdate&) {});
    if (!end.ok()) return end.status();
    call.output.Answer([&] { return "job " + id + "  " + StateName(end->state()); }, [&] { return EndJson(id, *end); },
                       "");
    if (worst.ok()) worst = client::FromJobEnd(*end, id);
  }
  return Answered(worst);
}

}  // namespace

Command WaitCommand() {
  return {.name = "wait",
          .group = Group::kJobs,
          .summary = "wait until jobs have ended",
          .details = "The exit code is that of the first job that did not complete.",
          .example = "hotplate wait 22 23 && hotplate result 22 -o y.npy",
          .positionals = {{.name = "JOB", .help = "ids of jobs", .maximum = kAnyNumber, .offer = Offer::kJob}},
          .options = {},
          .run = Wait};
}

}  // namespace hotplate::cli
