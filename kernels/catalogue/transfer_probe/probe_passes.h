// How the probe measures, for both back-ends. Standard library only.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "kernels/call/call.h"

namespace hotplate::transfer_probe {

inline constexpr const char* kDirections[] = {"host_to_device", "device_to_host", "device_to_device"};
enum Direction { kHostToDevice, kDeviceToHost, kDeviceToDevice };

inline constexpr double kMostBytes = 1 << 30;
inline constexpr int kWarmPasses = 2, kTimedPasses = 5;

// GB/s of each direction that the call asks for, in order. copy(direction) copies all bytes once, and returns an
// Outcome when they are there.
template <typename Clock = std::chrono::steady_clock, typename Copy>
Outcome Measure(const Call& call, double* rates, const Copy& copy) {
  const std::string_view asked = call.Choice("direction");
  for (const Direction direction : {kHostToDevice, kDeviceToHost, kDeviceToDevice}) {
    if (asked != "all" && asked != kDirections[direction]) continue;
    std::array<double, kTimedPasses> seconds{};
    for (int pass = -kWarmPasses; pass < kTimedPasses; ++pass) {
      const typename Clock::time_point start = Clock::now();
      if (const Outcome outcome = copy(direction); !outcome.ok()) return outcome;
      if (pass < 0) continue;
      // A clock that does not move between two readings is not infinitely fast.
      seconds[static_cast<std::size_t>(pass)] =
          std::max(std::chrono::duration<double>(Clock::now() - start).count(), 1e-9);
    }
    std::nth_element(seconds.begin(), seconds.begin() + kTimedPasses / 2, seconds.end());
    *rates++ = static_cast<double>(call.Int("bytes")) / seconds[kTimedPasses / 2] / 1e9;
  }
  return Outcome::Ok();
}

}  // namespace hotplate::transfer_probe
