// --each and its like: the words that make many tasks of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/cli/arguments.h"
#include "client/lib/client.h"
#include "hotplate/v1/sweeps.pb.h"

namespace hotplate::cli {

// As the daemon's.
inline constexpr std::uint64_t kMostTasks = 1'000'000;

// --each, --each-file, --max-fails, --retries.
std::vector<OptionSpec> SweepOptions();
// Beside these, submit and programs have --failed-of, and programs --each-line.
OptionSpec FailedOfOption();
OptionSpec EachLineOption();

// The parameters that may be swept over.
struct SweptNames {
  std::string of;                  // for messages: "integrate2d", "the expression", "the program"
  std::vector<std::string> names;  // empty: any
  // The value that a text stands for, or a sentence with the name, the value and its fault.
  absl::FunctionRef<absl::StatusOr<client::ParamValue>(const std::string& name, const std::string& text)> parse;
};

// The sweep that was asked for; nothing without --each and its like. INVALID_ARGUMENT names what is wrong and its
// value. Reads the file of --each-file or --each-line.
absl::StatusOr<std::optional<v1::Sweep>> SweepFrom(const Arguments& arguments, const SweptNames& swept);

// The option that makes a sweep, of those that were given: "--each".
std::string GivenSweepOption(const Arguments& arguments);
std::uint64_t SizeOf(const v1::SweepAxis& axis);  // its values
std::uint64_t TasksOf(const v1::Sweep& sweep);    // those of `only`; kMostTasks + 1 where there are more than that

}  // namespace hotplate::cli
