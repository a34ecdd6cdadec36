// Group commit: one thread writes all records, in the order in which they come. What comes while it waits for the disk
// goes into the next group, so that a hundred callers share one sync.
//   synced records    start a group at once, and are told when it is on the disk
//   written behind    ride along with the next group, or with one of their own, unsynced, after a while
// When a group cannot be written, its job acceptances are refused with the reason. Everything else stays in the queue
// and is tried again; until it has been written, no acceptance is taken. A journal that was taken over, or is damaged,
// takes nothing any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "server/journal/fence.h"
#include "server/journal/index.h"
#include "server/journal/records.h"
#include "server/journal/sums.h"

namespace hotplate::journal {

enum class Durability { kBehind, kSynced };

// Called once, on the writer's thread, which it must not keep waiting (after Stop: on the caller's): OK when the record
// is on the disk (kSynced) or in the index (kBehind), else why it never will be.
using Completion = absl::AnyInvocable<void(const absl::Status&) &&>;

struct WriterOptions {
  std::chrono::milliseconds behind{1000};  // for how long a record may be in memory alone
  std::chrono::milliseconds retry{1000};   // after a failure
  std::chrono::milliseconds beat{5000};    // between two touches of the owner's record
  unsigned attached_per_second = 100;      // the others are kept as sums
  // Of records that wait to be written. Beyond it acceptances are refused, and attached jobs are kept as sums.
  std::uint64_t most_bytes = std::uint64_t{256} << 20;
  // Called at the steps of a group, with their names: "group: committed". For tests.
  std::function<void(std::string_view)> at_step = {};
};

// Thread-safe.
class Writer {
 public:
  // Both must outlive it, and are its own until Stop.
  Writer(Index& index, Fence& fence, WriterOptions options);
  ~Writer() { Stop(); }

  // Does not wait.
  void Append(Record record, Durability durability, Completion done) ABSL_LOCKS_EXCLUDED(mutex_);
  // `end`: called for a job that is kept by itself, for its AttachedJob::end.
  void Note(AttachedJob job, absl::FunctionRef<std::string()> end) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs on the writer's thread between two groups. Waits for it.
  absl::Status Run(absl::FunctionRef<absl::Status(Index&)> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // OK, or why acceptances are refused now.
  absl::Status health() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes what is there, synced, as far as it can be, and ends the thread.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    Record record;
    Durability durability = Durability::kBehind;
    Completion done = nullptr;
    std::uint64_t bytes = 0;
    Time since = {};
    absl::Status result = {};
  };
  using Group = std::vector<Entry>;
  struct Task {
    absl::FunctionRef<absl::Status(Index&)> work;
    absl::Status* result;
    bool* done;
  };

  void Loop();
  // Until there is something to do.
  void AwaitWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Time NextWrite() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Group TakeGroup(Sums& sums) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginWith(Group& group, Index::Sync sync);
  absl::Status WriteGroup(Group& group, const Sums& sums, Index::Sync sync);
  // OK while the journal is this daemon's. `certain`: asks again until the answer is known.
  absl::Status CheckFence(bool certain) ABSL_LOCKS_EXCLUDED(mutex_);
  void Settle(Group& group, const Sums& sums, const absl::Status& written) ABSL_LOCKS_EXCLUDED(mutex_);
  void RunTasks() ABSL_LOCKS_EXCLUDED(mutex_);
  void Step(std::string_view name) const {
    if (options_.at_step) options_.at_step(name);
  }

  Index& index_;
  Fence& fence_;
  const WriterOptions options_;

  mutable Mutex mutex_;
  CondVar work_, task_done_;
  std::deque<Entry> queue_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t synced_ ABSL_GUARDED_BY(mutex_) = 0;  // of the queue
  std::vector<Entry> refused_ ABSL_GUARDED_BY(mutex_);
  SumMeter sums_ ABSL_GUARDED_BY(mutex_);
  Time sums_since_ ABSL_GUARDED_BY(mutex_);
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  absl::Status health_ ABSL_GUARDED_BY(mutex_);
  bool for_good_ ABSL_GUARDED_BY(mutex_) = false;  // it will never write again
  Time retry_at_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  // The thread's own.
  bool taken_over_ = false;
  bool log_is_sound_ = true;  // what it wrote before is known to reach the disk with the next sync
  Time next_beat_{};
  Time mine_at_{};  // when the fence last said that the journal is this daemon's
  std::thread thread_;
};

}  // namespace hotplate::journal
