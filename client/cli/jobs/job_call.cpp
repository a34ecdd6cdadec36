#include "client/cli/jobs/job_call.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/jobs/elements.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/job_inputs.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/receipt.h"
#include "client/cli/jobs/scalar_input.h"
#include "client/cli/jobs/standard_streams.h"
#include "client/cli/sweeps/sweep_text.h"
#include "client/cli/terminal/json.h"
#include "client/cli/terminal/table.h"
#include "kernels/expression/names.h"

namespace hotplate::cli {
namespace {

// Rows of a sweep's results that are printed.
constexpr std::size_t kMostRows = 1000;

// Only the daemon knows which outputs a call fills.
absl::Status NameOutputsOf(PreparedJob& job) {
  JobPlan& plan = job.plan;
  if (!LackNames(plan.outputs)) return absl::OkStatus();
  // Asked as for a new job: the answer for a known one has no outputs.
  client::JobOptions options = plan.options;
  options.request_id.clear();
  const auto check = job.client.Check(plan.kernel.name(), job.inputs.Inputs(), options);
  if (!check.ok()) return NamingFiles(Settled(check.status()), plan.inputs);
  if (const absl::Status named = NameOutputs(FilledOutputs(check->outputs()), plan.outputs); !named.ok())
    return WithNextStep(Worded(named, plan.kernel.name() + ": " + std::string(named.message())),
                        "nothing was run · " + WhereDescribed(plan.kernel));
  AskForOutputs(plan);
  return absl::OkStatus();
}

// An error of input files, with the arrays that the daemon has by the names of those that are not there.
absl::Status WithArraysOfThatName(const absl::Status& status, const std::vector<InputArgument>& inputs,
                                  absl::StatusOr<client::Client>& client) {
  std::string there;
  std::error_code error;
  for (const InputArgument& input : inputs)
    if (client.ok() && input.kind == InputArgument::Kind::kFile && input.text != kStandardStream &&
        !std::filesystem::exists(input.text, error) && client->DescribeArray(input.text).ok())
      there += (there.empty() ? "" : ", ") + ("array:" + input.text);
  if (there.empty()) return status;
  return WithNextStep(status, "the daemon has an array of that name; write " + there);
}

// Opens the input files, and names the outputs of other jobs.
absl::StatusOr<PreparedJob> Opened(JobPlan plan, absl::StatusOr<client::Client>& client) {
  if (client.ok())
    if (const absl::Status named = NameJobOutputs(*client, plan.inputs); !named.ok()) return named;
  auto inputs = JobInputs::Open(plan.inputs);
  if (!inputs.ok()) {
    const std::string kernel = plan.kernel.name() == expression::kKernel ? "" : plan.kernel.name() + ": ";
    return WithArraysOfThatName(Worded(inputs.status(), kernel + std::string(inputs.status().message())), plan.inputs,
                                client);
  }
  if (!client.ok()) return client.status();
  PreparedJob job{*client, std::move(plan), *std::move(inputs)};
  if (const absl::Status named = NameOutputsOf(job); !named.ok()) return named;
  return job;
}

std::vector<OptionSpec> WithCommonOptions(std::vector<OptionSpec> options) {
  options.insert(options.end(), CommonOptions().begin(), CommonOptions().end());
  return options;
}

}  // namespace

absl::StatusOr<v1::KernelSpec> SpecOf(const std::string& kernel, absl::StatusOr<client::Client>& client) {
  if (client.ok()) {
    const auto described = client->Describe(kernel);
    // If the daemon cannot be asked, still report faults of the words.
    if (described.ok()) return described;
    if (absl::IsNotFound(described.status()))
      if (const auto kernels = client->Kernels(); kernels.ok()) return NoKernel(*kernels, kernel);
    if (ExitCodeOf(described.status()) == kExitInvalid) return described.status();
    client = described.status();
  }
  return FindKernel(EmbeddedKernels(), kernel);
}

absl::StatusOr<PreparedJob> PrepareKernel(const v1::KernelSpec& kernel, const std::vector<OptionSpec>& options,
                                          const std::vector<std::string>& words,
                                          absl::StatusOr<client::Client>& client) {
  auto plan = PlanJob(kernel, options, words);
  if (!plan.ok()) return plan.status();
  if (const absl::Status typed = TypeScalars(kernel, client, plan->inputs); !typed.ok()) return typed;
  return Opened(*std::move(plan), client);
}

absl::StatusOr<PreparedJob> PrepareText(const std::vector<OptionSpec>& options, const std::vector<std::string>& words,
                                        absl::FunctionRef<absl::StatusOr<client::Client>()> connect) {
  auto plan = PlanExpression(options, words);
  if (!plan.ok()) return plan.status();
  if (LackNames(plan->outputs)) {
    std::vector<std::string> names;
    for (const v1::ArgumentSpec& output : plan->kernel.outputs()) names.push_back(output.name());
    if (const absl::Status named = NameOutputs(names, plan->outputs); !named.ok()) return named;
    AskForOutputs(*plan);
  }
  auto client = connect();
  return Opened(*std::move(plan), client);
}

absl::StatusOr<PreparedJob> PrepareJob(const Invocation& call, const std::vector<OptionSpec>& job_options) {
  const std::vector<OptionSpec> options = WithCommonOptions(job_options);
  const auto word = KernelWord(options, call.words);
  if (!word.ok()) return word.status();
  auto client = call.Connect();
  const auto kernel = SpecOf(*word, client);
  if (!kernel.ok()) return kernel.status();
  return PrepareKernel(*kernel, options, call.words, client);
}

absl::StatusOr<PreparedJob> PrepareExpression(const Invocation& call, const std::vector<OptionSpec>& job_options,
                                              const std::vector<std::string>& words) {
  return PrepareText(WithCommonOptions(job_options), words, [&call] { return call.Connect(); });
}

absl::Status CheckAnswer(const Invocation& call, const JobOutputs& files) {
  if (!files.TakesStandardOutput() || !call.arguments.Flag("json")) return absl::OkStatus();
  return UsageError("-o - and --json both write to standard output: drop one of the two");
}

std::vector<std::pair<std::string, Signature>> SignaturesOf(const v1::CheckJobResponse& answer) {
  std::vector<std::pair<std::string, Signature>> outputs;
  for (const v1::NamedSignature& output : answer.outputs())
    if (const auto signature = FromWire(output.signature())) outputs.emplace_back(output.name(), *signature);
  return outputs;
}

absl::Status CheckPictures(PreparedJob& job, const JobOutputs& files) {
  if (!files.HasPicture()) return absl::OkStatus();
  const auto check = job.client.Check(job.plan.kernel.name(), job.inputs.Inputs(), job.plan.options);
  if (!check.ok()) return check.status();
  const absl::Status pictures = files.CheckPictures(SignaturesOf(*check));
  return pictures.ok() ? pictures : NotRun(pictures, job.plan.kernel);
}

absl::Status DryRun(const Invocation& call, PreparedJob& job) {
  const auto check = job.client.Check(job.plan.kernel.name(), job.inputs.Inputs(), job.plan.options);
  if (!check.ok()) return NamingFiles(Settled(check.status()), job.plan.inputs);
  const std::string& kernel = job.plan.kernel.name();
  const bool never = CanNeverRun(*check);
  const std::string& known = check->known_job_id();
  const std::string accepted =
      never           ? ""
      : known.empty() ? Done(call.console, kernel + " would be accepted; nothing was run") + "\n"
                      : Done(call.console, "request id " + job.plan.options.request_id + " would find job " + known +
                                               " if the call is the same; nothing was run") +
                            "\n";
  call.output.Answer([&] { return accepted + CheckText(*check); }, [&] { return ToJson(*check); }, "");
  // With the exit code that a run of it would have.
  if (never) {
    const std::string why = check->refusal().empty() ? kernel + " can never run here" : check->refusal();
    return Answered(WithExitCode(absl::ResourceExhaustedError(why + "; nothing was run"), kExitInvalid));
  }
  return absl::OkStatus();
}

absl::StatusOr<PlacedResult> PlaceOutputs(const v1::KernelSpec& kernel, JobOutputs& files, client::JobResult given) {
  PlacedResult placed{std::move(given), {}, {}};
  client::JobResult& result = placed.result;
  std::vector<std::string>& names = placed.names;
  std::map<std::string, std::string>& paths = placed.paths;
  // Elements that came as an array, since the daemon's inline limit is below their size, are shown like any others.
  for (auto& [name, output] : result.outputs) {
    const Summariser* summary = files.SummaryOf(name);
    if (summary == nullptr || summary->first().size() != ByteSize(output.signature)) continue;
    auto buffer = HostBuffer::Allocate(summary->first().size());
    if (!buffer) continue;
    std::copy(summary->first().begin(), summary->first().end(), buffer->bytes().begin());
    output.buffer = std::move(buffer);
  }
  for (const auto& [name, output] : result.outputs) {
    const auto path = files.PathOf(name);
    if (!path) continue;
    if (!output.buffer && !files.Taken(name))
      return absl::InternalError("output " + name + " did not come back; " + *path + " not written");
    const std::span<const std::byte> elements = output.buffer ? output.buffer->bytes() : std::span<const std::byte>();
    if (const absl::Status status = files.Write(name, output.signature, elements); !status.ok()) return status;
    paths[name] = *path;
  }
  // In the spec's order; outputs added by a newer daemon come last.
  for (const v1::ArgumentSpec& argument : kernel.outputs())
    if (result.outputs.count(argument.name()) > 0) names.push_back(argument.name());
  for (const auto& [name, output] : result.outputs)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return placed;
}

absl::Status Deliver(const Invocation& call, const v1::KernelSpec& kernel, const std::vector<OutputArgument>& places,
                     JobOutputs& files, client::JobResult given) {
  auto placed = PlaceOutputs(kernel, files, std::move(given));
  if (!placed.ok()) return placed.status();
  const client::JobResult& result = placed->result;
  const std::vector<std::string>& names = placed->names;
  const std::map<std::string, std::string>& paths = placed->paths;

  const auto kept_name = [&places](const std::string& name) -> std::string {
    for (const OutputArgument& place : places)
      if (place.name == name && place.kind == OutputArgument::Kind::kArray) return place.text;
    return "";
  };
  std::string text, essentials;
  std::map<std::string, Summary> summaries;
  Table scalars;
  for (const std::string& name : names) {
    const client::OutputArray& output = result.outputs.at(name);
    const std::string signature = ToString(output.signature);
    if (const auto path = paths.find(name); path != paths.end()) {
      text += Done(call.console, path->second + "   " + signature) + "\n";
    } else if (!output.path.empty()) {
      text += Done(call.console, output.path + "   " + signature + "   written by the daemon") + "\n";
    } else if (const Summariser* summary = files.SummaryOf(name); summary != nullptr && !output.buffer) {
      text += name + "   " + summary->Text() + "\n";
      if (const auto facts = summary->Get()) summaries.emplace(name, *facts);
    } else if (!output.buffer) {
      const std::string kept = kept_name(name).empty() ? output.id : kept_name(name);
      text += Done(call.console, "array:" + kept + "   " + signature + "   on the daemon") + "\n";
      essentials += kept + "\n";
    } else if (output.signature.shape.empty()) {
      const std::string value = ElementText(output.signature.dtype, output.buffer->bytes(), 0);
      if (names.size() == 1)
        scalars.Row({value});
      else
        scalars.Row({name, value});
      essentials += value + "\n";
    } else {
      text += name + "   " + SummaryText(output.signature, output.buffer->bytes()) + "\n";
      if (const auto facts = Summarise(output.signature, output.buffer->bytes())) summaries.emplace(name, *facts);
    }
  }
  text += scalars.Text();
  const bool as_table = result.sweep && paths.empty() && IsTable(result, names);
  if (as_table) text = ResultTable(result, names, kMostRows);
  if (files.TakesStandardOutput()) {
    if (call.output.talkative()) {
      call.console.err << Fitted(text, ErrorWidthOf(call.console));
      WriteReceipt(call.console, result.receipt, v1::COMPLETED, result.timings);
    }
    return result.sweep ? Answered(TasksFailed(result.job_id, *result.sweep)) : absl::OkStatus();
  }
  call.output.Answer([&] { return Fitted(text, WidthOf(call.console)); },
                     [&] { return ResultJson(result, names, paths, summaries); }, essentials);
  if (call.output.talkative()) {
    call.console.out.flush();
    WriteReceipt(call.console, result.receipt, v1::COMPLETED, result.timings);
  }
  return result.sweep ? Answered(TasksFailed(result.job_id, *result.sweep)) : absl::OkStatus();
}

}  // namespace hotplate::cli
