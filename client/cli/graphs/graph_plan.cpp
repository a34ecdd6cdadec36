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

class GraphPlanner {
 public:
  GraphPlanner(const Invocation& call, client::Client& client) : call_(call), client_(client) {}

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

  absl::StatusOr<JobPlan> PlanOf(const GraphNode& node) {
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

  absl::Status AddProgram(const GraphNode& node) {
    const auto arguments = ParseArguments(AllProgramOptions(), node.options);
    if (!arguments.ok()) return arguments.status();
    const Invocation own{call_.command,     call_.words,   *arguments,   call_.settings,
                         call_.environment, call_.console, call_.output, call_.connected};
    auto program = ProgramFor(own, ProgramWords{.kind = node.program, .own = {}, .program = node.words});
    if (!program.ok()) return program.status();
    program->clear_terminal();
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
  std::map<std::string, v1::KernelSpec> specs_;
  std::map<std::string, std::string> files_;  // whose they are
  std::map<std::string, std::size_t> place_;  // by node
  std::vector<PlannedNode> nodes_;
};

}  // namespace

absl::Status OfNode(const GraphNode& node, const absl::Status& status) {
  return Worded(status, "[" + node.name + "] " + std::string(status.message()));
}

bool PlannedNode::HasResult() const {
  return node.kind != GraphNode::Kind::kProgram && (takers.empty() || !FilesHere().empty());
}

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
  GraphPlanner planner(call, client);
  for (GraphNode& node : file.nodes)
    if (const absl::Status added = planner.Add(std::move(node)); !added.ok()) return added;
  return planner.Take();
}

absl::StatusOr<std::vector<std::optional<v1::CheckJobResponse>>> CheckGraph(client::Client& client,
                                                                            const std::vector<PlannedNode>& nodes) {
  std::vector<std::optional<v1::CheckJobResponse>> answers(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PlannedNode& node = nodes[i];
    if (node.node.kind == GraphNode::Kind::kProgram) continue;
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
