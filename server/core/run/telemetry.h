// Samples devices and the daemon ten times a second into a ring. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "server/core/engine.h"

namespace hotplate::core {

struct DeviceSample {
  std::string device;
  DeviceMetrics metrics;
  std::uint32_t jobs_running = 0;
};

struct DaemonMetrics {
  std::uint64_t resident_bytes = 0;
  std::uint32_t threads = 0;
  std::uint64_t array_bytes = 0, array_bytes_limit = 0;
  EngineStatus engine;
};

struct TelemetrySample {
  WallTime time;
  std::vector<DeviceSample> devices;
  DaemonMetrics daemon;
};

class TelemetrySampler {
 public:
  static constexpr std::size_t kRingSize = 600;  // a minute
  static constexpr nanoseconds kInterval = std::chrono::milliseconds(100);

  TelemetrySampler(Engine& engine, const Clock& clock);
  ~TelemetrySampler();

  TelemetrySample Newest() const;
  std::vector<TelemetrySample> History(std::size_t count) const;  // oldest first

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotplate::core
