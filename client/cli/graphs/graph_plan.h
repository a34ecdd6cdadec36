// A graph that was read from a file, as jobs of a daemon: checked node by node before anything is sent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/graphs/graph_file.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/jobs/job_files.h"

namespace hotplate::cli {

struct PlannedNode {
  GraphNode node;
  JobPlan plan;      // of a kernel or an expression
  JobInputs inputs;  // from files, arrays and numbers; opened, not yet read
  // By input: the place of the node that makes it, and the output's name.
  std::map<std::string, std::pair<std::size_t, std::string>> made_by;
  std::vector<std::size_t> after;               // nodes
  std::map<std::string, std::uint32_t> takers;  // other nodes that take it, by output
  v1::Program program;                          // of a program

  // A result that somebody may want: a file to be written here, or what no other node takes.
  bool HasResult() const;
  std::vector<OutputArgument> FilesHere() const;
};

// Everything that can be said about it without a look at shapes: words, files, names of outputs.
absl::StatusOr<std::vector<PlannedNode>> PlanGraph(const Invocation& call, client::Client& client, GraphFile file);

// "[gram] …"
absl::Status OfNode(const GraphNode& node, const absl::Status& status);

// Whether the files can be written, and the pictures drawn: the answers are CheckGraph's.
absl::Status CheckFiles(const std::vector<PlannedNode>& nodes,
                        const std::vector<std::optional<v1::CheckJobResponse>>& answers);

// The daemon's answers about the nodes, in their order. None for a node that takes what is known only when it is made,
// and for programs. INVALID_ARGUMENT and the like name the node.
absl::StatusOr<std::vector<std::optional<v1::CheckJobResponse>>> CheckGraph(client::Client& client,
                                                                            const std::vector<PlannedNode>& nodes);

}  // namespace hotplate::cli
