#include "server/core/schedule/side_by_side.h"

#include <algorithm>
#include <cmath>

namespace hotplate::core {
namespace {

constexpr double kGoodEnough = 0.9;          // of the best rate
constexpr double kFarthestFromWhole = 0.25;  // of a number of jobs, to count as measured

}  // namespace

std::optional<std::chrono::nanoseconds> SideBySide::Runs::Median() const {
  if (count < kNeeded) return std::nullopt;
  std::array<nanoseconds, kNewest> sorted = times;
  const std::size_t have = std::min<std::size_t>(count, kNewest);
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(have));
  return sorted[(have - 1) / 2];
}

bool SideBySide::Measured::InTrial() const {
  std::uint32_t ran_together = 0;
  for (std::uint32_t i = 1; i < kMostTogether; ++i) ran_together += together[i].count;
  return ran_together >= kTogetherBeforeTrial && together[0].count < kNeeded && trial_runs < kTrialRuns;
}

std::uint32_t SideBySide::MostOf(RunTimes::Kind kind, std::uint32_t lanes) const {
  const auto at = kinds_.find(kind);
  if (at == kinds_.end()) return lanes;
  if (at->second.InTrial()) return 1;
  struct Rate {
    std::uint32_t together;
    double per_second;
  };
  std::array<Rate, kMostTogether> rates;
  std::size_t measured = 0;
  for (std::uint32_t i = 0; i < kMostTogether; ++i) {
    const std::optional<nanoseconds> time = at->second.together[i].Median();
    if (time) rates[measured++] = {i + 1, (i + 1) / std::chrono::duration<double>(*time).count()};
  }
  if (measured == 0) return lanes;
  const auto end = rates.begin() + static_cast<std::ptrdiff_t>(measured);
  const double best = std::max_element(rates.begin(), end, [](const Rate& a, const Rate& b) {
                        return a.per_second < b.per_second;
                      })->per_second;
  const auto fewest =
      std::find_if(rates.begin(), end, [&](const Rate& one) { return one.per_second >= kGoodEnough * best; });
  // Nothing larger was measured, and it may be better still.
  return fewest + 1 == end ? lanes : std::min(fewest->together, lanes);
}

void SideBySide::EndedOtherwise(RunTimes::Kind kind) {
  const auto at = kinds_.find(kind);
  if (at != kinds_.end() && at->second.InTrial()) ++at->second.trial_runs;
}

void SideBySide::Ran(RunTimes::Kind kind, std::optional<double> together, nanoseconds time) {
  if (time < kShortest) {
    kinds_.erase(kind);
    return;
  }
  if (kinds_.size() >= kMostKinds && !kinds_.contains(kind)) kinds_.clear();
  Measured& measured = kinds_[kind];
  if (++measured.runs > kRunsBeforeNew) measured = {};
  // Others of its kind may still run as the trial begins.
  if (measured.InTrial() && (!together || *together < 1.5)) ++measured.trial_runs;
  if (!together) return;
  const double whole = std::round(*together);
  if (std::abs(*together - whole) > kFarthestFromWhole || whole < 1 || whole > kMostTogether) return;
  Runs& runs = measured.together[static_cast<std::size_t>(whole) - 1];
  runs.times[runs.count++ % kNewest] = time;
}

}  // namespace hotplate::core
