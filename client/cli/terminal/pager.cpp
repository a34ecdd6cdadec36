#include "client/cli/terminal/pager.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace hotplate::cli {
namespace {

// Whether the pager was there to show it.
bool Shown(const std::string& pager, const std::string& text) {
  std::FILE* const pipe = popen(pager.c_str(), "w");
  if (!pipe) return false;
  // A pager may end before it has read everything. It must not inherit this setting: its children may rely on the
  // signal.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::fwrite(text.data(), 1, text.size(), pipe);
  const int status = pclose(pipe);
  std::signal(SIGPIPE, before);
  constexpr int kNotFound = 127, kNotAProgram = 126;  // the shell's
  return status != -1 &&
         !(WIFEXITED(status) && (WEXITSTATUS(status) == kNotFound || WEXITSTATUS(status) == kNotAProgram));
}

}  // namespace

std::string Paged(const Console& console, const std::string& text) {
  if (!console.out_terminal) return text;
  const std::string wrapped = Fitted(text, console.width);
  if (std::count(wrapped.begin(), wrapped.end(), '\n') < SizeOfTerminal().lines || isatty(STDIN_FILENO) != 1)
    return wrapped;
  const char* const chosen = std::getenv("PAGER");
  const std::string pager = chosen ? chosen : "less";
  if (pager.empty()) return wrapped;
  setenv("LESS", "FRX", /*overwrite=*/0);  // as git has it: colours pass, and the text stays on the screen
  console.out.flush();
  return Shown(pager, wrapped) ? "" : wrapped;
}

}  // namespace hotplate::cli
