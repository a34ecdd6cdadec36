// hotplate show: all about one job.
#include "client/cli/allocation/absence.h"
#include "client/cli/commands.h"
#include "client/cli/graphs/graph_drawing.h"
#include "client/cli/jobs/job_selection.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/journals/kept_job.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

void AnswerKept(const Invocation& call, const KeptAnswer& kept) {
  call.output.Answer([&] { return Fitted(TextOf(kept, call.console.out_colour), WidthOf(call.console)); },
                     [&] { return JsonOf(kept); }, StateName(kept.job.state()));
}

// Without a daemon: shows the jobs from the journals. NOT_FOUND, and nothing is shown, if they lack one of them.
absl::Status ShowKept(const Invocation& call) {
  auto kept = KeptJobs::Open(call);
  if (!kept.ok()) return absl::NotFoundError(kept.status().message());
  const auto ids = kept->Select(call.arguments.words(), call.arguments.Text("server").value_or(""));
  if (!ids.ok()) return ids.status();
  std::vector<KeptAnswer> answers;
  for (const std::string& id : *ids) {
    auto answer = kept->Find(id);
    if (!answer.ok()) return answer.status();
    answers.push_back(*std::move(answer));
  }
  for (const KeptAnswer& answer : answers) AnswerKept(call, answer);
  return absl::OkStatus();
}

// The graph of that name is drawn; false if there is none.
absl::StatusOr<bool> ShowGraph(const Invocation& call, client::Client& client, const std::string& graph) {
  v1::ListJobsRequest request;
  request.set_graph(graph);
  const auto jobs = client.Jobs(request);
  if (!jobs.ok()) return jobs.status();
  if (jobs->empty()) return false;
  const std::vector<DrawnNode> nodes = DrawnNodes(*jobs);
  call.output.Answer(
      [&] {
        if (call.arguments.Flag("dot")) return GraphDot(graph, nodes);
        if (call.arguments.Flag("svg")) return GraphSvg(graph, nodes);
        return Fitted(GraphText(graph, nodes, call.console.out_colour), WidthOf(call.console));
      },
      [&] {
        std::vector<std::string> all;
        for (const DrawnNode& node : nodes) all.push_back(ToJson(node.job));
        return JsonObject().Text("graph", graph).Raw("jobs", JsonArray(all)).Json();
      },
      "");
  return true;
}

absl::Status Show(const Invocation& call) {
  const bool is_picture = call.arguments.Flag("dot") || call.arguments.Flag("svg");
  if (call.arguments.Flag("dot") && call.arguments.Flag("svg"))
    return UsageError("--dot and --svg: give one of the two");
  if (is_picture && call.arguments.words().size() != 1) return UsageError("--dot and --svg draw one graph: name one");
  auto client = call.TryConnect();
  if (!client.ok()) {
    if (is_picture || !absl::IsUnavailable(client.status())) return WhyNoDaemon(call, client.status());
    const absl::Status shown = ShowKept(call);
    return absl::IsNotFound(shown) ? WhyNoDaemon(call, client.status()) : shown;
  }
  if (call.arguments.words().size() == 1 && (is_picture || IsGraphWord(call.arguments.words()[0]))) {
    const auto shown = ShowGraph(call, *client, call.arguments.words()[0]);
    if (!shown.ok()) return shown.status();
    if (*shown) return absl::OkStatus();
  }
  if (is_picture)
    return absl::NotFoundError("there is no graph " + Quoted(call.arguments.words()[0]) +
                               "; --dot and --svg draw one graph (hotplate jobs --wide)");
  const auto ids = SelectJobs(*client, call.arguments.words(), AllJobs::kEveryOne);
  if (!ids.ok()) return ids.status();
  std::optional<KeptJobs> kept;  // once a job is not the daemon's any more
  for (const std::string& id : *ids) {
    const auto job = client->Job(id);
    if (absl::IsNotFound(job.status())) {
      if (!kept) {
        auto opened = KeptJobs::Open(call);
        if (!opened.ok()) return opened.status();
        kept.emplace(*std::move(opened));
      }
      const auto answer = kept->Find(id);
      if (!answer.ok()) return absl::IsNotFound(answer.status()) ? job.status() : answer.status();
      AnswerKept(call, *answer);
      continue;
    }
    if (!job.ok()) return job.status();
    call.output.Answer([&] { return Fitted(JobPage(*job, call.console.out_colour), WidthOf(call.console)); },
                       [&] { return ToJson(*job); }, StateName(job->state()));
  }
  return absl::OkStatus();
}

}  // namespace

Command ShowCommand() {
  return {
      .name = "show",
      .group = Group::kJobs,
      .summary = "show jobs: state, parameters, error, receipt; or draw a graph of jobs",
      .details =
          "For a GRAPH (hotplate graph) it draws how far each of its jobs is.\n"
          "A job that the daemon does not have any more, or whose daemon has ended, is looked for in the journals\n"
          "(hotplate history). --quiet prints only the states.",
      .example = "hotplate show last",
      .positionals = {{.name = "JOB|GRAPH", .help = kJobWords, .maximum = kAnyNumber, .offer = Offer::kJob}},
      .options =
          {{.names = "--dot", .value = "", .help = "draw a graph for Graphviz: hotplate show GRAPH --dot | dot -Tpdf"},
           {.names = "--svg", .value = "", .help = "draw a graph as a picture: hotplate show GRAPH --svg > graph.svg"}},
      .run = Show};
}

}  // namespace hotplate::cli
