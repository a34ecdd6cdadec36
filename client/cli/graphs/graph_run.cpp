#include "client/cli/graphs/graph_run.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/cli/jobs/job_call.h"
#include "client/cli/jobs/job_ending.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/terminal/json.h"

namespace hotplate::cli {

absl::StatusOr<std::string> GraphRun::SubmitNode(PlannedNode& node, const client::Cancellation& cancellation) {
  std::vector<std::string> after;
  for (const std::size_t other : node.after) after.push_back(JobOf(other));
  if (node.is_program()) {
    for (const std::string& id : after) node.program.add_after()->set_job_id(id);
    node.program.set_graph(graph_);
    node.program.set_node(node.node.name);
    return client_.SubmitProgram(node.program, &cancellation);
  }
  if (const absl::Status loaded = node.inputs.Load(); !loaded.ok()) return loaded;
  std::map<std::string, client::Input> inputs = node.inputs.Inputs();
  for (const auto& [name, maker] : node.made_by) {
    const bool is_functions = nodes_[maker.first].is_function();
    inputs[name] = client::OutputRef{JobOf(maker.first), is_functions ? kFunctionResult : maker.second};
  }
  client::JobOptions options = node.plan.options;
  options.after = after;
  options.graph = graph_;
  options.node = node.node.name;
  if (node.is_function()) return SubmitFunction(node, inputs, options, cancellation);
  for (const auto& [output, takers] : node.takers) {
    const bool is_wanted = std::any_of(node.plan.outputs.begin(), node.plan.outputs.end(),
                                       [&](const OutputArgument& one) { return one.name == output; });
    if (!is_wanted) options.for_jobs[output] = takers;
  }
  return client_.Submit(node.plan.kernel.name(), inputs, options, &cancellation);
}

absl::StatusOr<std::string> GraphRun::SubmitFunction(const PlannedNode& node,
                                                     const std::map<std::string, client::Input>& arrays,
                                                     const client::JobOptions& options,
                                                     const client::Cancellation& cancellation) {
  std::vector<std::string> names;
  std::map<std::string, client::Input> inputs;
  for (const auto& [name, array] : arrays) {
    inputs["a" + std::to_string(names.size())] = array;
    names.push_back(name);
  }
  const bool needs_array = !node.takers.empty() || !node.plan.outputs.empty();
  const std::string call = PickledCall(node.numbers, names, needs_array);
  inputs["arguments"] = client::View(std::span(reinterpret_cast<const std::uint8_t*>(call.data()), call.size()),
                                     {static_cast<std::int64_t>(call.size())});
  return client_.Submit(kFunctionKernel, inputs, options, &cancellation);
}

absl::Status GraphRun::Submit(const client::Cancellation& cancellation) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    // Also behind a job that has failed: the daemon refuses it then, and need not keep for it what others made.
    const auto id = SubmitNode(nodes_[i], cancellation);
    if (!id.ok()) {
      failed_[i] = Lacks(nodes_[i]);
      if (!failed_[i].empty()) {
        ids_.emplace_back();
        continue;
      }
      Cancel();
      return OfNode(nodes_[i].node, NamingFiles(Settled(id.status()), nodes_[i].plan.inputs));
    }
    ids_.push_back(*id);
  }
  return absl::OkStatus();
}

std::string GraphRun::Lacks(const PlannedNode& node) {
  std::vector<std::size_t> needs = node.after;
  for (const auto& [input, maker] : node.made_by) needs.push_back(maker.first);
  for (const std::size_t place : needs) {
    if (ids_[place].empty()) return failed_.at(place);
    const auto job = client_.Job(ids_[place]);
    if (job.ok() && (job->state() == v1::FAILED || job->state() == v1::TIMEOUT || job->state() == v1::CANCELLED)) {
      return ids_[place];
    }
  }
  return "";
}

void GraphRun::Cancel() {
  // The daemon may have one whose answer did not come back.
  v1::ListJobsRequest request;
  request.set_graph(graph_);
  request.set_active_only(true);
  const auto jobs = client_.Jobs(request);
  std::vector<std::string> ids = ids_;
  if (jobs.ok())
    for (const v1::Job& job : *jobs) ids.push_back(job.id());
  for (const std::string& id : ids)
    if (!id.empty()) client_.Cancel(id).IgnoreError();  // it may have ended
}

absl::Status GraphRun::DeliverNode(std::size_t place, const client::Cancellation& cancellation) {
  PlannedNode& node = nodes_[place];
  auto files = JobOutputs::Open(node.FilesHere());
  if (!files.ok()) return files.status();
  client::JobOptions options;
  const bool is_function = node.is_function();
  options.take_output = [&](const std::string& output, const Signature& signature, std::uint64_t offset,
                            std::span<const std::byte> piece) {
    return files->Take(is_function ? kFunctionOutput : output, signature, offset, piece);
  };
  auto result = client_.Fetch(ids_[place], options, &cancellation);
  if (!files->take_error().ok()) return NotDelivered(files->take_error(), node.plan, ids_[place]);
  if (!result.ok()) return result.status();
  if (is_function) {  // the result alone, if it is an array; the rest is Python's
    auto array = result->outputs.extract(kFunctionResult);
    result->outputs.clear();
    if (!array.empty()) result->outputs[kFunctionOutput] = std::move(array.mapped());
  }
  const absl::Status delivered = cli::Deliver(call_, node.plan.kernel, node.plan.outputs, *files, *std::move(result));
  return delivered.ok() ? delivered : NotDelivered(delivered, node.plan, ids_[place]);
}

absl::Status GraphRun::Deliver(const client::Cancellation& cancellation) {
  absl::Status first;
  std::size_t not_completed = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (ids_[i].empty()) {
      ++not_completed;
      continue;
    }
    Progress progress(call_.console, call_.output.talkative());
    const auto end = client_.Watch(
        ids_[i], [&progress](const v1::JobUpdate& update) { progress.Update(update); }, &cancellation);
    progress.Clear();
    if (!end.ok()) return OfNode(nodes_[i].node, end.status());
    if (end->state() != v1::COMPLETED) {
      ++not_completed;
      call_.output.Answer([] { return std::string(); }, [&] { return EndJson(ids_[i], *end); }, "");
      const auto why = client_.Fetch(ids_[i], client::JobOptions(), &cancellation);
      if (first.ok()) first = OfNode(nodes_[i].node, why.status());
      continue;
    }
    if (!nodes_[i].HasResult()) continue;
    const absl::Status delivered = DeliverNode(i, cancellation);
    if (!delivered.ok() && cancellation.cancelled()) return OfNode(nodes_[i].node, delivered);
    if (!delivered.ok() && first.ok()) first = OfNode(nodes_[i].node, delivered);
  }
  if (not_completed < 2) return first;
  return Worded(first, absl::StrCat(first.message(), "\n", not_completed - 1, " more of ", nodes_.size(),
                                    " nodes did not complete: hotplate show ", graph_));
}

std::string GraphRun::Text() const {
  std::vector<std::string> queued = ids_;
  std::erase(queued, "");
  const std::string which = queued.size() == 1 ? "job " + queued.front() : queued.front() + " to " + queued.back();
  const std::size_t left_out = ids_.size() - queued.size();
  return absl::StrCat("graph ", graph_, ": ", queued.size(), queued.size() == 1 ? " job" : " jobs", " queued, ", which,
                      left_out == 0 ? "" : absl::StrCat("; ", left_out, " not, since a job before them has failed"));
}

std::string GraphRun::Json() const {
  JsonObject nodes;
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (!ids_[i].empty()) nodes.Text(nodes_[i].node.name, ids_[i]);
  return JsonObject().Text("graph", graph_).Raw("nodes", nodes.Json()).Json();
}

}  // namespace hotplate::cli
