// A graph that was read from a file, as jobs of a daemon: checked node by node before anything is sent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/graphs/function_node.h"
#include "client/cli/graphs/graph_file.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/jobs/job_files.h"

namespace hotplate::cli {

struct PlannedNode {
  GraphNode node;
  JobPlan plan;      // of a kernel, an expression or a function
  JobInputs inputs;  // from files, arrays and numbers; opened, not yet read
  // By input: the place of the node that makes it, and the output's name.
  std::map<std::string, std::pair<std::size_t, std::string>> made_by;
  std::vector<std::size_t> after;               // nodes
  std::map<std::string, std::uint32_t> takers;  // other nodes that take it, by output
  v1::Program program;                          // of a program; of a function its Python
  FunctionNode function;                        // of a function
  std::string python;                           // that a function runs in, in words, once CheckFunctions knows it
  std::map<std::string, GraphNumber> numbers;   // arguments of a function

  // A result that somebody may want: a file to be written here, or what no other node takes.
  bool HasResult() const;
  std::vector<OutputArgument> FilesHere() const;
  bool is_function() const { return node.kind == GraphNode::Kind::kFunction; }
  bool is_program() const { return node.kind == GraphNode::Kind::kProgram; }
};

// Everything that can be said about it without a look at shapes: words, files, names of outputs.
absl::StatusOr<std::vector<PlannedNode>> PlanGraph(const Invocation& call, client::Client& client, GraphFile file);

// "[gram] …"
absl::Status OfNode(const GraphNode& node, const absl::Status& status);

// Whether the files can be written, and the pictures drawn: the answers are CheckGraph's.
absl::Status CheckFiles(const std::vector<PlannedNode>& nodes,
                        const std::vector<std::optional<v1::CheckJobResponse>>& answers);

// Opens the Pythons of functions, and gives the daemon the functions. Nothing of them runs.
absl::Status CheckFunctions(client::Client& client, std::vector<PlannedNode>& nodes);

// The daemon's answers about the nodes, in their order. None for a node that takes what is known only when it is made,
// for functions and for programs. INVALID_ARGUMENT and the like name the node.
absl::StatusOr<std::vector<std::optional<v1::CheckJobResponse>>> CheckGraph(client::Client& client,
                                                                            const std::vector<PlannedNode>& nodes);

}  // namespace hotplate::cli
