// Job ids of all daemons of one HOTPLATE_DIR: no two jobs get the same number, and the daemon that gave a number is
// known. The folder jobs/ has a file for each block of numbers (JobIdBlock), named by the first number. A daemon claims
// a block by linking a complete file to that name, which only one daemon can do, even on file systems without locks.
// The next block begins after the newest, or where that one's daemon stopped if it has ended:
//   1.0     1-100     "local", ended, used up to 57
//   58.0    58-100    "local" again, ended, used none
//   58.1    58-100    "local" again, killed
//   101.0   101-200   "local" again
// A daemon's newest file also says what it holds; it is updated regularly and at the daemon's end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/endpoint.pb.h"
#include "kernels/base/mutex.h"
#include "proto/codec/job_id_block.h"
#include "server/core/jobs/job_numbers.h"

namespace hotplate::server {

// Thread-safe. Everything but WhoseJob waits for the file system.
class JobIds {
 public:
  // `life`: the calling daemon's. Makes the folder, reads the files, and removes old ones.
  static absl::StatusOr<std::unique_ptr<JobIds>> Open(const std::string& directory, v1::DaemonLife life);

  absl::StatusOr<core::NumberBlock> Claim(std::uint64_t size);

  // The last numbers that it gave to a job and to an array.
  struct LastNumbers {
    std::uint64_t job = 0, array = 0;
    bool operator==(const LastNumbers&) const = default;
  };
  // Notes what the daemon holds now.
  absl::Status Note(const std::string& held, LastNumbers last);
  // A daemon's account of its end, in words for the fields of DaemonLife.
  struct LastWords {
    std::string held = {}, saved = {}, reason = {};
  };
  // Notes the daemon's end; without `words` the last note on what it held stays.
  absl::Status End(LastNumbers last, const std::optional<LastWords>& words);

  // Nobody follows on this daemon: told with its next note.
  void NoteAlone();

  // Reads the files of other daemons again.
  void Refresh();

  // A sentence on a job that this daemon does not have: whose it is; empty if unknown.
  std::string WhoseJob(const std::string& job_id) const;
  // The number of the first array: behind those of the daemons of this name before. It does not read the files.
  std::uint64_t FirstArray() const;
  // The daemon before this one, if it died or held something when it ended, within the last day. A death that
  // `hotplate down` has told of is not told again.
  std::optional<v1::DaemonLife> Before() const;

 private:
  JobIds(std::string directory, v1::DaemonLife life);
  using Key = codec::JobIdBlockKey;
  absl::StatusOr<std::vector<Key>> List() const;
  std::string FileOf(Key key) const { return codec::FileOf(folder_, key); }
  absl::Status Rewrite(const std::optional<LastWords>& words, LastNumbers last, bool ended);
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
