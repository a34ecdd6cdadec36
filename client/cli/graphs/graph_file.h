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

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace hotplate::cli {

// A parameter's value, and the word for it.
struct GraphNumber {
  std::variant<std::int64_t, double, bool, std::string> value;
  std::string word;
};

struct GraphNode {
  enum class Kind { kKernel, kExpression, kFunction, kProgram };
  std::string name;
  Kind kind = Kind::kKernel;
  // The options and the other words of the command that means the same, `hotplate submit KERNEL`, `eval` or `python`:
  // the kernel, the text, "MODULE:FUNCTION" or the program, then inputs.
  std::vector<std::string> options, words;
  std::string program;                         // "python" or "exec"; its words are then the program's alone
  std::map<std::string, std::string> made_by;  // NODE or NODE.OUTPUT, by input
  std::map<std::string, GraphNumber> params;
  std::vector<std::string> after;  // nodes that it follows without taking anything of them
  std::vector<std::string> takes;  // nodes of which it takes something
  std::string environment;         // of a function: its Python, by name
};

struct GraphFile {
  std::string stem;              // of the file's name
  std::string folder;            // that the file is in
  std::vector<GraphNode> nodes;  // each behind those that it needs; else in the order of the file
};

// INVALID_ARGUMENT names the file, and the line or the node, of every fault: what is no TOML, unknown keys, a node that
// is not there, a circle of nodes.
absl::StatusOr<GraphFile> ReadGraphFile(const std::string& path);

}  // namespace hotplate::cli
