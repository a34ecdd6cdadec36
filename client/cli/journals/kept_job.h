// A job that no daemon has any more, as the journals know it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/journals/journals.h"
#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {

struct KeptAnswer {
  v1::Job job;
  journal::Place place;              // where it was found
  std::string release_time;          // when its files were deleted; empty: they are there
  std::vector<std::string> results;  // paths of files
};

// Looks in all journals. NOT_FOUND if none has the job, or `id` is no number.
absl::StatusOr<KeptAnswer> FindInJournals(const Settings& settings, const std::string& id);

std::string TextOf(const KeptAnswer& kept, bool colour);
// Job, with "journal" (its folder) and "results" (paths).
std::string JsonOf(const KeptAnswer& kept);

}  // namespace hotplate::cli
