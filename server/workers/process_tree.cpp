#include "server/workers/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace hotplate::server {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

std::string ProcOf(pid_t process) { return "/proc/" + std::to_string(process) + "/"; }

// A process's children are listed by the thread that started them.
void AppendChildren(pid_t process, std::vector<pid_t>& found) {
  const std::string tasks = ProcOf(process) + "task/";
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(tasks.c_str()));
  if (!folder) return;
  while (const dirent* const task = readdir(folder.get())) {
    if (task->d_name[0] == '.') continue;
    std::ifstream file(tasks + task->d_name + "/children");
    for (pid_t child = 0; file >> child;) found.push_back(child);
  }
}

}  // namespace

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> found;
  AppendChildren(parent, found);
  return found;
}

std::vector<pid_t> DescendantsOf(pid_t ancestor) {
  std::vector<pid_t> found;
  AppendChildren(ancestor, found);
  for (std::size_t i = 0; i < found.size(); ++i) AppendChildren(found[i], found);
  return found;
}

namespace {

// The sum of a file's lines "NAME:   123 kB" with one of two names; nothing if there is none.
std::optional<std::uint64_t> SumOf(const std::string& path, std::string_view one, std::string_view other) {
  std::ifstream file(path);
  std::optional<std::uint64_t> kilobytes;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(one) && !line.starts_with(other)) continue;
    kilobytes = kilobytes.value_or(0) + std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10);
  }
  if (!kilobytes) return std::nullopt;
  return *kilobytes * 1024;
}

std::uint64_t OwnBytes(pid_t process) { return SumOf(ProcOf(process) + "status", "RssAnon:", "RssShmem:").value_or(0); }

}  // namespace

std::chrono::nanoseconds ProcessorTime(const std::vector<pid_t>& processes) {
  const long per_second = sysconf(_SC_CLK_TCK);
  std::int64_t ticks = 0;
  for (const pid_t process : processes) {
    std::ifstream file(ProcOf(process) + "stat");
    std::string text;
    std::getline(file, text);
    // Behind the name, which may have blanks and brackets: the state, ten numbers, and the two times.
    std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string ignored;
    for (int i = 0; i < 11; ++i) rest >> ignored;
    std::int64_t user = 0, system = 0;
    if (rest >> user >> system) ticks += user + system;
  }
  return std::chrono::nanoseconds(ticks * (1'000'000'000 / per_second));
}

std::uint64_t OwnBytes(const std::vector<pid_t>& processes) {
  std::uint64_t bytes = 0;
  for (const pid_t process : processes) bytes += OwnBytes(process);
  return bytes;
}

std::uint64_t ProportionalBytes(const std::vector<pid_t>& processes) {
  std::uint64_t bytes = 0;
  for (const pid_t process : processes) {
    // Not there before Linux 5.6, nor readable of every process.
    bytes += SumOf(ProcOf(process) + "smaps_rollup", "Pss_Anon:", "Pss_Shmem:").value_or(OwnBytes(process));
  }
  return bytes;
}

}  // namespace hotplate::server
