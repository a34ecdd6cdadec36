#include "kernels/cuda/context.h"

#include <chrono>
#include <cstdio>

namespace hotplate {

Outcome ToOutcome(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return Outcome::Ok();
  // An error that is reported is cleared, so that the next call does not find it. (A sticky one stays.)
  static_cast<void>(cudaGetLastError());
  char text[240];
  std::snprintf(text, sizeof text, "%.*s: %s (%s)", static_cast<int>(what.size()), what.data(),
                cudaGetErrorString(error), cudaGetErrorName(error));
  return error == cudaErrorMemoryAllocation ? Outcome::OutOfMemory(text) : Outcome::Failed(text);
}

cudaError_t WaitFor(cudaEvent_t event) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kSpin = std::chrono::microseconds(50);
  const Clock::time_point until = Clock::now() + kSpin;
  do {
    const cudaError_t state = cudaEventQuery(event);
    if (state != cudaErrorNotReady) return state;
  } while (Clock::now() < until);
  return cudaEventSynchronize(event);
}

}  // namespace hotplate
