#include "server/core/schedule/standing.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace hotplate::core {
namespace {

// The share of those ahead whose time may be unknown: they are taken for as long as the others.
constexpr double kMostUnknown = 0.2;
// From so much on, a job's own word is taken for how far it is.
constexpr double kTellingProgress = 0.05;
constexpr nanoseconds kTellingTime = std::chrono::milliseconds(200);

// The few runs that take long make up much of a queue's time, and the median knows nothing of them: the mean of the
// three points, with the weights that are usual for them.
nanoseconds MeanOf(const RunTimes::Estimate& times) { return (times.low + 4 * times.median + times.high) / 6; }

// The devices and those that are on them, from now on.
class Play {
 public:
  explicit Play(const Standing& standing) : devices_(standing.devices) {
    for (const Standing::Running& one : standing.running) {
      inside_.push_back({one.device, one.beside ? one.places : 0, one.occupant, one.left, one.who, one.kind});
    }
  }

  // Begins the entry on the emptiest device that has place and room for it; false if there is none.
  bool Begin(const Standing::Waiting& entry) {
    const DeviceNeed* best = nullptr;
    for (const DeviceNeed& need : entry.needs) {
      const Standing::Device& device = devices_[need.device];
      if (device.lost || device.free_places < entry.places || !device.room.Fits(need.extra_bytes)) continue;
      if (RunningOf(entry.kind, need.device) >= device.MostOf(entry.kind)) continue;
      if (best == nullptr || device.free_places > devices_[best->device].free_places) best = &need;
    }
    if (best == nullptr) return false;
    Standing::Device& device = devices_[best->device];
    device.free_places -= entry.places;
    device.room.Take(best->extra_bytes);
    std::optional<nanoseconds> end = entry.time;
    if (end) *end += now_;
    inside_.push_back({best->device,
                       entry.places,
                       {best->extra_bytes, device.host_memory ? entry.kept_bytes : 0},
                       end,
                       entry.who,
                       entry.kind});
    return true;
  }

  bool AnyPlace() const {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& one) { return one.free_places > 0; });
  }

  // On to the next end; false if none is known.
  bool GoOn() {
    const auto next = std::min_element(inside_.begin(), inside_.end(), [](const Inside& a, const Inside& b) {
      return a.end.value_or(nanoseconds::max()) < b.end.value_or(nanoseconds::max());
    });
    if (next == inside_.end() || !next->end) return false;
    now_ = std::max(now_, *next->end);
    Standing::Device& device = devices_[next->device];
    device.free_places += next->places;
    device.room.GiveBack(next->occupant.bytes, next->occupant.kept_bytes);
    inside_.erase(next);
    return true;
  }

  nanoseconds now() const { return now_; }
  std::optional<SeenEntry> Unknown() const {
    const auto at = std::find_if(inside_.begin(), inside_.end(), [](const Inside& one) { return !one.end; });
    if (at == inside_.end()) return std::nullopt;
    return at->who;
  }

 private:
  struct Inside {
    unsigned device;
    std::uint32_t places;
    Occupant occupant;
    std::optional<nanoseconds> end;
    SeenEntry who;
    RunTimes::Kind kind;
  };

  std::uint32_t RunningOf(RunTimes::Kind kind, unsigned device) const {
    const auto number = std::count_if(inside_.begin(), inside_.end(), [&](const Inside& one) {
      return one.device == device && one.kind == kind && one.places > 0;
    });
    return static_cast<std::uint32_t>(number);
  }

  std::vector<Standing::Device> devices_;
  std::vector<Inside> inside_;
  nanoseconds now_{};
};

StartForecast PlayToStart(const Standing& standing) {
  Play play(standing);
  std::vector<const Standing::Waiting*> waiting;
  for (const Standing::Waiting& one : standing.first_ahead) waiting.push_back(&one);
  waiting.push_back(&standing.own);
  while (true) {
    for (auto at = waiting.begin(); at != waiting.end() && play.AnyPlace();) {
      if (!play.Begin(**at)) {
        ++at;
        continue;
      }
      if (*at == &standing.own) return {play.now()};
      at = waiting.erase(at);
    }
    if (!play.GoOn()) return {std::nullopt, play.Unknown()};
  }
}

// Too many to play: their times, spread over all places.
StartForecast Together(const Standing& standing) {
  const double ahead = static_cast<double>(standing.ahead.all());
  if (standing.unknown_ahead > kMostUnknown * ahead) {
    for (const Standing::Waiting& one : standing.first_ahead) {
      if (!one.time) return {std::nullopt, one.who};
    }
    return {std::nullopt, SeenEntry()};
  }
  double places = 0, time = static_cast<double>(standing.time_ahead.count());
  time *= ahead / (ahead - standing.unknown_ahead);
  for (const DeviceNeed& need : standing.own.needs) {
    const Standing::Device& device = standing.devices[need.device];
    if (!device.lost) places += device.places;
  }
  if (places == 0) return {};
  for (const Standing::Running& one : standing.running) {
    if (one.beside && one.left) time += static_cast<double>(one.left->count()) * one.places;
  }
  return {nanoseconds(static_cast<nanoseconds::rep>(std::min(time / places, 9e18)))};
}

}  // namespace

std::uint32_t Standing::Device::MostOf(RunTimes::Kind kind) const {
  const auto at =
      std::find_if(most_of_kind.begin(), most_of_kind.end(), [kind](const auto& one) { return one.first == kind; });
  return at == most_of_kind.end() ? std::numeric_limits<std::uint32_t>::max() : at->second;
}

double Standing::PlacesForEachOf(RunTimes::Kind kind) const {
  double places = 0, used = 0;
  for (const DeviceNeed& need : own.needs) {
    const Device& device = devices[need.device];
    if (device.lost) continue;
    places += device.places;
    used += std::min(device.places, device.MostOf(kind));
  }
  return used > 0 ? places / used : 1;
}

void Standing::Foretell(const RunTimes& times) {
  std::unordered_map<RunTimes::Kind, std::optional<nanoseconds>> known;
  const auto time_of = [&](RunTimes::Kind kind) {
    const auto [at, is_new] = known.try_emplace(kind);
    if (!is_new) return at->second;
    if (const std::optional<RunTimes::Estimate> estimate = times.Of(kind)) at->second = MeanOf(*estimate);
    return at->second;
  };
  for (Running& one : running) {
    one.left = TimeLeft(time_of(one.kind), one.so_far, one.who.progress);
  }
  for (Waiting& one : first_ahead) one.time = time_of(one.kind);
  own.time = time_of(own.kind);
  double together = 0;
  for (const auto& [kind, number] : kinds_ahead) {
    const std::optional<nanoseconds> time = time_of(kind);
    together += time ? static_cast<double>(time->count()) * number * PlacesForEachOf(kind) : 0;
    unknown_ahead += time ? 0 : number;
  }
  time_ahead = nanoseconds(static_cast<nanoseconds::rep>(std::min(together, 9e18)));
}

std::optional<nanoseconds> TimeLeft(const std::optional<nanoseconds>& foretold, nanoseconds so_far, double progress) {
  if (progress >= kTellingProgress && so_far >= kTellingTime) {
    return std::chrono::duration_cast<nanoseconds>(so_far * ((1 - progress) / progress));
  }
  if (!foretold) return std::nullopt;
  return std::max(*foretold - so_far, so_far / 8);
}

StartForecast ForecastStart(const Standing& standing) {
  return standing.all_listed ? PlayToStart(standing) : Together(standing);
}

}  // namespace hotplate::core
