// hotplate result: the outputs of a finished job.
#include "client/cli/catalogue/catalogue.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/progress.h"

namespace hotplate::cli {
namespace {

// Downloads kept arrays whose output goes into a file.
absl::Status FetchKept(client::Client& client, JobOutputs& files, const client::JobResult& result,
                       const client::Cancellation& cancellation) {
  for (const auto& [name, output] : result.outputs) {
    if (output.buffer || files.Taken(name) || !files.PathOf(name)) continue;
    const auto take = [&files, output_name = name](const Signature& signature, std::uint64_t offset,
                                                   std::span<const std::byte> piece) {
      return files.Take(output_name, signature, offset, piece);
    };
    const auto array = client.GetPieces(output.id, take, nullptr, &cancellation);
    if (!array.ok() && files.take_error().ok())
      return Worded(array.status(), "output " + name + ": " + std::string(array.status().message()));
    if (!array.ok()) return array.status();
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
  for (const OutputArgument& place : places) {
    if (place.kind == OutputArgument::Kind::kArray)
      violations.push_back("-o array:" + place.text +
                           ": the job has run; only run and submit can keep an output as an array");
    if (place.kind == OutputArgument::Kind::kPath)
      violations.push_back("-o path:" + place.text +
                           ": the job has run; only run and submit can have the daemon write an output");
  }
  if (!violations.empty()) return absl::InvalidArgumentError(kernel->name() + ": " + Join(violations, "\n"));
  if (LackNames(places)) {
    std::vector<std::string> all;
    for (const v1::ArgumentSpec& output : kernel->outputs()) all.push_back(output.name());
    if (const absl::Status named = NameOutputs(all, places); !named.ok())
      return Worded(named, kernel->name() + ": " + std::string(named.message()));
  }
  auto files = JobOutputs::Open(places);
  if (!files.ok()) return files.status();
  if (const absl::Status status = CheckAnswer(call, *files); !status.ok()) return status;

  if (call.arguments.Flag("wait")) {
    Progress progress(call.console, call.output.talkative());
    const auto end = client->Watch(
        id, [&progress](const v1::JobUpdate& update) { progress.Update(update); }, &cancellation);
    if (!end.ok()) {
      if (!interrupt.interrupted()) return end.status();
      return Interrupted(end.status(), "stopped waiting; job " + id + " goes on", files->NotWritten());
    }
  }
  client::JobOptions options;
  options.take_output = [&](const std::string& output, const Signature& signature, std::uint64_t offset,
                            std::span<const std::byte> piece) { return files->Take(output, signature, offset, piece); };
  auto result = client->Fetch(id, options, &cancellation);
  if (result.ok())
    if (const absl::Status kept = FetchKept(*client, *files, *result, cancellation); !kept.ok()) result = kept;
  if (!result.ok()) {
    if (!files->take_error().ok()) return files->take_error();
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
