#include "server/workers/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

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

std::uint64_t ResidentBytes(const std::vector<pid_t>& processes) {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::uint64_t pages = 0;
  for (const pid_t process : processes) {
    std::ifstream file(ProcOf(process) + "statm");
    std::uint64_t size = 0, resident = 0;
    if (file >> size >> resident) pages += resident;
  }
  return pages * page;
}

std::uint64_t ProportionalBytes(const std::vector<pid_t>& processes) {
  std::uint64_t bytes = 0;
  for (const pid_t process : processes) {
    std::ifstream file(ProcOf(process) + "smaps_rollup");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("Pss:")) bytes += std::strtoull(line.c_str() + 4, nullptr, 10) * 1024;
    }
  }
  return bytes;
}

}  // namespace hotplate::server
