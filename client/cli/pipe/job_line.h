// A job as a line of JSON:
//   {"tag": 7, "kernel": "selu", "params": {"alpha": 1.5}, "inputs": {"x": "x.npy"}, "outputs": {"y": "array:Y"}}
// It becomes the words that `hotplate run` or `hotplate eval` would have for the same job.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/arguments.h"
#include "hotplate/v1/catalogue.pb.h"

namespace hotplate::cli {

using NamedWords = std::vector<std::pair<std::string, std::string>>;

struct JobLine {
  std::string tag;         // JSON, as it was given; empty without one
  std::string kernel;      // empty for an expression
  std::string expression;  // empty for a kernel
  NamedWords params, inputs, outputs;
  std::vector<std::string> options;  // "--device=gpu0"
};

// The options of run, or of eval, that a line has as members: "time_limit" for --time-limit.
std::vector<OptionSpec> LineOptions(bool of_expression);

// INVALID_ARGUMENT names the member that is wrong, or the nearest known one. `line` then has at least its tag, if the
// line is JSON up to there.
absl::Status ReadJobLine(std::string_view text, JobLine& line);

// The words, with the kernel's name or the expression, but without the verb. INVALID_ARGUMENT names the nearest
// parameter, input or output for one that is not there.
absl::StatusOr<std::vector<std::string>> WordsOf(const JobLine& line, const v1::KernelSpec& kernel);
absl::StatusOr<std::vector<std::string>> WordsOfExpression(const JobLine& line);

}  // namespace hotplate::cli
