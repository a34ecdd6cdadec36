#include "client/cli/programs/program_words.h"

#include <algorithm>

#include "client/cli/sweeps/sweep_words.h"
#include "server/journal/records.h"

namespace hotplate::cli {
namespace {

// The option that a word names, alone or as --name=value; null if it names none.
const OptionSpec* OptionOf(const std::vector<OptionSpec>& options, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const OptionSpec& option : options) {
    const std::vector<std::string> names = option.AllNames();
    if (std::find(names.begin(), names.end(), name) != names.end()) return &option;
  }
  return nullptr;
}

std::vector<OptionSpec> OneProgramOptions() {
  return {
      {.names = "--env",
       .value = "NAME",
       .help = "in this Python environment (hotplate env): python runs its interpreter, exec has its variables"},
      {.names = "--device", .value = "ID", .help = "run on this device (default: a GPU; without one the CPU)"},
      {.names = "--time-limit", .value = "TIME", .help = "end it after this time on the device"},
      {.names = "--priority", .value = "N", .help = "-100 to 100: higher runs first (default 0)"},
      {.names = "--label", .value = "TEXT", .help = "a label to find the job by (default: the program's name)"},
      {.names = "--after",
       .value = "JOB",
       .help =
           "submitted: begin when these jobs (ids, with commas) have completed; if one does not, this job does not run",
       .repeatable = true,
       .offer = Offer::kJob},
      {.names = "--export",
       .value = "ALL|NONE|NAMES",
       .help = "pass these variables of your environment: all (default), only HOME, PATH and the like, or NAMES, "
               "separated by commas, as well"},
      {.names = "-t,--terminal",
       .value = "",
       .help = "give it a terminal, as this command has one (Python without a script has it)"},
      {.names = "--request-id", .value = "ID", .help = "run it once, however often you ask with this id"},
      {.names = "--no-rerun",
       .value = "",
       .help = "submitted: let it fail if its daemon dies while it runs; the next daemon would run it again"},
  };
}

// The first word that is neither an option of ours nor the value of one.
std::size_t FirstOfProgram(const std::string& kind, const std::vector<std::string>& words) {
  const std::vector<OptionSpec> options = AllProgramOptions();
  if (kind != "python") return FirstWord(options, words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") return i + 1;
    const OptionSpec* const option = OptionOf(options, words[i]);
    if (option == nullptr) return i;
    if (!option->IsFlag() && words[i].find('=') == std::string::npos) ++i;
  }
  return words.size();
}

}  // namespace

std::vector<OptionSpec> AllProgramOptions() {
  std::vector<OptionSpec> options = ProgramOptions();
  options.insert(options.end(), CommonOptions().begin(), CommonOptions().end());
  return options;
}

std::optional<ProgramWords> SplitProgram(const Command& command, const std::vector<std::string>& words) {
  ProgramWords split;
  std::vector<std::string> rest = words;
  if (journal::IsProgram(command.name)) {
    split.kind = command.name;
  } else if (command.name == "submit") {
    const std::size_t verb = FirstWord(AllProgramOptions(), words);
    if (verb >= words.size() || !journal::IsProgram(words[verb])) return std::nullopt;
    split.kind = words[verb];
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(verb));  // options may stand before it, too
  } else {
    return std::nullopt;
  }
  const std::size_t first = std::min(FirstOfProgram(split.kind, rest), rest.size());
  split.own.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(first));
  split.program.assign(rest.begin() + static_cast<std::ptrdiff_t>(first), rest.end());
  if (!split.own.empty() && split.own.back() == "--") split.own.pop_back();
  return split;
}

const std::vector<OptionSpec>& ProgramOptions() {
  static const std::vector<OptionSpec> options = [] {
    std::vector<OptionSpec> all = OneProgramOptions();
    for (OptionSpec& option : SweepOptions()) {
      option.help = "submitted: " + option.help;
      all.push_back(std::move(option));
    }
    all.push_back(EachLineOption());
    all.push_back(FailedOfOption());
    return all;
  }();
  return options;
}

}  // namespace hotplate::cli
