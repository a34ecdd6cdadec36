#include "server/core/run/device_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hotplate::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How many readings a level keeps, and how far apart they are at least.
struct Level {
  std::size_t size;
  nanoseconds step;
};
constexpr Level kLevel[] = {{600, nanoseconds::zero()}, {600, seconds(1)}, {2880, seconds(30)}};

// A shorter kernel has no utilisation of its own.
constexpr nanoseconds kUtilisationResolution = seconds(2);

// A reading this near to a kernel that fell between two still speaks for it.
constexpr nanoseconds kNear = milliseconds(250);

double Seconds(nanoseconds span) { return std::chrono::duration<double>(span).count(); }

template <typename T>
void TakeLarger(std::optional<T>& into, const std::optional<T>& from) {
  if (from && (!into || *into < *from)) into = from;
}

void AddWords(std::vector<std::string>& words, const std::vector<std::string>& more) {
  for (const std::string& word : more) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
}

// Adds the reading `later` to `stretch`.
void Merge(DeviceReading& stretch, const DeviceReading& later) {
  TakeLarger(stretch.max_watts, later.max_watts);
  TakeLarger(stretch.other_processes, later.other_processes);
  if (stretch.utilisation && later.utilisation) {
    const double sum = *stretch.utilisation * stretch.readings + *later.utilisation * later.readings;
    stretch.utilisation = sum / (stretch.readings + later.readings);
  }
  stretch.readings += later.readings;
  if (!later.throttle_reasons || later.throttle_reasons->empty()) return;
  if (!stretch.throttle_reasons) stretch.throttle_reasons.emplace();
  AddWords(*stretch.throttle_reasons, *later.throttle_reasons);
}

// The counter at a moment: between two readings in proportion, after the last by the pace of the two before it, if that
// is near.
std::optional<double> EnergyAt(absl::Span<const DeviceReading> readings, SteadyTime when) {
  const auto after = std::find_if(readings.begin(), readings.end(),
                                  [when](const DeviceReading& reading) { return reading.time >= when; });
  if (after != readings.end() && after->time == when) return after->energy_joules;
  if (after == readings.begin()) return std::nullopt;
  auto left = after - 1, right = after;
  if (after == readings.end()) {
    if (when - left->time > kNear || left == readings.begin()) return std::nullopt;
    right = left--;
  }
  if (!left->energy_joules || !right->energy_joules || right->time <= left->time ||
      *right->energy_joules < *left->energy_joules) {
    return std::nullopt;
  }
  const double pace = (*right->energy_joules - *left->energy_joules) / Seconds(right->time - left->time);
  return *left->energy_joules + pace * Seconds(when - left->time);
}

// How long a reading speaks for: until the next one, or `to`.
nanoseconds SpanOf(absl::Span<const DeviceReading> readings, std::size_t i, SteadyTime to) {
  const SteadyTime end = i + 1 < readings.size() ? readings[i + 1].time : to;
  return std::max<nanoseconds>(end - readings[i].time, nanoseconds(1));
}

std::optional<double> Mean(const std::vector<std::pair<nanoseconds, double>>& values) {
  double sum = 0, weight = 0;
  for (const auto& [span, value] : values) {
    sum += value * Seconds(span);
    weight += Seconds(span);
  }
  if (weight <= 0) return std::nullopt;
  return sum / weight;
}

void JudgeEnergy(absl::Span<const DeviceReading> readings, SteadyTime from, SteadyTime to,
                 DeviceConditions& conditions) {
  const DeviceReading& newest = readings.back();
  if (!newest.energy_joules && !newest.power_watts) return;
  if (newest.of_whole_gpu) {
    conditions.energy_state = EnergyState::kOfWholeGpu;
    return;
  }
  if (newest.energy_joules) {
    conditions.energy_state = EnergyState::kNotMeasurable;
    if (to - from < kEnergyResolution) conditions.energy_state = EnergyState::kBelowResolution;
  }
  if (to - from < kEnergyResolution) return;

  const std::optional<double> begin = EnergyAt(readings, from), end = EnergyAt(readings, to);
  if (begin && end && *end >= *begin) {
    conditions.energy_state = EnergyState::kMeasured;
    conditions.energy_joules = *end - *begin;
    conditions.mean_watts = *conditions.energy_joules / Seconds(to - from);
  }
  std::vector<std::pair<nanoseconds, double>> watts;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const DeviceReading& reading = readings[i];
    if (reading.time < from || reading.time > to) continue;
    if (reading.power_watts) watts.emplace_back(SpanOf(readings, i, to), *reading.power_watts);
    TakeLarger(conditions.max_watts, reading.max_watts);
  }
  if (!conditions.mean_watts) conditions.mean_watts = Mean(watts);
}

// Whether a counter grew from the reading before the kernel to the first one after it; nothing without both.
std::optional<bool> Grew(absl::Span<const DeviceReading> readings, SteadyTime from, SteadyTime to,
                         std::optional<std::uint64_t> DeviceReading::*counter) {
  const DeviceReading *before = nullptr, *after = nullptr;
  for (const DeviceReading& reading : readings) {
    if (reading.time <= from) before = &reading;
    if (reading.time >= to && after == nullptr) after = &reading;
  }
  if (before == nullptr || after == nullptr || !(before->*counter) || !(after->*counter)) return std::nullopt;
  return *(after->*counter) > *(before->*counter);
}

void JudgeClocks(absl::Span<const DeviceReading> during, SteadyTime to, DeviceConditions& conditions) {
  std::vector<std::pair<nanoseconds, double>> clocks;
  for (std::size_t i = 0; i < during.size(); ++i) {
    const DeviceReading& reading = during[i];
    if (reading.sm_clock_mhz) clocks.emplace_back(SpanOf(during, i, to), *reading.sm_clock_mhz);
    if (!reading.throttle_reasons) continue;
    conditions.throttled = conditions.throttled.value_or(false) || !reading.throttle_reasons->empty();
    AddWords(conditions.throttle_reasons, *reading.throttle_reasons);
  }
  if (const std::optional<double> mean = Mean(clocks)) {
    conditions.sm_clock_mhz = static_cast<std::uint32_t>(std::lround(*mean));
  }
}

// Each of the driver's samples is of up to a second before it: the first ones are of what was before the kernel.
void JudgeUtilisation(absl::Span<const DeviceReading> during, SteadyTime from, SteadyTime to,
                      DeviceConditions& conditions) {
  if (to - from < kUtilisationResolution) return;
  std::vector<std::pair<nanoseconds, double>> shares;
  for (std::size_t i = 0; i < during.size(); ++i) {
    if (during[i].utilisation && during[i].time - from >= seconds(1))
      shares.emplace_back(SpanOf(during, i, to), *during[i].utilisation);
  }
  conditions.utilisation = Mean(shares);
}

void JudgeThrottling(absl::Span<const DeviceReading> readings, SteadyTime from, SteadyTime to,
                     DeviceConditions& conditions) {
  const std::optional<bool> power = Grew(readings, from, to, &DeviceReading::power_throttled_ns);
  const std::optional<bool> heat = Grew(readings, from, to, &DeviceReading::thermal_throttled_ns);
  if (power.value_or(false)) AddWords(conditions.throttle_reasons, {"power cap"});
  if (heat.value_or(false)) AddWords(conditions.throttle_reasons, {"thermal"});
  if (power || heat) {
    conditions.throttled = conditions.throttled.value_or(false) || power.value_or(false) || heat.value_or(false);
  }
}

}  // namespace

DeviceReading ReadingOf(const DeviceMetrics& metrics, SteadyTime time) {
  DeviceReading reading;
  reading.time = time;
  reading.energy_joules = metrics.energy_joules;
  reading.power_watts = reading.max_watts = metrics.power_watts;
  reading.utilisation = metrics.utilisation;
  reading.sm_clock_mhz = metrics.sm_clock_mhz;
  reading.other_processes = metrics.other_processes;
  reading.power_throttled_ns = metrics.power_throttled_ns;
  reading.thermal_throttled_ns = metrics.thermal_throttled_ns;
  reading.ecc_errors = metrics.ecc_errors;
  reading.xid_errors = metrics.xid_errors;
  reading.throttle_reasons = metrics.throttle_reasons;
  reading.clocks_at_rest = metrics.clocks_at_rest;
  reading.of_whole_gpu = metrics.of_whole_gpu;
  return reading;
}

bool SaysSomething(const DeviceReading& reading) {
  return reading.energy_joules || reading.power_watts || reading.sm_clock_mhz || reading.other_processes ||
         reading.power_throttled_ns || reading.thermal_throttled_ns || reading.ecc_errors || reading.xid_errors ||
         reading.throttle_reasons;
}

DeviceConditions ConditionsBetween(absl::Span<const DeviceReading> readings, SteadyTime from, SteadyTime to) {
  DeviceConditions conditions;
  if (readings.empty()) return conditions;
  JudgeEnergy(readings, from, to, conditions);
  conditions.ecc_errors = Grew(readings, from, to, &DeviceReading::ecc_errors);
  conditions.xid_errors = Grew(readings, from, to, &DeviceReading::xid_errors);

  absl::InlinedVector<DeviceReading, 4> during;
  const DeviceReading* nearest = nullptr;
  nanoseconds distance = kNear;
  for (const DeviceReading& reading : readings) {
    if (reading.time >= from && reading.time <= to) {
      during.push_back(reading);
      continue;
    }
    const nanoseconds away = reading.time < from ? from - reading.time : reading.time - to;
    if (away > kNear) continue;
    // A process seen shortly before or after may have been there meanwhile.
    TakeLarger(conditions.other_processes, reading.other_processes);
    if (away <= distance) {
      distance = away;
      nearest = &reading;
    }
  }
  for (const DeviceReading& reading : during) TakeLarger(conditions.other_processes, reading.other_processes);
  JudgeUtilisation(during, from, to, conditions);
  // A device at rest before or after has other clocks than the kernel had.
  if (during.empty() && nearest != nullptr && !nearest->clocks_at_rest) during.push_back(*nearest);
  JudgeClocks(during, to, conditions);
  JudgeThrottling(readings, from, to, conditions);
  return conditions;
}

void ReadingRing::Add(DeviceReading reading) {
  for (std::size_t level = 0; level < kLevels; ++level) {
    std::deque<DeviceReading>& ring = levels_[level];
    if (!ring.empty() && reading.time - ring.back().time < kLevel[level].step) {
      Merge(ring.back(), reading);
      return;
    }
    ring.push_back(std::move(reading));
    if (ring.size() <= kLevel[level].size) return;
    reading = std::move(ring.front());
    ring.pop_front();
  }
}

ReadingRing::Window ReadingRing::Since(SteadyTime from) const {
  // The level that has one from before, and where that stands; without one, the very first.
  std::size_t level = 0, at = 0;
  for (;; ++level) {
    const std::deque<DeviceReading>& ring = levels_[level];
    const auto before =
        std::find_if(ring.rbegin(), ring.rend(), [from](const DeviceReading& reading) { return reading.time <= from; });
    at = static_cast<std::size_t>(ring.rend() - before);
    if (at > 0) --at;
    if (before != ring.rend() || level + 1 == kLevels) break;
  }
  Window window;
  for (;; --level, at = 0) {
    const std::deque<DeviceReading>& ring = levels_[level];
    window.insert(window.end(), ring.begin() + static_cast<std::ptrdiff_t>(at), ring.end());
    if (level == 0) return window;
  }
}

DeviceHistory::DeviceHistory(std::size_t devices) {
  for (std::size_t i = 0; i < devices; ++i) devices_.push_back(std::make_unique<One>());
}

DeviceMetrics DeviceHistory::Read(std::size_t index, Device& device, const Clock& clock) {
  One& one = *devices_[index];
  MutexLock reading(one.reading);
  return ReadLocked(one, device, clock);
}

DeviceMetrics DeviceHistory::ReadLocked(One& one, Device& device, const Clock& clock) {
  const SteadyTime begin = clock.Now();
  DeviceMetrics metrics = device.Sample();
  DeviceReading reading = ReadingOf(metrics, begin + (clock.Now() - begin) / 2);
  if (SaysSomething(reading)) {
    MutexLock lock(one.mutex);
    one.ring.Add(std::move(reading));
    one.known.store(true, std::memory_order_release);
  }
  return metrics;
}

DeviceConditions DeviceHistory::Conditions(std::size_t index, SteadyTime from, SteadyTime to, Device* device,
                                           const Clock& clock) {
  One& one = *devices_[index];
  if (!one.known.load(std::memory_order_acquire)) return {};
  if (device != nullptr && to - from >= kEnergyResolution) {
    // The sampler is at it just now: what it finds is as good, and if the driver does not answer it, it would not here.
    if (one.reading.TryLock()) {
      ReadLocked(one, *device, clock);
      one.reading.Unlock();
    }
  }
  ReadingRing::Window window;
  {
    MutexLock lock(one.mutex);
    window = one.ring.Since(from);
  }
  return ConditionsBetween(window, from, to);
}

}  // namespace hotplate::core
