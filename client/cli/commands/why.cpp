// hotplate why: what a job waits for.
#include "client/cli/commands.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/json.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

std::string WhyText(const Invocation& call, const v1::WhyJobResponse& why) {
  std::string text = Printable(why.text());
  if (why.has_run_time() && why.job().state() <= v1::RUNNING) {
    const v1::RunTimeForecast& time = why.run_time();
    const auto words = [](std::uint64_t ns) { return DurationText(std::chrono::nanoseconds(ns)); };
    text += "\n  " + why.job().kernel() + " of this size took " + words(time.median_ns()) + " (" +
            words(time.low_ns()) + " to " + words(time.high_ns()) + ", " + std::to_string(time.runs()) +
            (time.runs() == 1 ? " run)" : " runs)");
  }
  return Fitted(text, WidthOf(call.console));
}

absl::Status Why(const Invocation& call) {
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto ids = SelectJobs(*client, call.arguments.words(), AllJobs::kThatGoOn);
  if (!ids.ok()) return ids.status();
  if (ids->empty()) call.output.Answer([] { return "no job waits or runs"; }, [] { return ""; }, "");
  for (const std::string& id : *ids) {
    const auto why = client->Why(id);
    if (!why.ok()) return why.status();
    call.output.Answer([&] { return WhyText(call, *why); }, [&] { return ToJson(*why); }, why->text() + "\n");
  }
  return absl::OkStatus();
}

}  // namespace

Command WhyCommand() {
  return {
      .name = "why",
      .group = Group::kJobs,
      .summary = "tell why a job waits, behind whom, and when it will probably start",
      .details =
          "Of a job that runs, it tells when it will probably end; of one that has ended, how long it waited and for\n"
          "what. Forecasts rest on the measured times of earlier jobs of the same kernel, type, device and size.\n"
          "hotplate history tells how good they were. all stands for every job that has not ended.",
      .example = "hotplate why last",
      .positionals = {{.name = "JOB", .help = kJobWords, .maximum = kAnyNumber, .offer = Offer::kJob}},
      .options = {},
      .run = Why};
}

}  // namespace hotplate::cli
