// How many jobs of one kind a device should run at the same time, as measured there. Where two take twice as long as
// one alone, running them together only makes the first one late, and holds memory for both.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "server/core/schedule/run_times.h"

namespace hotplate::core {

// One for each device; guarded by its owner.
class SideBySide {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr std::uint32_t kMostTogether = 16;  // beyond that nothing is told apart
  static constexpr std::uint32_t kNeeded = 3;         // runs that make a measurement
  // After so many runs together, of a kind that never ran alone, so many are run alone, if others let them.
  static constexpr std::uint32_t kTogetherBeforeTrial = 9;
  static constexpr std::uint32_t kTrialRuns = 6;
  // Then all is measured again: a device changes with what else it does.
  static constexpr std::uint32_t kRunsBeforeNew = 256;
  // With a shorter run all is forgotten of its kind: nobody waits for such for long.
  static constexpr nanoseconds kShortest = std::chrono::milliseconds(5);
  static constexpr std::size_t kMostKinds = 256;

  // At most `lanes`: as few as have 0.9 of the best rate that was measured. `lanes` if too little was; 1 while it is
  // tried how they run alone.
  std::uint32_t MostOf(RunTimes::Kind kind, std::uint32_t lanes) const;
  // A run has COMPLETED. `together`: so many of its kind, itself among them, were under way, on average, and nothing
  // else; none: something else was, too.
  void Ran(RunTimes::Kind kind, std::optional<double> together, nanoseconds time);
  // A run has not COMPLETED: its time tells nothing.
  void EndedOtherwise(RunTimes::Kind kind);

 private:
  static constexpr std::size_t kNewest = 5;  // runs of each number
  struct Runs {
    std::array<nanoseconds, kNewest> times{};
    std::uint32_t count = 0;                    // ever
    std::optional<nanoseconds> Median() const;  // nothing: too few
  };
  struct Measured {
    std::array<Runs, kMostTogether> together;  // [n - 1]: n of them
    std::uint32_t runs = 0, trial_runs = 0;
    bool InTrial() const;
  };

  std::unordered_map<RunTimes::Kind, Measured> kinds_;
};

}  // namespace hotplate::core
