#include "client/cli/jobs/job_inputs.h"

#include "client/cli/terminal/format.h"
#include "client/lib/status.h"
#include "kernels/expression/names.h"

namespace hotplate::cli {
namespace {

absl::StatusOr<std::vector<std::string>> OutputsOf(client::Client& client, const v1::Job& job) {
  if (job.kernel() == expression::kKernel) return std::vector<std::string>{"out"};
  if (job.kernel() == "function") return std::vector<std::string>{"value"};
  const auto kernel = client.Describe(job.kernel());
  if (!kernel.ok()) return kernel.status();
  std::vector<std::string> names;
  for (const v1::ArgumentSpec& output : kernel->outputs()) names.push_back(output.name());
  return names;
}

}  // namespace

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
    if (job->kernel() == "python" || job->kernel() == "exec")
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
