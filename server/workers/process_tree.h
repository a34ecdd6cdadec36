// The processes that descend from one, by /proc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace hotplate::server {

std::vector<pid_t> ChildrenOf(pid_t parent);

// All descendants that live now, without `ancestor` itself. Processes that they start meanwhile may be missing.
std::vector<pid_t> DescendantsOf(pid_t ancestor);

// Of the processor, by all their threads, in the program and in the kernel.
std::chrono::nanoseconds ProcessorTime(const std::vector<pid_t>& processes);

// The resident memory of these processes in bytes, without pages of files, which the system can drop at any time. Pages
// that several of them share count for each.
std::uint64_t OwnBytes(const std::vector<pid_t>& processes);
// The same with each shared page divided among those that share it. Takes longer.
std::uint64_t ProportionalBytes(const std::vector<pid_t>& processes);

}  // namespace hotplate::server
