// Runs the jobs of a graph: queues them all, and then, if somebody waits, brings their results home.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/graphs/graph_plan.h"

namespace hotplate::cli {

class GraphRun {
 public:
  // `graph`: the name that its jobs are listed by.
  GraphRun(const Invocation& call, client::Client client, std::string graph, std::vector<PlannedNode> nodes)
      : call_(call), client_(std::move(client)), graph_(std::move(graph)), nodes_(std::move(nodes)) {}

  // Sends the inputs and queues the jobs, each behind those that it needs. If one is refused, those before it are
  // cancelled, and the refusal names the node. One that needs a job that has failed already is left out.
  absl::Status Submit(const client::Cancellation& cancellation);
  // Waits for all of them, writes their files and prints their results. The first node that did not complete is the
  // error.
  absl::Status Deliver(const client::Cancellation& cancellation);
  // Cancels what goes on.
  void Cancel();

  std::string Text() const;  // "graph normal-r3f2a: 3 jobs queued, 12 to 14"
  std::string Json() const;  // {"graph": …, "nodes": {NAME: ID, …}}
  const std::string& graph() const { return graph_; }

 private:
  absl::StatusOr<std::string> SubmitNode(PlannedNode& node, const client::Cancellation& cancellation);
  // The one of the jobs that it needs which will not complete; empty: there is none.
  std::string Lacks(const PlannedNode& node);
  // The job that those behind a node name: its own, or of one that was left out the one for which it was.
  const std::string& JobOf(std::size_t place) const { return ids_[place].empty() ? failed_.at(place) : ids_[place]; }
  // `arrays`: its arguments, by name.
  absl::StatusOr<std::string> SubmitFunction(const PlannedNode& node,
                                             const std::map<std::string, client::Input>& arrays,
                                             const client::JobOptions& options,
                                             const client::Cancellation& cancellation);
  absl::Status DeliverNode(std::size_t place, const client::Cancellation& cancellation);

  const Invocation& call_;
  client::Client client_;
  const std::string graph_;
  std::vector<PlannedNode> nodes_;
  std::vector<std::string> ids_;               // of the jobs that were queued, by node; empty: left out
  std::map<std::size_t, std::string> failed_;  // for which a node was left out
};

}  // namespace hotplate::cli
