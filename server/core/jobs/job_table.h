// All jobs that the engine knows, by id and by request id, and how long those that ended stay. Its owner guards it.
//
// A job that somebody may come back for is promised: one that is detached, or has a request id of its caller's. There
// is room for its record and its inline results from the moment it is accepted, and it stays for the whole retention
// time; a detached one until its result was fetched, if no request id says otherwise. The others were delivered: they
// stay as long as the promised ones leave room, and the oldest go first. Tiny attached jobs, of which a client may send
// thousands a second, are counted apart, so that they push out nothing but each other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/core/jobs/job.h"

namespace hotplate::core {

struct RetentionLimits {
  nanoseconds time;
  std::size_t jobs;     // promised and delivered ones; as many tiny ones beside them
  std::uint64_t bytes;  // of inline results, of all together
};

class JobTable {
 public:
  explicit JobTable(RetentionLimits limits) : limits_(limits), gone_(kRemembered) {}

  // RESOURCE_EXHAUSTED, with the limit's name, if the job is promised and there is no room to keep it. `of_part`: its
  // token may have a part of the room alone (PartOf).
  absl::Status CheckRoom(const Job& job, bool of_part = false) const;
  // Gives the job its sequence, which is above all before, and its id, and sets the room aside that it was promised.
  void Insert(const std::shared_ptr<Job>& job, std::uint64_t number);
  // Inserts a job of a daemon before this one.
  void Restore(const std::shared_ptr<Job>& job, std::uint64_t number);
  // Removes a job that has not ended, as if it had never been.
  std::shared_ptr<Job> Withdraw(Job& job);
  // Null for an id that is not there, or that `who` must not see.
  std::shared_ptr<Job> Find(const Principal& who, const std::string& id) const;
  // The key of one principal's request id; empty for an empty id.
  static std::string RequestKey(const std::string& token, const std::string& request_id);
  // Null for an empty key too.
  std::shared_ptr<Job> FindRequest(const std::string& request_key) const;

  // Begins the retention of a job that ended.
  void Ended(const std::shared_ptr<Job>& job);
  // Somebody has got its result; large outputs, which go with the job, are still to be read.
  void Fetched(Job& job);
  // Its inline results are not kept after all.
  void ResultsDropped(Job& job, std::uint64_t stay);
  // The next job to leave, or null: too old, or delivered and one too many, or with too many bytes. It is out of the
  // table.
  std::shared_ptr<Job> Evict(SteadyTime now);
  // The limit that took the job, as a sentence; empty for one that never was, or is there.
  std::string WhyGone(const std::string& id) const;

  // Newest first, those before `before` (0: from the newest), until `visit` returns false.
  void NewestFirst(std::uint64_t before, absl::FunctionRef<bool(const Job&)> visit) const;
  std::uint64_t ended_ever() const { return ended_ever_; }

  // The number of an id, 0 for a text that is none.
  static std::uint64_t NumberOf(const std::string& id);

 private:
  // Ended jobs, by when they ended.
  struct Shelf {
    std::map<std::uint64_t, std::shared_ptr<Job>> jobs;
    std::uint64_t bytes = 0;  // of their inline results
  };
  enum class Limit : std::uint8_t { kTime, kJobs, kBytes };
  // Which limit took a job; of the newest such.
  struct Gone {
    std::uint64_t number = 0;
    Limit limit = Limit::kTime;
  };
  static constexpr std::size_t kRemembered = 1 << 16;

  // Promised jobs, under way or ended, and the bytes of their inline results.
  struct Promises {
    std::size_t jobs = 0;
    std::uint64_t bytes = 0;
  };
  void AddPromise(const Job& job, std::uint64_t bytes);
  void RemovePromise(const Job& job, std::uint64_t bytes);

  void ForgetRequest(const Job& job);
  Shelf& ShelfOf(const Job& job);
  void Put(const std::shared_ptr<Job>& job, JobShelf where);
  std::shared_ptr<Job> Take(Job& job);  // from its shelf
  std::shared_ptr<Job> Remove(Shelf& shelf, Limit limit);
  bool PastTime(const Shelf& shelf, SteadyTime now) const;
  std::uint64_t retained_bytes() const { return promised_.bytes + delivered_.bytes + tiny_.bytes; }

  const RetentionLimits limits_;
  std::map<std::uint64_t, std::shared_ptr<Job>> jobs_;
  absl::flat_hash_map<absl::string_view, Job*> requests_;  // by the key that the job holds
  Shelf promised_, delivered_, tiny_;
  std::size_t active_promises_ = 0;                         // jobs that have not ended
  std::uint64_t active_bytes_ = 0;                          // that their inline results may have
  absl::flat_hash_map<std::string, Promises> promises_of_;  // by token; none is empty
  std::vector<Gone> gone_;                                  // by number, modulo its size
  std::uint64_t ended_ever_ = 0;
  std::uint64_t first_number_ = 0, last_number_ = 0;  // of all jobs that were inserted
};

}  // namespace hotplate::core
