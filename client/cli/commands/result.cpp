// hotplate result: what a finished job left.
#include "client/cli/catalogue.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/job_call.h"
#include "client/cli/job_selection.h"
#include "client/cli/progress.h"

namespace hotplate::cli {
namespace {

// What was kept as an array is fetched from there where it is to go into a file.
absl::Status FetchKept(client::Client& client, const JobOutputs& files, client::JobResult& result,
                       const client::Cancellation& cancellation) {
  for (auto& [name, output] : result.outputs) {
    if (output.buffer || !files.PathOf(name)) continue;
    auto array = client.Get(output.id, nullptr, &cancellation);
    if (!array.ok()) return Worded(array.status(), "output " + name + ": " + std::string(array.status().message()));
    output.buffer = std::move(array->buffer);
  }
  return absl::OkStatus();
}

absl::Status Result(const Invocation& call) {
  client::Cancellation cancellation;
  InterruptWatch interrupt([&] { cancellation.Cancel(); });
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  const auto selected = SelectJob(*client, call.arguments.words()[0]);
  if (!selected.ok()) return selected.status();
  const std::string& id = *selected;
  const auto job = client->Job(id);
  if (!job.ok()) return job.status();
  auto kernel = client->Describe(job->kernel());
  if (!kernel.ok()) return kernel.status();
  interrupt.Begin();

  std::vector<std::string> violations;
  std::vector<OutputArgument> places = PlanOutputs(*kernel, call.arguments.All("output"), violations);
  for (const OutputArgument& place : places)
    if (place.kind == OutputArgument::Kind::kArray)
      violations.push_back("-o array:" + place.text + ": a job that has run cannot be told to keep its output");
  if (!violations.empty()) return absl::InvalidArgumentError(kernel->name() + ": " + Join(violations, "\n"));
  if (LackNames(places)) {
    std::vector<std::string> all;
    for (const v1::ArgumentSpec& output : kernel->outputs()) all.push_back(output.name());
    if (const absl::Status named = NameOutputs(all, places); !named.ok())
      return Worded(named, kernel->name() + ": " + std::string(named.message()));
  }
  auto files = JobOutputs::Open(places);
  if (!files.ok()) return files.status();

  if (call.arguments.Flag("wait")) {
    Progress progress(call.console, call.output.talkative());
    const auto end = client->Watch(
        id, [&progress](const v1::JobUpdate& update) { progress.Update(update); }, &cancellation);
    if (!end.ok()) {
      if (!interrupt.interrupted()) return end.status();
      return Interrupted(end.status(), "the wait was given up; job " + id + " goes on", files->NotWritten());
    }
  }
  auto result = client->Fetch(id, nullptr, &cancellation);
  if (result.ok())
    if (const absl::Status kept = FetchKept(*client, *files, *result, cancellation); !kept.ok()) result = kept;
  if (!result.ok()) {
    if (interrupt.interrupted())
      return Interrupted(result.status(), "the daemon still has the result of job " + id, files->NotWritten());
    if (absl::IsFailedPrecondition(result.status()) && !client::EndOf(result.status()))
      return WithNextStep(result.status(), "wait for it: hotplate result " + id + " --wait");
    return result.status();
  }
  return Deliver(call, *kernel, places, *files, *result);
}

}  // namespace

Command ResultCommand() {
  return {.name = "result",
          .group = Group::kJobs,
          .summary = "fetch the outputs and the receipt of a finished job",
          .details = "Also fetches outputs that the job kept as array:NAME.",
          .example = "hotplate result 22 -o y.npy",
          .positionals = {{.name = "JOB", .help = "the id of a job, or last", .offer = Offer::kJob}},
          .options = {{.names = "-o,--output",
                       .value = "[NAME=]FILE",
                       .help = "write an output to a .npy file or a .png picture",
                       .repeatable = true,
                       .offer = Offer::kFile},
                      {.names = "--wait", .value = "", .help = "wait until the job has ended"}},
          .run = Result};
}

}  // namespace hotplate::cli
