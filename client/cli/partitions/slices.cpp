#include "client/cli/partitions/slices.h"

#include <algorithm>

namespace hotplate::cli {
namespace {

constexpr EpochSeconds kHour = 3600;

EpochSeconds Floor(EpochSeconds time, EpochSeconds unit) { return time - time % unit; }

}  // namespace

EpochSeconds FirstSlice(EpochSeconds since, EpochSeconds now) {
  return Floor(since, now - since >= kLongestSlice ? kLongestSlice : kHour);
}

absl::Status ReadSlices(const SliceWalk& walk, SliceCache& cache) {
  const EpochSeconds begin = FirstSlice(walk.since, walk.now);
  const EpochSeconds settled = Floor(walk.now - kSettled, kHour);
  EpochSeconds step = kLongestSlice;
  for (EpochSeconds at = begin; at < walk.now;) {
    if (const auto found = cache.Find(at, settled)) {
      walk.take(found->jobs, false);
      at = found->to;
      continue;
    }
    const EpochSeconds to = std::min(Floor(at, step) + step, at < settled ? settled : walk.now);
    walk.on_step({at, to, static_cast<double>(at - begin) / static_cast<double>(walk.now - begin)});
    const auto jobs = walk.read(at, to);
    if (!jobs.ok()) {
      const bool too_much = absl::IsDeadlineExceeded(jobs.status()) || absl::IsResourceExhausted(jobs.status());
      if (!too_much || step <= kShortestSlice || to - at <= kShortestSlice) return jobs.status();
      // The other slices of the stretch are most likely as full: none is tried in full length again.
      do step /= 2;
      while (step > kShortestSlice && step >= to - at);
      continue;
    }
    if (to <= settled) cache.Keep(at, to, *jobs);
    walk.take(*jobs, to == walk.now);
    at = to;
  }
  return absl::OkStatus();
}

}  // namespace hotplate::cli
