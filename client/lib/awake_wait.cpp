#include "client/lib/awake_wait.h"

#include <thread>

namespace hotplate::client {
namespace {

constexpr std::chrono::microseconds kSoon(300);

}  // namespace

Deadline AwakeWaits::AwakeUntil(Clock::time_point begin) const {
  return ends_soon_.load(std::memory_order_relaxed) ? Deadline(begin + kSoon) : std::nullopt;
}

void AwakeWaits::Ended(Clock::time_point begin) {
  static const bool several_processors = std::thread::hardware_concurrency() > 1;  // or the daemon may need this one
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
