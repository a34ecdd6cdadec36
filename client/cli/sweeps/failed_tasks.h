// --failed-of: the tasks of an earlier sweep that did not complete, as a sweep of their own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/lib/client.h"

namespace hotplate::cli {

struct EarlierSweep {
  std::string job_id;
  v1::SweepOutcome outcome;
};
// The sweep that a word names ("31", "last"). INVALID_ARGUMENT: it is none, or all of its tasks completed;
// FAILED_PRECONDITION: it goes on.
absl::StatusOr<EarlierSweep> FindEarlier(client::Client& client, const std::string& word);

// Leaves only those tasks of `sweep`. INVALID_ARGUMENT: it is not over the same values as the earlier one.
absl::Status KeepIncomplete(const EarlierSweep& earlier, v1::Sweep& sweep);

// The earlier job once more, without the tasks that completed. INVALID_ARGUMENT: only its own words can say what it
// was, since it is a program, or has inputs.
absl::StatusOr<client::JobOptions> SameJob(const EarlierSweep& earlier);

}  // namespace hotplate::cli
