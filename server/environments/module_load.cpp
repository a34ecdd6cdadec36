#include "server/environments/module_load.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/array/quoted.h"
#include "kernels/base/run_program.h"

namespace hotplate::server {
namespace {

// What a login gives a shell, too.
constexpr const char* kOfLogins[] = {"HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "PATH"};

// Between what profiles print and the variables, before and after. `env` is asked for by its folder, since a module may
// hide it.
constexpr char kMark[] = "hotplate: variables";
constexpr int kNoModule = 41;  // the exit code of the script where there is no command `module`
constexpr char kScript[] = R"(exec 3>&1 1>&2
type module >/dev/null 2>&1 || exit 41
printf '\0%s\0' "$0" >&3
command -p env -0 >&3
module load "$@" || exit $?
printf '%s\0' "$0" >&3
command -p env -0 >&3
)";

// What a shell has printed with `env -0`, before and after.
std::optional<std::pair<VariableMap, VariableMap>> BeforeAndAfter(const std::string& out) {
  const std::vector<std::string> texts = absl::StrSplit(out, '\0');
  const auto first = std::find(texts.begin(), texts.end(), kMark);
  if (first == texts.end()) return std::nullopt;
  const auto second = std::find(first + 1, texts.end(), kMark);
  if (second == texts.end()) return std::nullopt;
  return std::pair(MapOf({first + 1, second}), MapOf({second + 1, texts.end()}));
}

// Old versions of `module` fail with exit code 0, and a line "ModuleCmd_Load.c(213):ERROR:105: Unable to locate …".
bool SaysError(const std::string& err) {
  for (const absl::string_view line : absl::StrSplit(err, '\n')) {
    if (absl::StrContains(line, ":ERROR:") || absl::StartsWith(line, "ERROR:")) return true;
  }
  return false;
}

// All that it said, on one line.
std::string Said(const std::string& err) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(err, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) lines.emplace_back(text);
  }
  constexpr std::size_t kMostLines = 4;
  if (lines.size() > kMostLines) lines.resize(kMostLines);
  return Shortened(absl::StrJoin(lines, " "));
}

}  // namespace

absl::StatusOr<LoadedModules> LoadModules(const std::vector<std::string>& modules, const VariableMap& own,
                                          const ProgramToEnd& run) {
  Program shell;
  for (const char* const name : kOfLogins) {
    if (const auto found = own.find(name); found != own.end()) {
      shell.environment.push_back(found->first + "=" + found->second);
    }
  }
  const std::optional<std::string> bash = FindProgram(
      "bash", [](const std::string&) { return std::optional<std::string>("/bin:/usr/bin:/usr/local/bin"); });
  if (!bash) return absl::InvalidArgumentError("modules are loaded by bash, which the node does not have");
  shell.file = *bash;
  shell.folder = "/";
  shell.arguments = {"bash", "-l", "-c", kScript, kMark};
  shell.arguments.insert(shell.arguments.end(), modules.begin(), modules.end());
  const std::string command = "module load " + absl::StrJoin(modules, " ");
  const absl::StatusOr<EndedProgram> ended = run(shell);
  if (!ended.ok()) return absl::Status(ended.status().code(), absl::StrCat(command, ": ", ended.status().message()));
  if (ended->end.use.exit_code == kNoModule) {
    return absl::InvalidArgumentError(
        absl::StrCat(command, ": the node has no command `module` in a login shell (bash -l)"));
  }
  auto variables = BeforeAndAfter(ended->out);
  if (ended->end.use.exit_code != 0 || SaysError(ended->err) || !variables) {
    const std::string said = Said(ended->err);
    return absl::InvalidArgumentError(absl::StrCat(command, " failed on the node", said.empty() ? "" : ": ",
                                                   said.empty() ? " without a word" : said));
  }
  return LoadedModules{ChangesBetween(variables->first, variables->second), std::move(variables->second)};
}

}  // namespace hotplate::server
