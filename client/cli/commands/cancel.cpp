// hotplate cancel: end jobs before their time.
#include "client/cli/catalogue/catalogue.h"
#include "client/cli/commands.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {
namespace {

// ", at the latest when svd ends: it cannot be interrupted"; empty for other kernels, and for those known only to a
// newer daemon.
std::string UntilWhen(const std::string& kernel) {
  const auto spec = FindKernel(EmbeddedKernels(), kernel);
  if (!spec.ok() || spec->cancel_class() != v1::CANCEL_CLASS_UNINTERRUPTIBLE) return "";
  return ", at the latest when " + kernel + " ends: it cannot be interrupted";
}

absl::Status Cancel(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto ids = SelectJobs(*client, call.arguments.words(), AllJobs::kThatGoOn);
  if (!ids.ok()) return ids.status();
  if (ids->empty()) call.output.Answer([] { return "no job waits or runs"; }, [] { return ""; }, "");
  for (const std::string& id : *ids) {
    const auto job = client->Cancel(id);
    if (!job.ok()) return job.status();
    call.output.Answer(
        [&] {
          if (job->state() == v1::CANCELLED) return Done(call.console, "job " + id + " cancelled");
          if (job->state() > v1::RUNNING) return "job " + id + " has already ended: " + StateName(job->state());
          const std::string cancelled = "job " + id + " will be cancelled" + UntilWhen(job->kernel());
          return Done(call.console, cancelled) + "\n  hotplate wait " + id;
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
          .details =
              "A pending job ends at once. A running job ends within its kernel's bound, or with its kernel if there\n"
              "is no bound (hotplate describe KERNEL). all stands for every job that has not ended.",
          .example = "hotplate cancel last",
          .positionals = {{.name = "JOB", .help = kJobWords, .maximum = kAnyNumber, .offer = Offer::kJob}},
          .options = {},
          .run = Cancel};
}

}  // namespace hotplate::cli
