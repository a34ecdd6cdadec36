#include "kernels/devices/cpu/openmp_team.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace hotplate {
namespace {

// They look for work for some milliseconds before they sleep, or less where they are more than the processors.
constexpr std::chrono::milliseconds kAwake(1);

}  // namespace

OpenMpTeam& OpenMpTeam::OfThisThread() {
  thread_local OpenMpTeam team;
  return team;
}

void OpenMpTeam::Begin(int threads) {
  if (threads - 1 > ProcessorChoice::kMostSleepers) return;
  if (threads > met_) return Meet(threads);
  if (std::chrono::steady_clock::now() - last_end_ < kAwake) return;
  // A region of fewer threads ends the others. Who comes for them is not met: that takes a region, which has to wake
  // them itself.
  std::erase_if(others_, [](const ProcessorChoice& other) { return !other.IsInThisProcess(); });
  const int here = sched_getcpu();
  const std::size_t wanted = std::min(others_.size(), static_cast<std::size_t>(threads) - 1);
  for (std::size_t i = 0; i < wanted; ++i) others_[i].KeepOff(here);
}

void OpenMpTeam::End() {
  for (ProcessorChoice& other : others_) other.Free();
  last_end_ = std::chrono::steady_clock::now();
}

// A region's threads are those of the next one of as many.
void OpenMpTeam::Meet(int threads) {
  std::vector<pid_t> all(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  all[static_cast<std::size_t>(omp_get_thread_num())] = gettid();
  others_.clear();
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] != 0) others_.emplace_back(all[i]);  // OpenMP may give fewer
  }
  met_ = threads;
}

}  // namespace hotplate
