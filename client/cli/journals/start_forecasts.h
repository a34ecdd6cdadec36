// How good the forecasts of jobs' starts were.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/journals/past_jobs.h"

namespace hotplate::cli {

// From submission to start, as it was foretold when the job was queued, and as it came.
struct ForetoldWait {
  std::chrono::nanoseconds foretold{}, real{};
  // Whether one is at most twice the other. Below 10 ms nobody waits: less counts as that.
  bool IsWithinTwice() const;
};
// Nothing was foretold of most jobs: those that could start at once, and those of which nothing was known.
std::optional<ForetoldWait> ForetoldWaitOf(const PastJob& job);

class StartForecasts {
 public:
  void Add(const PastJob& job);
  // "start forecasts: 83 % of 412 within a factor of 2"; empty if there were none.
  std::string Text() const;

 private:
  std::uint64_t all_ = 0, good_ = 0;
};

}  // namespace hotplate::cli
