// Attached jobs by the sum: a loop of small calls makes thousands of jobs a second, and nobody will ask for one of
// them. Up to a rate they are kept one by one; beyond it, as sums per kernel, label, state and minute.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "server/journal/records.h"

namespace hotplate::journal {

struct SumKey {
  std::int64_t minute = 0;  // since 1970, of the jobs' ends
  std::string kernel, label;
  JobState state = JobState::kCompleted;
  friend auto operator<=>(const SumKey&, const SumKey&) = default;
};

struct Sum {
  std::uint64_t jobs = 0;
  nanoseconds device_time{}, gpu_time{};
  double energy_joules = 0;  // of those whose energy is known
};

using Sums = std::map<SumKey, Sum>;

// Not thread-safe.
class SumMeter {
 public:
  explicit SumMeter(unsigned kept_per_second) : kept_per_second_(kept_per_second) {}

  // True: the job is to be kept by itself. Else it has been added to the sums.
  bool KeepsAlone(const AttachedJob& job);
  void AddToSums(const AttachedJob& job);

  bool empty() const { return sums_.empty(); }
  Sums Take() { return std::exchange(sums_, {}); }
  // Sums that were taken and could not be written.
  void GiveBack(const Sums& sums);

 private:
  // Labels are the callers': where there are very many of them, the rest go without.
  static constexpr std::size_t kMostKeys = 10'000;

  const unsigned kept_per_second_;
  std::int64_t second_ = 0;
  unsigned kept_ = 0;  // in that second
  Sums sums_;
};

}  // namespace hotplate::journal
