#include "kernels/devices/cpu/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

namespace hotplate::cpu {
namespace {

std::optional<std::uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // not there, or "max"
}

// The value behind `key` in a file of lines "key value".
std::optional<std::uint64_t> ReadKey(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.size() <= key.size() || line.compare(0, key.size(), key) != 0) continue;
    if (line[key.size()] != ' ' && line[key.size()] != ':') continue;
    std::istringstream rest(line.substr(key.size() + 1));
    std::uint64_t value = 0;
    if (rest >> value) return value;
  }
  return std::nullopt;
}

// Whether a comma-separated list (empty for version 2) has `controller`.
bool Names(std::string_view list, std::string_view controller) {
  if (controller.empty()) return list.empty();
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == controller) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// The folders of this process's cgroup and its parents in the hierarchy of `controller` ("" is version 2), the
// process's own first. In a container the path in /proc/self/cgroup may not exist below the mount: the mount's own
// folder is always the last.
std::vector<std::string> CgroupFolders(const std::string& root, std::string_view controller) {
  std::string mount = root + "/sys/fs/cgroup";
  if (!controller.empty()) mount.append("/").append(controller);
  std::vector<std::string> folders;
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (!Names(controllers, controller)) continue;
    std::string path = line.substr(second + 1);
    while (path.size() > 1) {
      folders.push_back(mount + path);
      path.resize(path.rfind('/'));
    }
  }
  folders.push_back(mount);
  return folders;
}

void Tighten(Memory& memory, std::optional<std::uint64_t> limit, std::optional<std::uint64_t> usage,
             std::optional<std::uint64_t> reclaimable) {
  if (!limit || *limit >= memory.total) return;  // version 1 says "no limit" by a number beyond any machine
  memory.total = *limit;
  const std::uint64_t used = usage.value_or(0) - std::min(usage.value_or(0), reclaimable.value_or(0));
  memory.available = std::min(memory.available, *limit - std::min(*limit, used));
}

}  // namespace

std::string InstructionSet() {
#if defined(__x86_64__) && !defined(HOTPLATE_SANITIZED) && !defined(__clang__)  // as HOTPLATE_MULTIVERSION has it
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return "x86-64-v4 (AVX-512)";
  if (__builtin_cpu_supports("x86-64-v3")) return "x86-64-v3 (AVX2)";
  return "x86-64-v2 (SSE4.2)";
#elif defined(__x86_64__)
  return "x86-64-v2 (SSE4.2)";
#elif defined(__aarch64__)
  return "aarch64 (NEON)";
#else
  return "generic";
#endif
}

std::string ModelName(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "CPU";
}

std::vector<int> AllowedProcessors() {
  // The kernel refuses a mask smaller than its own, so try larger ones.
  for (std::size_t processors = 1024; processors <= 65'536; processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(processors);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(processors);
    std::vector<int> allowed;
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (std::size_t i = 0; i < processors; ++i) {
        if (CPU_ISSET_S(i, bytes, set)) allowed.push_back(static_cast<int>(i));
      }
    }
    CPU_FREE(set);
    if (!allowed.empty()) return allowed;
  }
  std::vector<int> all(std::max(1u, std::thread::hardware_concurrency()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

std::optional<double> ProcessorQuota(const std::string& root) {
  std::optional<double> tightest;
  const auto tighten = [&](double quota) { tightest = std::min(tightest.value_or(quota), quota); };
  for (const std::string& folder : CgroupFolders(root, "")) {
    std::ifstream file(folder + "/cpu.max");
    double quota = 0, period = 0;
    if (file >> quota >> period && quota > 0 && period > 0) tighten(quota / period);  // "max 100000" is not a number
  }
  for (const std::string& folder : CgroupFolders(root, "cpu")) {
    std::ifstream file(folder + "/cpu.cfs_quota_us");
    double quota = 0;  // -1: none
    const std::optional<std::uint64_t> period = ReadNumber(folder + "/cpu.cfs_period_us");
    if (file >> quota && quota > 0 && period && *period > 0) tighten(quota / static_cast<double>(*period));
  }
  return tightest;
}

int UsableThreads(const std::string& root) {
  const double affinity = static_cast<double>(AllowedProcessors().size());
  return std::max(1, static_cast<int>(std::min(affinity, ProcessorQuota(root).value_or(affinity))));
}

Memory ReadMemory(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  Memory memory{.total = ReadKey(meminfo, "MemTotal").value_or(0) * 1024,
                .available = ReadKey(meminfo, "MemAvailable").value_or(0) * 1024};
  if (struct sysinfo system{}; memory.total == 0 && sysinfo(&system) == 0) {
    const std::uint64_t unit = system.mem_unit;
    memory = {
        .total = system.totalram * unit, .available = (system.freeram + system.bufferram) * unit, .without_proc = true};
  }
  for (const std::string& folder : CgroupFolders(root, "")) {
    for (const char* limit : {"/memory.max", "/memory.high"}) {  // the latter slows down where the former kills
      Tighten(memory, ReadNumber(folder + limit), ReadNumber(folder + "/memory.current"),
              ReadKey(folder + "/memory.stat", "inactive_file"));
    }
  }
  for (const std::string& folder : CgroupFolders(root, "memory")) {
    Tighten(memory, ReadNumber(folder + "/memory.limit_in_bytes"), ReadNumber(folder + "/memory.usage_in_bytes"),
            ReadKey(folder + "/memory.stat", "total_inactive_file"));
  }
  return memory;
}

std::optional<std::uint64_t> AddressesLeft() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const std::uint64_t mapped = ReadKey("/proc/self/status", "VmSize").value_or(0) * 1024;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, mapped);
}

std::uint64_t ResidentBytes(const std::string& root) {
  std::ifstream file(root + "/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  if (!(file >> pages >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
}

std::optional<ProcessorTime> ReadProcessorTime(const std::vector<int>& processors, const std::string& root) {
  std::ifstream file(root + "/proc/stat");
  ProcessorTime sum;
  bool found = false;
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("cpu", 0) != 0) break;  // they come first
    if (line.size() < 4 || line[3] < '0' || line[3] > '9') continue;
    std::istringstream fields(line.substr(3));
    int processor = -1;
    fields >> processor;
    if (!std::binary_search(processors.begin(), processors.end(), processor)) continue;
    // user nice system idle iowait irq softirq steal; guest time is part of user.
    std::uint64_t ticks[8] = {};
    for (std::uint64_t& tick : ticks) fields >> tick;
    for (const std::uint64_t tick : ticks) sum.total += tick;
    sum.busy += ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
    found = true;
  }
  return found ? std::optional(sum) : std::nullopt;
}

}  // namespace hotplate::cpu
