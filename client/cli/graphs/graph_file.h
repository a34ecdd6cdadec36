// A graph of jobs as a TOML file has it: a table a node, whose inputs may be other nodes' outputs.
//
//   [gram]
//   kernel = "matmul"
//   inputs = { a = "x.npy", b = "x.npy" }
//   params = { transpose_a = true }
//
//   [roots]
//   expression = "sqrt(abs(g))"
//   inputs = { g = "gram" }          # NODE, or NODE.OUTPUT; ./gram would be a file
//   outputs = { out = "roots.npy" }
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::cli {

struct GraphNode {
  enum class Kind { kKernel, kExpression, kProgram };
  std::string name;
  Kind kind = Kind::kKernel;
  // The words of `hotplate submit` that mean the same: the kernel or the text, then inputs, parameters and options. An
  // input that another node makes is job:NODE or job:NODE.OUTPUT.
  std::vector<std::string> words;
  std::string program;               // "python" or "exec"; its words are then the program's alone
  std::vector<std::string> options;  // of a program: as of `hotplate submit python`
  std::vector<std::string> after;  // nodes that it follows without taking anything of them
  std::vector<std::string> takes;  // nodes of which it takes something
};

struct GraphFile {
  std::string stem;              // of the file's name
  std::vector<GraphNode> nodes;  // each behind those that it needs; else in the order of the file
};

// INVALID_ARGUMENT names the file, and the line or the node, of every fault: what is no TOML, unknown keys, a node that
// is not there, a circle of nodes.
absl::StatusOr<GraphFile> ReadGraphFile(const std::string& path);

}  // namespace hotplate::cli
