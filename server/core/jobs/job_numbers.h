// The numbers that jobs are known by. They come in blocks, since several daemons may share them
// (server/saved/job_ids.h), and each block is asked for before it is needed, since whoever hands them out may have to
// wait for a file system.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <thread>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"

namespace hotplate::core {

struct NumberBlock {
  std::uint64_t first = 1, last = std::numeric_limits<std::uint64_t>::max();
};

// Thread-safe.
class JobNumbers {
 public:
  // A block above all before of at least one number, of `size` if it can be. May wait; called on one thread at a time.
  using Claim = std::function<absl::StatusOr<NumberBlock>(std::uint64_t size)>;

  // Without `claim` there is no more than the first block.
  JobNumbers(NumberBlock first, Claim claim);
  ~JobNumbers();

  // Returns when there are numbers, which is at once but for the first jobs of a flood; UNAVAILABLE with the reason if
  // there are none for long.
  absl::Status Await();
  // The next one; 0 if there is none, after which Await helps. Does not wait.
  std::uint64_t Take();
  // The last one taken, 0 for none.
  std::uint64_t last_taken() const;

  // The size of the first block. Each block makes the next one four times as large, up to a million: so they are few,
  // and a killed daemon loses no more numbers than some times those that it used.
  static constexpr std::uint64_t kFirstSize = 100;

 private:
  std::uint64_t Left() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ClaimAhead();
  // The next block, unless it is there or under way.
  void Want() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Claim claim_;
  mutable Mutex mutex_;
  CondVar changed_;
  NumberBlock now_ ABSL_GUARDED_BY(mutex_), next_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t enough_ ABSL_GUARDED_BY(mutex_);  // with fewer left of now_, the next one is claimed
  bool wanted_ ABSL_GUARDED_BY(mutex_) = false;   // a block is to be claimed
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // of the last claim
  std::uint64_t last_taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread claimer_;
};

}  // namespace hotplate::core
