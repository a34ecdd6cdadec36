#include "client/lib/awake_wait.h"

#include <sched.h>

#include "kernels/base/wait_awake.h"

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
  auto status = grpc::CompletionQueue::TIMEOUT;
  const auto over = [&] {
    status = queue.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC));
    return status != grpc::CompletionQueue::TIMEOUT;
  };
  if (awake_until && WaitAwake(*awake_until - Clock::now(), over)) return status;
  return queue.AsyncNext(&tag, &ok, until);
}

}  // namespace hotplate::client
