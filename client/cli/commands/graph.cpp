// hotplate graph: jobs that take each other's outputs, from a file.
#include <algorithm>

#include "client/cli/commands.h"
#include "client/cli/graphs/graph_run.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/json.h"
#include "client/lib/wire.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestStem = 40;

// The file's name, and something that tells its runs apart.
std::string NameOf(const std::string& stem) {
  std::string name = stem.substr(0, kLongestStem);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '-');
  return name + "-r" + client::RandomHex(2);  // with a letter: digits and a dash are a range of jobs
}

std::string TitleOf(const PlannedNode& node) {
  if (node.is_program()) return node.node.program;
  return node.is_function() ? "function " + node.node.words.front() : node.plan.kernel.name();
}

// A node that the daemon does not check before it runs, in words.
std::string UncheckedText(const PlannedNode& node) {
  if (node.is_program()) {
    const std::string& device = node.program.device();
    return "  " + Join(node.node.words, " ") + "\n  in " + node.program.folder() + ", on " +
           (device.empty() ? "any device" : device) +
           (node.program.python_environment().empty() ? "" : ", environment " + node.program.python_environment()) +
           (node.node.after.empty() ? "" : ", after " + Join(node.node.after, ", ")) +
           "\n  it begins, and is found, when it runs\n";
  }
  if (node.is_function())
    return "  " + node.function.file + "\n  in " + node.python + "\n  its result is known when it is made\n";
  return "  its inputs are known, and checked, when they are made\n";
}

// A job that can never run is an error, with the exit code of a real run.
absl::Status DryRunOf(const Invocation& call, client::Client& client, const std::vector<PlannedNode>& nodes) {
  const auto answers = CheckGraph(client, nodes);
  if (!answers.ok()) return answers.status();
  std::string text, never;
  std::vector<std::string> json;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PlannedNode& node = nodes[i];
    const auto& answer = (*answers)[i];
    text += node.node.name + "   " + TitleOf(node) + "\n";
    if (answer) text += CheckText(*answer);
    if (!answer) text += UncheckedText(node);
    if (answer && CanNeverRun(*answer))
      never +=
          (never.empty() ? "" : ", ") + node.node.name + (answer->refusal().empty() ? "" : ": " + answer->refusal());
    JsonObject object;
    object.Text("node", node.node.name).Raw("check", answer ? ToJson(*answer) : "null");
    if (!node.python.empty()) object.Text("python", node.python);
    json.push_back(object.Json());
  }
  const std::string accepted =
      never.empty()
          ? Done(call.console, std::to_string(nodes.size()) + " jobs would be accepted; nothing was run") + "\n"
          : "";
  call.output.Answer([&] { return text + accepted; }, [&] { return JsonObject().Raw("nodes", JsonArray(json)).Json(); },
                     "");
  if (never.empty()) return absl::OkStatus();
  return Answered(
      WithExitCode(absl::ResourceExhaustedError("can never run here: " + never + "; nothing was run"), kExitInvalid));
}

absl::Status Graph(const Invocation& call) {
  const std::string& verb = call.arguments.words()[0];
  if (verb != "run" && verb != "submit") return UsageError("\"" + verb + "\" is neither run nor submit");
  const bool waits = verb == "run";
  client::Cancellation cancellation;
  InterruptWatch interrupt([&] { cancellation.Cancel(); });
  auto file = ReadGraphFile(call.arguments.words()[1]);
  if (!file.ok()) return file.status();
  const std::string graph = call.arguments.Text("name").value_or(NameOf(file->stem));
  if (!IsGraphWord(graph))
    return UsageError("--name " + graph +
                      ": a graph's name cannot be a number, a range, last or all, nor have a comma");
  auto client = call.Connect();
  if (!client.ok()) return client.status();
  auto nodes = PlanGraph(call, *client, *std::move(file));
  if (!nodes.ok()) return WithNextStep(nodes.status(), "nothing was run");
  for (const PlannedNode& node : *nodes)
    for (const OutputArgument& output : node.plan.outputs)
      if (!waits && output.IsFileHere())
        return UsageError(
            "[" + node.node.name + "] " + output.name + " = \"" + output.text +
            "\": submit does not wait for a result. Keep it with array:NAME, have the daemon write it with "
            "path:FILE.npy, or run the graph");
  if (const absl::Status functions = CheckFunctions(*client, *nodes); !functions.ok())
    return WithNextStep(functions, "nothing was run");
  if (call.arguments.Flag("dry-run")) return DryRunOf(call, *client, *nodes);
  const auto answers = CheckGraph(*client, *nodes);
  if (!answers.ok()) return WithNextStep(answers.status(), "nothing was run");
  if (const absl::Status files = CheckFiles(*nodes, *answers); !files.ok())
    return WithNextStep(files, "nothing was run");

  GraphRun run(call, *client, graph, *std::move(nodes));
  interrupt.Begin();
  absl::Status status = run.Submit(cancellation);
  if (status.ok()) {
    const std::string next = "\n  hotplate show " + graph + " · hotplate jobs --graph " + graph;
    call.output.Answer([&] { return Done(call.console, run.Text()) + next; }, [&] { return run.Json(); }, graph);
    if (waits) status = run.Deliver(cancellation);
  }
  if (interrupt.interrupted()) {
    interrupt.Hold(true);  // a second signal would leave the rest of them
    run.Cancel();
    return Interrupted("the jobs of graph " + graph + " were cancelled");
  }
  return status;
}

}  // namespace

Command GraphCommand() {
  return {
      .name = "graph",
      .group = Group::kJobs,
      .summary = "run jobs that take each other's outputs, from a file",
      .details =
          "FILE is TOML, a table a job:\n"
          "  [gram]\n"
          "  kernel = \"matmul\"\n"
          "  inputs = { a = \"x.npy\", b = \"x.npy\" }\n"
          "  [roots]\n"
          "  expression = \"sqrt(abs(g))\"\n"
          "  inputs = { g = \"gram\" }\n"
          "  outputs = { out = \"roots.npy\" }\n"
          "An input NODE or NODE.OUTPUT is what another node makes; it stays on the device, and goes when all that\n"
          "take it have it. All else is as for run: files (./NAME forces one), array:NAME, path:FILE, numbers.\n"
          "params, outputs, after, device, priority, time_limit, precision, deterministic and label are as run's\n"
          "options; python and exec name programs, as python = [\"plot.py\", \"--fast\"]. function = \"model:fit\" is\n"
          "fit of model.py beside FILE: its inputs are keyword arguments, NumPy arrays; it returns one, or a number.\n"
          "run waits, and writes the files, one node after the other; Ctrl-C cancels the graph. submit returns at\n"
          "once. In both, the jobs go on if this command is killed: hotplate show GRAPH draws how far they are. If\n"
          "one does not complete, those that need it do not run.",
      .example = "hotplate graph run normal.toml",
      .positionals = {{.name = "run|submit",
                       .help = "wait for the results, or not",
                       .offer = Offer::kChoices,
                       .choices = {"run", "submit"}},
                      {.name = "FILE", .help = "the graph: a .toml file", .offer = Offer::kFile}},
      .options = {{.names = "--name",
                   .value = "GRAPH",
                   .help = "list its jobs by this name (default: the file's, and -r with four digits or letters)"},
                  {.names = "--dry-run",
                   .value = "",
                   .help = "check every job, say what it needs and where it fits; run nothing"}},
      .run = Graph};
}

}  // namespace hotplate::cli
