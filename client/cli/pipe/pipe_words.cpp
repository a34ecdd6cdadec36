#include "client/cli/pipe/pipe_words.h"

#include <algorithm>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/jobs/job_arguments.h"
#include "client/cli/pipe/job_line.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr std::int64_t kMostInFlight = 1000, kInFlight = 64;

}  // namespace

std::vector<OptionSpec> PipeOptions() {
  return {
      {.names = "--pipe",
       .value = "",
       .help = "take jobs as JSON lines from standard input, and answer in JSON lines (hotplate help json)"},
      {.names = "--in-flight",
       .value = "N",
       .help = "with --pipe: read no further while so many jobs are under way, 1 to 1000 (default 64)"},
  };
}

bool AsksForPipe(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "--pipe") != end;
}

absl::Status CheckWithoutPipe(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto is_in_flight = [](const std::string& word) {
    return word == "--in-flight" || word.rfind("--in-flight=", 0) == 0;
  };
  if (std::any_of(words.begin(), end, is_in_flight)) return UsageError("--in-flight goes with --pipe");
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> MostInFlight(const Invocation& call) {
  const std::vector<OptionSpec> of_lines = JobOptionsOfRun(), own = PipeOptions();
  std::vector<OptionSpec> options = of_lines;
  options.insert(options.end(), own.begin(), own.end());
  options.insert(options.end(), CommonOptions().begin(), CommonOptions().end());
  const auto arguments = ParseArguments(options, call.words);
  const std::size_t first = FirstWord(options, call.words);
  const std::string word = first < call.words.size() ? call.words[first] : "";
  // A kernel's parameters are unknown options here, but the kernel is what should not be there.
  if (!arguments.ok() && !FindKernel(EmbeddedKernels(), word).ok()) return arguments.status();
  if (!word.empty())
    return UsageError(Quoted(word) + ": with --pipe each line of standard input names its kernel and its inputs");
  for (const OptionSpec& option : of_lines) {
    const std::string name = option.LongName();
    if (arguments->All(name).empty()) continue;
    const std::vector<OptionSpec> members = LineOptions(/*of_expression=*/false);
    const bool is_member = std::any_of(members.begin(), members.end(),
                                       [&name](const OptionSpec& member) { return member.LongName() == name; });
    return UsageError("--" + name +
                      (is_member || name == "output" ? ": with --pipe each line of standard input says it for its job"
                                                     : " makes no sense with --pipe"));
  }
  const auto most = arguments->Integer("in-flight", 1, kMostInFlight);
  if (!most.ok()) return most.status();
  return static_cast<std::size_t>(most->value_or(kInFlight));
}

}  // namespace hotplate::cli
