// How long jobs ran: measured, so that the run of the next one can be foretold. Times are kept by what runs on which
// kind of device, and by the magnitude of its work; between magnitudes that were measured, times are interpolated.
// Bounded: of each magnitude the newest runs count, and what was asked for longest ago is forgotten.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kernels/base/mutex.h"

namespace hotplate::core {

// Thread-safe. Takes no other lock under its own.
class RunTimes {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  // A number for a kernel or program, a kind of device and an amount of work. It is never used for another. 0: none.
  using Kind = std::uint64_t;
  static constexpr Kind kNoKind = 0;
  // Jobs that are over in some tens of microseconds, by their kernel's own bound: nobody measures them.
  static constexpr Kind kMoment = 1;

  struct Estimate {
    nanoseconds median{}, low{}, high{};  // of the newest runs: the middle, the shortest and the longest
    std::uint32_t runs = 0;               // that it rests on; of neighbours, if none had this magnitude; kMoment: 0
    friend bool operator==(const Estimate&, const Estimate&) = default;
  };

  static constexpr std::size_t kMostSeries = 1024;
  static constexpr std::size_t kNewest = 9;  // runs of each magnitude

  // `work` is any measure that grows with the time: operations, or bytes. 0: there is none, and all are alike.
  Kind KindOf(std::string_view what, std::string_view device, double work);
  // A run has COMPLETED. `cold`: the first of its kernel there, which counts only as long as there is no other.
  void Add(Kind kind, nanoseconds time, bool cold);
  // Nothing: no run tells.
  std::optional<Estimate> Of(Kind kind) const;

 private:
  // Magnitudes are half octaves of the work; 0 is work without a measure.
  static constexpr int kMagnitudes = 256;
  // Times are guessed from runs of up to 16 times more or less work.
  static constexpr int kFarthest = 8;

  struct Runs {
    std::array<nanoseconds, kNewest> times{};
    std::uint32_t count = 0;  // ever
    bool cold = false;        // the only one was
  };
  struct Series {
    std::map<int, Runs> by_magnitude;
    std::string name;
    std::uint64_t used = 0;
  };

  static int MagnitudeOf(double work);
  static Estimate EstimateOf(const Runs& runs);
  static std::optional<Estimate> Between(const Series& series, int magnitude);
  void ForgetOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<std::string, std::uint64_t> numbers_ ABSL_GUARDED_BY(mutex_);  // of series, by their names
  std::unordered_map<std::uint64_t, Series> series_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate::core
