// A graph of jobs to look at: in the terminal, as a picture, for Graphviz.
#pragma once

#include <string>
#include <vector>

#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {

struct DrawnNode {
  v1::Job job;
  std::string name;                // of the node, or the job's id
  std::vector<std::size_t> needs;  // nodes before it
  std::size_t depth = 0;           // of the longest way to it
};

// In the order of their submission. Jobs on which they depend, and which are not among them, are left out.
std::vector<DrawnNode> DrawnNodes(std::vector<v1::Job> jobs);

// A line a node, behind those that it needs.
std::string GraphText(const std::string& graph, const std::vector<DrawnNode>& nodes, bool colour);
std::string GraphDot(const std::string& graph, const std::vector<DrawnNode>& nodes);
// A picture without a script or a font of its own: boxes in columns, an arrow from each to those that need it.
std::string GraphSvg(const std::string& graph, const std::vector<DrawnNode>& nodes);

}  // namespace hotplate::cli
