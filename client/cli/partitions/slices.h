// A long stretch of accounting, read in pieces that sacct bears: a day at a time, half as much after each piece that
// took too long, the pieces of before from the cache.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/partitions/cache.h"
#include "client/cli/partitions/sacct_text.h"

namespace hotplate::cli {

inline constexpr EpochSeconds kLongestSlice = 24 * 3600;
inline constexpr EpochSeconds kShortestSlice = kLongestSlice / 64;  // 22.5 minutes
// A start may reach the database late. Younger slices are not cached.
inline constexpr EpochSeconds kSettled = 3600;

// One call of sacct. DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED: too much at once.
using SliceSource = std::function<absl::StatusOr<SliceJobs>(EpochSeconds from, EpochSeconds to)>;

struct SliceStep {
  EpochSeconds from = 0, to = 0;  // the slice that is next, or just read
  double done = 0;                // of all, before it
};

struct SliceWalk {
  EpochSeconds since = 0, now = 0;
  SliceSource read;
  // Receives each slice once, in order of time. `last`: the slice that ends now, whose waiting jobs wait now.
  std::function<void(const SliceJobs& jobs, bool last)> take;
  std::function<void(const SliceStep&)> on_step;  // before each call of `read`
};

// Where the first slice begins: a start of a day (UTC) or, of a stretch below one, of an hour, so that the next call
// finds the same slices.
EpochSeconds FirstSlice(EpochSeconds since, EpochSeconds now);

// Returns an error of `read` other than the two above, or one of these if even the shortest slice is too much.
absl::Status ReadSlices(const SliceWalk& walk, SliceCache& cache);

}  // namespace hotplate::cli
