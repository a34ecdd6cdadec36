// The devices' recent readings, and the conditions that a receipt reports from them. The sampler's thread reads each
// device ten times a second; a receipt is made of the readings around the kernel, so that a tiny job costs no call to
// the driver. After a long one the lane takes a reading of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "kernels/base/mutex.h"
#include "server/core/types.h"

namespace hotplate::core {

// The driver's counters move every 20 to 100 ms: what was shorter has no energy of its own.
inline constexpr nanoseconds kEnergyResolution = std::chrono::milliseconds(200);

// The part of a device's metrics that receipts are made of, at one moment. Later, of a stretch of time: then the
// counters are those of its begin, utilisation is the mean, and the rest is the worst of it.
struct DeviceReading {
  SteadyTime time;
  std::optional<double> energy_joules, power_watts, max_watts, utilisation;
  std::optional<std::uint32_t> sm_clock_mhz, other_processes;
  std::optional<std::uint64_t> power_throttled_ns, thermal_throttled_ns, ecc_errors, xid_errors;
  std::optional<std::vector<std::string>> throttle_reasons;
  bool clocks_at_rest = false, of_whole_gpu = false;
  std::uint32_t readings = 1;  // that it is made of
};

DeviceReading ReadingOf(const DeviceMetrics& metrics, SteadyTime time);
// True if it says anything that a receipt could use, beside utilisation, which every CPU has.
bool SaysSomething(const DeviceReading& reading);

// How the device was from `from` to `to`, by its readings (the oldest first).
DeviceConditions ConditionsBetween(absl::Span<const DeviceReading> readings, SteadyTime from, SteadyTime to);

// Readings of one device: all of the last minute, one a second of ten minutes before, one in half a minute of the day
// before that.
class ReadingRing {
 public:
  void Add(DeviceReading reading);
  using Window = absl::InlinedVector<DeviceReading, 4>;
  // From the last one before `from` on; empty if there is none at all.
  Window Since(SteadyTime from) const;

 private:
  static constexpr std::size_t kLevels = 3;
  std::deque<DeviceReading> levels_[kLevels];  // the last of each is the newest
};

// Thread-safe.
class DeviceHistory {
 public:
  explicit DeviceHistory(std::size_t devices);

  // Reads the device and remembers. Waits while another thread reads the same one.
  DeviceMetrics Read(std::size_t index, Device& device, const Clock& clock);

  // The conditions during a kernel that ran on the device from `from` to `to`, which is now or was a moment ago.
  // Reads the device if the kernel was a long one and it is worth it; null if it must not be touched.
  DeviceConditions Conditions(std::size_t index, SteadyTime from, SteadyTime to, Device* device, const Clock& clock);

 private:
  struct One {
    Mutex reading;  // held while the device is asked; taken before `mutex`
    Mutex mutex;
    ReadingRing ring ABSL_GUARDED_BY(mutex);
    std::atomic<bool> known{false};  // the ring is not empty: it never is for a CPU, which then costs nothing
  };
  DeviceMetrics ReadLocked(One& one, Device& device, const Clock& clock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(one.reading);

  std::vector<std::unique_ptr<One>> devices_;
};

}  // namespace hotplate::core
