#include "client/cli/jobs/job_inputs.h"

#include "client/cli/terminal/format.h"
#include "client/lib/status.h"
#include "kernels/expression/names.h"
#include "server/journal/records.h"

namespace hotplate::cli {
namespace {

absl::StatusOr<std::vector<std::string>> OutputsOf(client::Client& client, const v1::Job& job) {
  if (job.kernel() == "function") return std::vector<std::string>{"value"};
  const auto kernel = job.kernel() == expression::kKernel ? absl::StatusOr<v1::KernelSpec>(SpecOfExpression(job))
                                                          : client.Describe(job.kernel());
  if (!kernel.ok()) return kernel.status();
  return NamesOf(kernel->outputs());
}

}  // namespace

v1::KernelSpec SpecOfExpression(const v1::Job& job) {
  const auto text = job.params().find(expression::kTextParam);
  const auto names = expression::NamesIn(text == job.params().end() ? "" : text->second.string_value());
  const auto* found = std::get_if<expression::Names>(&names);
  return ExpressionAsKernel(found == nullptr ? std::vector<std::string>() : found->outputs);
}

InputArgument JobOutputInput(const std::string& name, const std::string& text) {
  InputArgument input{name, InputArgument::Kind::kJob, text.substr(0, text.find('.'))};
  if (const std::size_t dot = text.find('.'); dot != std::string::npos) input.output = text.substr(dot + 1);
  return input;
}

absl::Status NameJobOutputs(client::Client& client, std::vector<InputArgument>& inputs) {
  for (InputArgument& input : inputs) {
    if (input.kind != InputArgument::Kind::kJob || !input.output.empty()) continue;
    const std::string word = "job:" + input.text;
    const auto job = client.Job(input.text);
    if (!job.ok()) return Worded(job.status(), "input " + input.name + ": " + std::string(job.status().message()));
    if (journal::IsProgram(job->kernel()))
      return absl::InvalidArgumentError("input " + input.name + ": job " + input.text + " is a program (" +
                                        job->kernel() + "), which prints and has no outputs: --after " + input.text +
                                        " waits for its end");
    const auto outputs = OutputsOf(client, *job);
    if (!outputs.ok()) return outputs.status();
    if (outputs->size() != 1)
      return absl::InvalidArgumentError("input " + input.name + ": job " + input.text + " (" + job->kernel() +
                                        ") has the outputs " + Join(*outputs, ", ") + "; write which one, as in " +
                                        word + "." + (outputs->empty() ? "out" : outputs->front()));
    input.output = outputs->front();
  }
  return absl::OkStatus();
}

}  // namespace hotplate::cli
