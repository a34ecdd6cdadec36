#include "server/core/schedule/run_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hotplate::core {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kAMoment = std::chrono::microseconds(20);

double Log2Of(nanoseconds time) { return std::log2(static_cast<double>(std::max<nanoseconds::rep>(1, time.count()))); }

nanoseconds FromLog2(double log) { return nanoseconds(static_cast<nanoseconds::rep>(std::exp2(std::min(log, 62.0)))); }

// On the line through two points of (magnitude, log2 of time).
double On(double x0, double y0, double x1, double y1, double x) { return y0 + (y1 - y0) * (x - x0) / (x1 - x0); }

}  // namespace

int RunTimes::MagnitudeOf(double work) {
  if (!(work > 0)) return 0;  // nor is NaN a measure
  return static_cast<int>(std::clamp(std::round(2 * std::log2(std::max(work, 1.0))) + 1, 1.0, kMagnitudes - 1.0));
}

RunTimes::Kind RunTimes::KindOf(std::string_view what, std::string_view device, double work) {
  std::string name;
  name.reserve(what.size() + 1 + device.size());
  name.append(what).append(1, '\n').append(device);
  MutexLock lock(mutex_);
  auto at = numbers_.find(name);
  if (at == numbers_.end()) {
    if (numbers_.size() >= kMostSeries) ForgetOldest();
    at = numbers_.emplace(name, ++last_number_).first;
    series_[at->second].name = std::move(name);
  }
  series_[at->second].used = ++uses_;
  return at->second * kMagnitudes + static_cast<Kind>(MagnitudeOf(work));
}

void RunTimes::ForgetOldest() {
  const auto oldest = std::min_element(series_.begin(), series_.end(),
                                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
  numbers_.erase(oldest->second.name);
  series_.erase(oldest);
}

void RunTimes::Add(Kind kind, nanoseconds time, bool cold) {
  MutexLock lock(mutex_);
  const auto series = series_.find(kind / kMagnitudes);
  if (series == series_.end()) return;
  Runs& runs = series->second.by_magnitude[static_cast<int>(kind % kMagnitudes)];
  if (cold && runs.count > 0) return;
  if (runs.cold) runs = {};
  runs.times[runs.count++ % kNewest] = time;
  runs.cold = cold;
}

RunTimes::Estimate RunTimes::EstimateOf(const Runs& runs) {
  std::array<nanoseconds, kNewest> sorted = runs.times;
  const std::size_t count = std::min<std::size_t>(runs.count, kNewest);
  std::sort(sorted.begin(), sorted.begin() + count);
  return {sorted[(count - 1) / 2], sorted[0], sorted[count - 1], runs.count};
}

std::optional<RunTimes::Estimate> RunTimes::Of(Kind kind) const {
  if (kind == kMoment) return Estimate{kAMoment, kAMoment, kAMoment, 0};
  MutexLock lock(mutex_);
  const auto series = series_.find(kind / kMagnitudes);
  if (series == series_.end()) return std::nullopt;
  const int magnitude = static_cast<int>(kind % kMagnitudes);
  const auto runs = series->second.by_magnitude.find(magnitude);
  if (runs != series->second.by_magnitude.end()) return EstimateOf(runs->second);
  return Between(series->second, magnitude);
}

std::optional<RunTimes::Estimate> RunTimes::Between(const Series& series, int magnitude) {
  if (magnitude == 0) return std::nullopt;
  const auto& all = series.by_magnitude;
  const auto above = all.upper_bound(magnitude);
  // Work without a measure is no neighbour.
  const auto below = above == all.begin() || std::prev(above)->first == 0 ? all.end() : std::prev(above);
  const bool is_above = above != all.end() && above->first - magnitude <= kFarthest;
  const bool is_below = below != all.end() && magnitude - below->first <= kFarthest;
  if (!is_above && !is_below) return std::nullopt;
  if (is_above && is_below) {
    const Estimate low = EstimateOf(below->second), high = EstimateOf(above->second);
    const auto at = [&](nanoseconds a, nanoseconds b) {
      return FromLog2(On(below->first, Log2Of(a), above->first, Log2Of(b), magnitude));
    };
    return Estimate{at(low.median, high.median), at(low.low, high.low), at(low.high, high.high),
                    std::min(low.runs, high.runs)};
  }
  // Beyond all that was measured, time is taken for proportional to the work, or for constant at the other end of the
  // spread: that of small work is mostly the call's.
  const auto& [from, runs] = is_above ? *above : *below;
  const Estimate nearest = EstimateOf(runs);
  const auto scaled = [&, octaves = (magnitude - from) / 2.0](nanoseconds time) {
    return FromLog2(Log2Of(time) + octaves);
  };
  return Estimate{scaled(nearest.median), std::min(nearest.low, scaled(nearest.low)),
                  std::max(nearest.high, scaled(nearest.high)), nearest.runs};
}

}  // namespace hotplate::core
