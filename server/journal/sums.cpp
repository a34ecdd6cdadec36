#include "server/journal/sums.h"

#include <chrono>
#include <utility>

namespace hotplate::journal {

bool SumMeter::KeepsAlone(const AttachedJob& job) {
  const std::int64_t second = std::chrono::floor<std::chrono::seconds>(job.ended).time_since_epoch().count();
  if (second != second_) second_ = second, kept_ = 0;
  if (kept_ < kept_per_second_) {
    ++kept_;
    return true;
  }
  AddToSums(job);
  return false;
}

void SumMeter::AddToSums(const AttachedJob& job) {
  SumKey key{.minute = std::chrono::floor<std::chrono::minutes>(job.ended).time_since_epoch().count(),
             .kernel = job.kernel,
             .label = job.label,
             .state = job.state};
  if (sums_.size() >= kMostKeys && !sums_.contains(key)) key.label.clear();
  Sum& sum = sums_[std::move(key)];
  ++sum.jobs;
  sum.device_time += job.use.device_time;
  sum.gpu_time += job.use.gpu_time;
  sum.energy_joules += job.use.energy_joules.value_or(0);
}

void SumMeter::GiveBack(const Sums& sums) {
  for (const auto& [key, more] : sums) {
    Sum& sum = sums_[key];
    sum.jobs += more.jobs;
    sum.device_time += more.device_time;
    sum.gpu_time += more.gpu_time;
    sum.energy_joules += more.energy_joules;
  }
}

}  // namespace hotplate::journal
