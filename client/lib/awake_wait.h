// When to wait for an answer without sleeping (kernels/base/wait_awake.h): where the last wait of its kind was over
// soon, the next one begins awake, for as long.
#pragma once

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <chrono>
#include <optional>

namespace hotplate::client {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

// Decides from the last wait whether the next one stays awake. Thread-safe.
class AwakeWaits {
 public:
  // The time until which a wait that begins now stays awake.
  Deadline AwakeUntil(Clock::time_point begin) const;
  void Ended(Clock::time_point begin);

 private:
  std::atomic<bool> ends_soon_{false};
};

// One event of the queue, or none by `until`. Does not sleep before `awake_until`.
grpc::CompletionQueue::NextStatus NextEvent(grpc::CompletionQueue& queue, void*& tag, bool& ok, Deadline awake_until,
                                            std::chrono::system_clock::time_point until);

}  // namespace hotplate::client
