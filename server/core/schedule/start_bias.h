// By how much starts come later than foretold, or sooner: others come that fair share or priority lets go first, and
// jobs that run side by side slow each other down. Forecasts are multiplied by it.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#include "kernels/base/mutex.h"

namespace hotplate::core {

// Thread-safe.
class StartBias {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::size_t kNewest = 31, kEnough = 8;
  static constexpr nanoseconds kNoWait = std::chrono::milliseconds(10);  // shorter waits count as this

  // A job waited for `real`, of which `plain` had been foretold, before any correction.
  void Note(nanoseconds plain, nanoseconds real) {
    if (std::max(plain, real) <= kNoWait) return;
    const double ratio = Count(real) / Count(plain);
    MutexLock lock(mutex_);
    ratios_[noted_++ % kNewest] = std::clamp(ratio, 1.0 / 16, 16.0);
  }
  // The middle of the newest ratios; 1 until there are some.
  double factor() const {
    MutexLock lock(mutex_);
    if (noted_ < kEnough) return 1;
    std::array<double, kNewest> sorted = ratios_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(noted_, kNewest));
    const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
    std::nth_element(sorted.begin(), middle, end);
    return *middle;
  }
  nanoseconds Corrected(nanoseconds plain) const {
    return nanoseconds(static_cast<nanoseconds::rep>(std::min(static_cast<double>(plain.count()) * factor(), 9e18)));
  }

 private:
  static double Count(nanoseconds time) { return static_cast<double>(std::max(time, kNoWait).count()); }

  mutable Mutex mutex_;
  std::array<double, kNewest> ratios_ ABSL_GUARDED_BY(mutex_){};
  std::size_t noted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate::core
