// From the words of run and submit to a job: which arrays go in, with which parameters, and where outputs go. Reads
// no file and asks no daemon.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/arguments.h"
#include "client/lib/client.h"
#include "hotplate/v1/catalogue.pb.h"
#include "kernels/array/npy.h"

namespace hotplate::cli {

// How long the daemon holds an array that was put or kept, where no --lease says it.
inline constexpr std::chrono::hours kDefaultLease(8);

struct InputArgument {
  enum class Kind { kFile, kArray, kPath, kScalar, kJob };
  std::string name;  // the spec's
  Kind kind = Kind::kFile;
  // A file to send, an array's id or name, an absolute path for the daemon to read, a number, a job's id.
  std::string text;
  DType dtype = DType::kFloat64;  // of a scalar, once TypeScalars knows it
  // Standard input, once its type was asked for: a pipe can be read only once. Whoever takes the file moves it out.
  std::shared_ptr<std::variant<NpyFile, NpyError>> opened = nullptr;
  std::string output = {};  // of the job; empty until NameJobOutputs, where the words leave it open
};

struct OutputArgument {
  enum class Kind { kNpy, kPicture, kArray, kPath };
  std::string name;  // the spec's; empty until NameOutputs, where the words leave it open
  Kind kind = Kind::kNpy;
  std::string text;  // a file, an array's name, or an absolute path that the daemon writes to

  bool IsFileHere() const { return kind == Kind::kNpy || kind == Kind::kPicture; }
};

struct JobPlan {
  v1::KernelSpec kernel;
  std::vector<InputArgument> inputs;    // in the spec's order
  std::vector<OutputArgument> outputs;  // as given
  client::JobOptions options;
  nanoseconds lease = kDefaultLease;  // of outputs that stay as arrays
  bool replace_files = false;         // that the daemon writes
  bool dry_run = false;
  std::string failed_of;  // of a sweep: only those tasks that did not complete in this job; empty: all
};

// The arguments of run and submit: the kernel, its inputs, and the options that are not the kernel's.
const std::vector<PositionalSpec>& JobPositionals();
std::vector<OptionSpec> JobOptionsOfRun();
std::vector<OptionSpec> JobOptionsOfSubmit();
std::vector<OptionSpec> JobOptionsOfEval();  // those of run that mean something for an expression

// One option for each parameter: dashes or underscores; a bool is a flag that --no-NAME takes back.
std::vector<OptionSpec> ParameterOptions(const v1::KernelSpec& kernel);

// The word that names the kernel. A usage error if there is none, or if an option that could be a parameter comes
// first.
absl::StatusOr<std::string> KernelWord(const std::vector<OptionSpec>& options, const std::vector<std::string>& words);

// `words` as typed, including the kernel's name; `options` are the command's, without the kernel's.
// INVALID_ARGUMENT names every parameter, input and output that is wrong.
absl::StatusOr<JobPlan> PlanJob(const v1::KernelSpec& kernel, const std::vector<OptionSpec>& options,
                                const std::vector<std::string>& words);

// An expression as a kernel with these outputs, and no inputs yet.
v1::KernelSpec ExpressionAsKernel(const std::vector<std::string>& outputs);

// The same for an expression: the text, then NAME=INPUT for each name in it. Numbers become parameters. The plan's
// kernel describes the text: its inputs and outputs by name.
absl::StatusOr<JobPlan> PlanExpression(const std::vector<OptionSpec>& options, const std::vector<std::string>& words);

// The places of -o, in the order given; adds a sentence to `violations` for each invalid one. The output of a place
// without a name is known at once only if the kernel has a single output.
std::vector<OutputArgument> PlanOutputs(const v1::KernelSpec& kernel, const std::vector<std::string>& words,
                                        std::vector<std::string>& violations);

// The names of a kernel's parameters, inputs or outputs.
template <typename Arguments>
std::vector<std::string> NamesOf(const Arguments& arguments) {
  std::vector<std::string> names;
  for (const auto& argument : arguments) names.push_back(argument.name());
  return names;
}

// The names of the outputs, of a check or of a result, that hold elements; if none does, all of them.
template <typename Outputs>
std::vector<std::string> FilledOutputs(const Outputs& outputs) {
  std::vector<std::string> filled, all;
  for (const auto& output : outputs) {
    const auto& shape = output.signature().shape();
    all.push_back(output.name());
    if (std::find(shape.begin(), shape.end(), 0) == shape.end()) filled.push_back(output.name());
  }
  return filled.empty() ? all : filled;
}

// Whether an output has no name yet.
bool LackNames(const std::vector<OutputArgument>& outputs);
// Names the outputs without a name after `filled`, the outputs that this call fills, in order. INVALID_ARGUMENT if
// their numbers differ.
absl::Status NameOutputs(const std::vector<std::string>& filled, std::vector<OutputArgument>& outputs);
// Asks the daemon for the outputs that it keeps as arrays or writes to files, once all have names.
void AskForOutputs(JobPlan& plan);

// A value for this parameter, or a sentence with the value and its fault.
absl::StatusOr<client::ParamValue> ParseParameter(const v1::ParamSpec& param, const std::string& text);

}  // namespace hotplate::cli
