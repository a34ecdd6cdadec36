// hotplate wait: until jobs have ended.
#include "client/cli/allocation/regain.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/sweeps/sweep_text.h"
#include "client/cli/terminal/json.h"
#include "client/lib/status.h"

namespace hotplate::cli {
namespace {

absl::Status Wait(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  absl::Status worst;
  const auto ids = SelectJobs(*client, call.arguments.words(), AllJobs::kThatGoOn);
  if (!ids.ok()) return ids.status();
  if (ids->empty()) call.output.Answer([] { return "no job waits or runs"; }, [] { return ""; }, "");
  for (const std::string& id : *ids) {
    Progress progress(call.console, call.output.talkative());
    const auto end = WatchOn(call, *client, id, [&progress](const v1::JobUpdate& update) { progress.Update(update); });
    progress.Clear();
    if (!end.ok()) return end.status();
    const std::string counts = end->has_sweep() ? "  " + CountsText(end->sweep().counts()) : "";
    call.output.Answer([&] { return "job " + id + "  " + StateName(end->state()) + counts; },
                       [&] { return EndJson(id, *end); }, "");
    if (worst.ok()) worst = client::FromJobEnd(*end, id);
    if (worst.ok() && end->has_sweep()) worst = TasksFailed(id, end->sweep());
  }
  return Answered(worst);
}

}  // namespace

Command WaitCommand() {
  return {.name = "wait",
          .group = Group::kJobs,
          .summary = "wait until jobs have ended",
          .details =
              "The exit code is that of the first job that did not complete.\n"
              "all stands for every job that has not ended.",
          .example = "hotplate wait 22 23 && hotplate result 22 -o y.npy",
          .positionals = {{.name = "JOB", .help = kJobWords, .maximum = kAnyNumber, .offer = Offer::kJob}},
          .options = {},
          .run = Wait};
}

}  // namespace hotplate::cli
