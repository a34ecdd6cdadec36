// A job that no daemon has any more, as the journals know it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/journals/journals.h"
#include "hotplate/v1/jobs.pb.h"
#include "hotplate/v1/programs.pb.h"
#include "server/journal/index_copy.h"

namespace hotplate::cli {

struct KeptAnswer {
  v1::Job job;
  journal::Place place;              // where it was found
  std::string release_time;          // when its results, which were fetched, were deleted; empty: they were not
  std::vector<std::string> results;  // paths of files
  v1::KeptOutput printed;            // by a program
};

// The journals as they are when this is made.
class KeptJobs {
 public:
  static absl::StatusOr<KeptJobs> Open(const Invocation& call);

  // The ids that words stand for (job_selection.h), but for "all"; "last" is the newest of daemon `name`, or (empty) of
  // all. NOT_FOUND for those that stand for none.
  absl::StatusOr<std::vector<std::string>> Select(const std::vector<std::string>& words, const std::string& name);
  // NOT_FOUND if none has the job, or `id` is no number; if some journals cannot be read, their names.
  absl::StatusOr<KeptAnswer> Find(const std::string& id);

 private:
  struct One {
    journal::Place place;
    journal::IndexCopy index;
  };
  explicit KeptJobs(Unread unread) : unread_(std::move(unread)) {}
  absl::Status NotFound(const std::string& what) const;
  absl::StatusOr<std::vector<std::string>> Between(const std::string& word, std::uint64_t first, std::uint64_t last);
  absl::StatusOr<std::vector<std::string>> Last(const std::string& name);

  std::vector<One> journals_;
  Unread unread_;
};

std::string TextOf(const KeptAnswer& kept, bool colour);
// Job, with "journal" (its folder) and "results" (paths).
std::string JsonOf(const KeptAnswer& kept);

}  // namespace hotplate::cli
