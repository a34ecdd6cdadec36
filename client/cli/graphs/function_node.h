// A node that is a function of a module beside the graph's file: `function = "model:fit"`. It runs in a worker of the
// daemon, as functions of the Python package do (v1::FunctionCall), and has its inputs as keyword arguments.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/graphs/graph_file.h"
#include "client/lib/client.h"

namespace hotplate::cli {

// The kernel of such a job, and its result: an array, or a number as one. Within a graph's file the result is "out".
inline constexpr char kFunctionKernel[] = "function", kFunctionResult[] = "a0", kFunctionOutput[] = "out";

struct FunctionNode {
  std::string module, name;  // "model", "fit"
  std::string file;          // of the module
};

// "model:fit", of a folder. INVALID_ARGUMENT: it is none of that form, or there is no such module there.
absl::StatusOr<FunctionNode> FunctionIn(const std::string& folder, const std::string& text);

// The pickles that hotplate_calls.py reads: the function, and a call of it. `numbers` are keyword arguments, and so are
// the arrays, which are the inputs "a0", "a1" and so on. `needs_array`: its result has to be one, since others take it;
// else what is none is left out.
absl::StatusOr<std::string> PickledFunction(const FunctionNode& function);
std::string PickledCall(const std::map<std::string, GraphNumber>& numbers, const std::vector<std::string>& arrays,
                        bool needs_array);

}  // namespace hotplate::cli
