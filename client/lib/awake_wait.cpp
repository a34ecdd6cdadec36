#include "client/lib/awake_wait.h"

#include <sched.h>

namespace hotplate::client {
namespace {

constexpr std::chrono::microseconds kSoon(300);

// Or the daemon may need the one that this thread waits on.
bool HasSeveralProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

}  // namespace

Deadline AwakeWaits::AwakeUntil(Clock::time_point begin) const {
  return ends_soon_.load(std::memory_order_relaxed) ? Deadline(begin + kSoon) : std::nullopt;
}

void AwakeWaits::Ended(Clock::time_point begin) {
  static const bool several_processors = HasSeveralProcessors();
  ends_soon_.store(several_processors && Clock::now() - begin < kSoon, std::memory_order_relaxed);
}

grpc::CompletionQueue::NextStatus NextEvent(grpc::CompletionQueue& queue, void*& tag, bool& ok, Deadline awake_until,
                                            std::chrono::system_clock::time_point until) {
  while (awake_until && Clock::now() < *awake_until) {
    const auto status = queue.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC));
    if (status != grpc::CompletionQueue::TIMEOUT) return status;
  }
  return queue.AsyncNext(&tag, &ok, until);
}

}  // namespace hotplate::client
