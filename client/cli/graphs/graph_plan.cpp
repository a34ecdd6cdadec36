#include "client/cli/graphs/graph_plan.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/job_inputs.h"
#include "client/cli/jobs/scalar_input.h"
#include "client/cli/programs/program_call.h"
#include "client/cli/programs/program_words.h"
#include "client/cli/terminal/format.h"
#include "client/lib/status.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestLabel = 64;  // of a job, and of a function's name

class GraphPlanner {
 public:
  GraphPlanner(const Invocation& call, client::Client& client, std::string folder)
      : call_(call), client_(client), folder_(std::move(folder)) {}

  absl::Status Add(GraphNode node) {
    const absl::Status added = node.kind == GraphNode::Kind::kProgram ? AddProgram(node) : AddJob(node);
    if (!added.ok()) return OfNode(node, added);
    PlannedNode& planned = nodes_.back();
    for (const std::string& other : node.after) planned.after.push_back(place_.at(other));
    place_[node.name] = nodes_.size() - 1;
    planned.node = std::move(node);
    return absl::OkStatus();
  }

  std::vector<PlannedNode> Take() { return std::move(nodes_); }

 private:
  absl::StatusOr<v1::KernelSpec> Spec(const std::string& kernel) {
    const auto known = specs_.find(kernel);
    if (known != specs_.end()) return known->second;
    absl::StatusOr<client::Client> client = client_;
    auto spec = SpecOf(kernel, client);
    if (!client.ok()) return client.status();  // a built-in spec is not to stand for the daemon's
    if (spec.ok()) specs_[kernel] = *spec;
    return spec;
  }

  // Inputs that other nodes make stand among the words as jobs, of which only their names in the kernel count.
  static std::vector<std::string> WordsOf(const GraphNode& node, std::vector<std::string> options) {
    std::vector<std::string> words = std::move(options);
    words.insert(words.end(), node.options.begin(), node.options.end());
    words.emplace_back("--");  // an expression may begin with a minus
    words.insert(words.end(), node.words.begin(), node.words.end());
    for (const auto& [input, maker] : node.made_by) words.push_back(input + "=job:" + maker);
    return words;
  }

  // A function's inputs are as the file names them.
  static absl::StatusOr<JobPlan> PlanOfFunction(const GraphNode& node) {
    v1::KernelSpec kernel;
    kernel.set_name(kFunctionKernel);
    kernel.add_outputs()->set_name(kFunctionOutput);
    for (std::size_t i = 1; i < node.words.size(); ++i)
      kernel.add_inputs()->set_name(node.words[i].substr(0, node.words[i].find('=')));
    for (const auto& [input, maker] : node.made_by) kernel.add_inputs()->set_name(input);
    std::vector<std::string> words = WordsOf(node, {});
    *std::find(words.begin(), words.end(), node.words.front()) = kFunctionKernel;
    return PlanJob(kernel, JobOptionsOfSubmit(), words);
  }

  absl::StatusOr<JobPlan> PlanOf(const GraphNode& node) {
    if (node.kind == GraphNode::Kind::kFunction) return PlanOfFunction(node);
    if (node.kind == GraphNode::Kind::kExpression) {
      auto plan = PlanExpression(JobOptionsOfSubmit(), WordsOf(node, {}));
      if (!plan.ok()) return plan;
      for (const auto& [name, number] : node.params) plan->options.params[name] = number.value;
      return plan;
    }
    const auto spec = Spec(node.words.front());
    if (!spec.ok()) return spec.status();
    std::vector<std::string> params;
    const std::vector<std::string> known = NamesOf(spec->params());
    for (const auto& [name, number] : node.params) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        return absl::InvalidArgumentError("params." + name + ": " + spec->name() + " has no such parameter; it has " +
                                          (known.empty() ? "none" : Join(known, ", ")));
      const auto* flag = std::get_if<bool>(&number.value);
      params.push_back(flag == nullptr ? "--" + name + "=" + number.word : (*flag ? "--" : "--no-") + name);
    }
    return PlanJob(*spec, JobOptionsOfSubmit(), WordsOf(node, std::move(params)));
  }

  absl::Status AddJob(const GraphNode& node) {
    auto plan = PlanOf(node);
    if (!plan.ok()) return plan.status();
    PlannedNode planned;
    std::set<std::pair<std::size_t, std::string>> taken;  // once each, for how many inputs it may be
    for (const InputArgument& input : plan->inputs) {
      if (!node.made_by.contains(input.name)) continue;
      const absl::Status found = AddMaker(input, planned);
      if (!found.ok()) return found;
      taken.insert(planned.made_by[input.name]);
    }
    for (const auto& [maker, output] : taken) ++nodes_[maker].takers[output];
    std::erase_if(plan->inputs, [&](const InputArgument& input) { return node.made_by.contains(input.name); });
    if (node.kind == GraphNode::Kind::kFunction) {
      if (const absl::Status function = AddFunction(node, *plan, planned); !function.ok()) return function;
    }
    if (const absl::Status named = NameJobOutputs(client_, plan->inputs); !named.ok()) return named;
    absl::StatusOr<client::Client> client = client_;
    if (const absl::Status typed = TypeScalars(plan->kernel, client, plan->inputs); !typed.ok()) return typed;
    auto inputs = JobInputs::Open(plan->inputs);
    if (!inputs.ok()) return inputs.status();
    for (const OutputArgument& output : plan->outputs)
      if (const absl::Status own = ClaimFile(node, output); !own.ok()) return own;
    planned.plan = *std::move(plan);
    planned.inputs = *std::move(inputs);
    nodes_.push_back(std::move(planned));
    return absl::OkStatus();
  }

  absl::Status AddFunction(const GraphNode& node, JobPlan& plan, PlannedNode& planned) {
    auto function = FunctionIn(folder_, node.words.front());
    if (!function.ok()) return function.status();
    planned.function = *std::move(function);
    planned.numbers = node.params;
    for (const InputArgument& input : plan.inputs) {
      if (input.kind != InputArgument::Kind::kScalar) continue;
      GraphNumber& number = planned.numbers[input.name];
      number.word = input.text;
      if (const auto integer = ParseInteger(input.text))
        number.value = *integer;
      else
        number.value = *ParseNumber(input.text);
    }
    std::erase_if(plan.inputs, [](const InputArgument& one) { return one.kind == InputArgument::Kind::kScalar; });
    for (const OutputArgument& output : plan.outputs)
      if (!output.IsFileHere())
        return absl::InvalidArgumentError("output " + output.name + ": " + output.text +
                                          ": a function's result goes to a file here, or to other nodes");
    if (plan.options.label.empty()) plan.options.label = planned.function.name.substr(0, kLongestLabel);
    std::vector<std::string> environment;
    if (!node.environment.empty()) environment.push_back("--env=" + node.environment);
    auto python = ProgramOf(environment, ProgramWords{.kind = "python", .own = {}, .program = {}});
    if (!python.ok()) return python.status();
    planned.program = *std::move(python);
    planned.program.set_folder(folder_);
    planned.program.clear_label();
    return absl::OkStatus();
  }

  // The node that makes an input, and which of its outputs that is.
  absl::Status AddMaker(const InputArgument& input, PlannedNode& planned) {
    const std::size_t place = place_.at(input.text);
    const PlannedNode& maker = nodes_[place];
    const auto refused = [&](const std::string& why) {
      return absl::InvalidArgumentError("input " + input.name + ": node " + input.text + " " + why);
    };
    if (maker.node.kind == GraphNode::Kind::kProgram)
      return refused("is a program, which has no outputs: come after it, and read the file that it writes");
    const std::vector<std::string> names = NamesOf(maker.plan.kernel.outputs());
    std::string name = input.output;
    if (name.empty() && names.size() != 1)
      return refused("has the outputs " + Join(names, ", ") + ": write which one, as in " + input.text + "." +
                     names.front());
    if (name.empty()) name = names.front();
    if (std::find(names.begin(), names.end(), name) == names.end())
      return refused("has no output \"" + name + "\"; it has " + Join(names, ", ") + ". For a file of that name: ./" +
                     input.text + "." + name);
    planned.made_by[input.name] = {place, name};
    return absl::OkStatus();
  }

  absl::StatusOr<v1::Program> ProgramOf(const std::vector<std::string>& options, const ProgramWords& words) {
    const auto arguments = ParseArguments(AllProgramOptions(), options);
    if (!arguments.ok()) return arguments.status();
    const Invocation own{call_.command,     call_.words,   *arguments,   call_.settings,
                         call_.environment, call_.console, call_.output, call_.connected};
    auto program = ProgramFor(own, words);
    if (program.ok()) program->clear_terminal();
    return program;
  }

  absl::Status AddProgram(const GraphNode& node) {
    auto program = ProgramOf(node.options, ProgramWords{.kind = node.program, .own = {}, .program = node.words});
    if (!program.ok()) return program.status();
    nodes_.emplace_back().program = *std::move(program);
    return absl::OkStatus();
  }

  // Two nodes that write one file would leave it to chance which one it is.
  absl::Status ClaimFile(const GraphNode& node, const OutputArgument& output) {
    std::error_code error;
    const std::string file =
        output.IsFileHere()
            ? std::filesystem::weakly_canonical(std::filesystem::absolute(output.text, error), error).string()
            : (output.kind == OutputArgument::Kind::kArray ? "array:" : "path:") + output.text;
    const auto [at, fresh] = files_.emplace(file, node.name);
    if (fresh) return absl::OkStatus();
    return absl::InvalidArgumentError("output " + output.name + ": " + output.text + " is the place of an output of [" +
                                      at->second + "] already");
  }

  const Invocation& call_;
  client::Client& client_;
  const std::string folder_;  // of the graph's file
  std::map<std::string, v1::KernelSpec> specs_;
  std::map<std::string, std::string> files_;  // whose they are
  std::map<std::string, std::size_t> place_;  // by node
  std::vector<PlannedNode> nodes_;
};

}  // namespace

absl::Status OfNode(const GraphNode& node, const absl::Status& status) {
  return Worded(status, "[" + node.name + "] " + std::string(status.message()));
}

bool PlannedNode::HasResult() const { return !is_program() && (takers.empty() || !FilesHere().empty()); }

std::vector<OutputArgument> PlannedNode::FilesHere() const {
  std::vector<OutputArgument> files = plan.outputs;
  std::erase_if(files, [](const OutputArgument& output) { return !output.IsFileHere(); });
  return files;
}

absl::Status CheckFiles(const std::vector<PlannedNode>& nodes,
                        const std::vector<std::optional<v1::CheckJobResponse>>& answers) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto files = JobOutputs::Open(nodes[i].FilesHere());
    if (!files.ok()) return OfNode(nodes[i].node, files.status());
    if (!answers[i]) continue;
    if (const absl::Status pictures = files->CheckPictures(SignaturesOf(*answers[i])); !pictures.ok())
      return OfNode(nodes[i].node, pictures);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PlannedNode>> PlanGraph(const Invocation& call, client::Client& client, GraphFile file) {
  GraphPlanner planner(call, client, file.folder);
  for (GraphNode& node : file.nodes)
    if (const absl::Status added = planner.Add(std::move(node)); !added.ok()) return added;
  return planner.Take();
}

absl::Status CheckFunctions(client::Client& client, std::vector<PlannedNode>& nodes) {
  std::map<std::string, v1::OpenEnvironmentResponse> pythons;  // by what asks for them
  for (PlannedNode& node : nodes) {
    if (!node.is_function()) continue;
    const auto [at, fresh] = pythons.emplace(node.program.SerializeAsString(), v1::OpenEnvironmentResponse());
    if (fresh) {
      auto python = client.OpenEnvironment(node.program);
      if (!python.ok()) return OfNode(node.node, python.status());
      at->second = *std::move(python);
    }
    const v1::OpenEnvironmentResponse& python = at->second;
    node.python = "Python " + python.python_version() + " (" + python.interpreter() + ")" +
                  (python.numpy().empty() ? "" : ", NumPy " + python.numpy());
    if (python.numpy().empty())
      return OfNode(node.node, absl::FailedPreconditionError(
                                   node.python + " has no NumPy, which arrays need: " + python.interpreter() +
                                   " -m pip install numpy, or env = \"NAME\" (hotplate env)"));
    const auto code = PickledFunction(node.function);
    if (!code.ok()) return OfNode(node.node, code.status());
    const auto id = client.PutFunction(node.function.name.substr(0, kLongestLabel), *code);
    if (!id.ok()) return OfNode(node.node, id.status());
    v1::FunctionCall& call = node.plan.options.function.emplace();
    call.set_function(*id);
    call.set_environment(python.environment());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::optional<v1::CheckJobResponse>>> CheckGraph(client::Client& client,
                                                                            const std::vector<PlannedNode>& nodes) {
  std::vector<std::optional<v1::CheckJobResponse>> answers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PlannedNode& node = nodes[i];
    if (node.is_program() || node.is_function()) continue;
    std::map<std::string, client::Input> inputs = node.inputs.Inputs();
    bool known = true;
    for (const auto& [name, maker] : node.made_by) {
      std::optional<Signature> made;
      if (const auto& answer = answers[maker.first])
        for (const v1::NamedSignature& output : answer->outputs())
          if (output.name() == maker.second && !output.at_most()) made = FromWire(output.signature());
      known = known && made.has_value();
      // Without a way to read it, since a check sends signatures alone.
      if (made) inputs[name] = client::ArraySource{*made, nullptr};
    }
    if (!known) continue;
    auto answer = client.Check(node.plan.kernel.name(), inputs, node.plan.options);
    if (!answer.ok()) return OfNode(node.node, NamingFiles(Settled(answer.status()), node.plan.inputs));
    answers[i] = *std::move(answer);
  }
  return answers;
}

}  // namespace hotplate::cli
