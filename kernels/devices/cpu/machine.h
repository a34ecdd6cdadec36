// The part of the machine that this process may use: processors by affinity and cgroup quota, memory by cgroup (version
// 1 or 2) or the machine. Everything is read from /proc and /sys under `root`,
// which is empty except in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hotplate::cpu {

// "x86-64-v4 (AVX-512)": the instruction set chosen for the kernels' hot loops.
std::string InstructionSet();

// The processor's name as /proc/cpuinfo has it; "CPU" if it has none.
std::string ModelName(const std::string& root = "");

// Processors in this thread's affinity mask, ascending.
std::vector<int> AllowedProcessors();

// Processors' worth of time that the cgroup allows, if it limits it.
std::optional<double> ProcessorQuota(const std::string& root = "");

// Affinity and quota together, rounded down, at least 1.
int UsableThreads(const std::string& root = "");

struct Memory {
  std::uint64_t total = 0;      // the limit
  std::uint64_t available = 0;  // without swapping; page cache counts as available
  // /proc/meminfo cannot be read (a chroot, some containers): these are sysinfo's figures, which count page cache as
  // used.
  bool without_proc = false;
};

// The tightest of the machine's and the cgroups' figures.
Memory ReadMemory(const std::string& root = "");

// Bytes that this process may still map, whatever is in memory; none without a limit (ulimit -v).
std::optional<std::uint64_t> AddressesLeft();

// This process's resident memory. Zero if it could not be read.
std::uint64_t ResidentBytes(const std::string& root = "");

struct ProcessorTime {
  std::uint64_t busy = 0, total = 0;  // in ticks, since boot
};

// Summed over `processors`; nothing if /proc/stat cannot be read.
std::optional<ProcessorTime> ReadProcessorTime(const std::vector<int>& processors, const std::string& root = "");

}  // namespace hotplate::cpu
