// Job ids of all daemons of one HOTPLATE_DIR: a number is never given to two jobs, and of each it is known which daemon
// gave it. The folder jobs/ has a file for each block of numbers (JobIdBlock), named by its first one. A block is taken
// by linking a file that is written already to that name, which one daemon alone can do, on file systems without locks
// too. The next block begins where the newest ends or, once the daemon of that has ended, where it left off:
//   1.0     1-100     "local", ended, used up to 57
//   58.0    58-100    "local" again, ended, used none
//   58.1    58-100    "local" again, killed
//   101.0   101-200   "local" again
// The newest file of a daemon also tells, now and then and at its end, what it holds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/endpoint.pb.h"
#include "kernels/mutex.h"
#include "server/core/jobs/job_numbers.h"

namespace hotplate::server {

// Thread-safe. Everything but WhoseJob waits for the file system.
class JobIds {
 public:
  // `life`: of the daemon that asks. Makes the folder, reads what there is, and removes what is long past.
  static absl::StatusOr<std::unique_ptr<JobIds>> Open(const std::string& directory, v1::DaemonLife life);

  absl::StatusOr<core::NumberBlock> Claim(std::uint64_t size);

  // Notes what the daemon holds by now.
  absl::Status Note(const std::string& held);
  // What a daemon says of its end, each in words for DaemonLife's field.
  struct LastWords {
    std::string held = {}, saved = {}, reason = {};
  };
  // Notes its end; without words what it held is what was noted last. `last_used`: the last number that it gave to a
  // job.
  absl::Status End(std::uint64_t last_used, const std::optional<LastWords>& words);

  // Looks again what others have written.
  void Refresh();

  // A sentence on whose job it is that this daemon has not: another's; empty if nothing is known.
  std::string WhoseJob(const std::string& job_id) const;
  // The last daemon before this one that died, or held something when it ended, if that was within a day.
  std::optional<v1::DaemonLife> Before() const;

 private:
  JobIds(std::string directory, v1::DaemonLife life);
  // A block's first number, and its turn.
  using Key = std::pair<std::uint64_t, std::uint32_t>;
  static absl::StatusOr<std::vector<Key>> List(const std::string& folder);  // in order
  std::string FileOf(Key key) const {
    return folder_ + "/" + std::to_string(key.first) + "." + std::to_string(key.second);
  }
  absl::Status Rewrite(const std::optional<LastWords>& words, std::optional<std::uint64_t> last_used);
  // The life of another daemon, as far as it is known: from its newest block.
  v1::DaemonLife LifeLocked(const v1::JobIdBlock& block) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveOld();

  const std::string directory_, folder_;
  Mutex writing_;  // held while own_ is written; taken before mutex_
  mutable Mutex mutex_;
  v1::DaemonLife life_ ABSL_GUARDED_BY(mutex_);
  std::map<Key, v1::JobIdBlock> blocks_ ABSL_GUARDED_BY(mutex_);  // as last read
  std::set<std::string> living_ ABSL_GUARDED_BY(mutex_);          // generations of others that have their record
  v1::JobIdBlock own_ ABSL_GUARDED_BY(writing_);                  // the newest of this daemon's
};

}  // namespace hotplate::server
