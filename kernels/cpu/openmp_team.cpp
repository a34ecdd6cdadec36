#include "kernels/cpu/openmp_team.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <cstddef>

namespace hotplate {
namespace {

// They look for work for some milliseconds before they sleep.
constexpr std::chrono::milliseconds kAwake(1);

}  // namespace

OpenMpTeam& OpenMpTeam::OfThisThread() {
  thread_local OpenMpTeam team;
  return team;
}

void OpenMpTeam::Begin(int threads) {
  if (threads - 1 > ProcessorChoice::kMostSleepers) return;
  if (threads != met_) return Meet(threads);
  if (std::chrono::steady_clock::now() - last_end_ < kAwake) return;
  const int here = sched_getcpu();
  for (ProcessorChoice& other : others_) {
    if (other.IsInThisProcess()) {
      other.KeepOff(here);
    } else {
      met_ = 0;  // a smaller region ended it; the next call meets the new ones
    }
  }
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
