// hotplate result: the outputs of a finished job.
#include <optional>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_inputs.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/progress.h"
#include "kernels/expression/names.h"
#include "server/journal/records.h"

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

// Names the places after the result's own outputs. Those that the daemon wrote are not to be had.
absl::Status PlaceOutputs(const std::string& kernel, const v1::JobResult& result, std::vector<OutputArgument>& places) {
  if (LackNames(places))
    if (const absl::Status named = NameOutputs(FilledOutputs(result.outputs()), places); !named.ok())
      return Worded(named, kernel + ": " + std::string(named.message()));
  for (const v1::JobResult::Output& output : result.outputs())
    for (const OutputArgument& place : places)
      if (output.has_path() && output.name() == place.name)
        return absl::InvalidArgumentError("output " + output.name() + " was written by the daemon to " + output.path());
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
  if (journal::IsProgram(job->kernel()))
    return WithNextStep(absl::InvalidArgumentError("job " + id + " is a program: what it gives is what it prints"),
                        "hotplate logs " + id);
  const bool is_expression = job->kernel() == expression::kKernel;
  const auto kernel =
      is_expression ? absl::StatusOr<v1::KernelSpec>(SpecOfExpression(*job)) : client->Describe(job->kernel());
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
  // Where only the result says which outputs there are, the files are opened once it is there.
  std::optional<JobOutputs> files;
  const auto open_files = [&]() -> absl::Status {
    auto opened = JobOutputs::Open(places);
    if (!opened.ok()) return opened.status();
    files = *std::move(opened);
    return CheckAnswer(call, *files);
  };
  if (!LackNames(places))
    if (const absl::Status opened = open_files(); !opened.ok()) return opened;

  if (call.arguments.Flag("wait")) {
    Progress progress(call.console, call.output.talkative());
    const auto end = client->Watch(
        id, [&progress](const v1::JobUpdate& update) { progress.Update(update); }, &cancellation);
    if (!end.ok()) {
      if (!interrupt.interrupted()) return end.status();
      return Interrupted(end.status(), "the wait was given up; job " + id + " goes on",
                         files ? files->NotWritten() : "");
    }
  }
  client::JobOptions options;
  options.on_result = [&](const v1::JobResult& result) -> absl::Status {
    if (const absl::Status placed = PlaceOutputs(kernel->name(), result, places); !placed.ok()) return placed;
    return files ? absl::OkStatus() : open_files();
  };
  options.take_output = [&](const std::string& output, const Signature& signature, std::uint64_t offset,
                            std::span<const std::byte> piece) { return files->Take(output, signature, offset, piece); };
  auto result = client->Fetch(id, options, &cancellation);
  if (result.ok())
    if (const absl::Status kept = FetchKept(*client, *files, *result, cancellation); !kept.ok()) result = kept;
  if (!result.ok()) {
    if (files && !files->take_error().ok()) return files->take_error();
    if (interrupt.interrupted())
      return Interrupted(result.status(), "the daemon still has the result of job " + id,
                         files ? files->NotWritten() : "");
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
                       .help = "write an output to a .npy file, a .png picture, or - (standard output)",
                       .repeatable = true,
                       .offer = Offer::kFile},
                      {.names = "--wait", .value = "", .help = "wait until the job has ended"}},
          .run = Result};
}

}  // namespace hotplate::cli
