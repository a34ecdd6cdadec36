// All jobs that the engine knows, by id and by request id, and how long those that ended stay. Its owner guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "server/core/job.h"

namespace hotplate::core {

struct RetentionLimits {
  nanoseconds time;
  std::size_t jobs;
  std::uint64_t bytes;
};

class JobTable {
 public:
  explicit JobTable(RetentionLimits limits) : limits_(limits) {}

  // Gives the job its sequence, which is above all before, and its id.
  void Insert(const std::shared_ptr<Job>& job, std::uint64_t number);
  // Null for an id that is not there, or that `who` must not see.
  std::shared_ptr<Job> Find(const Principal& who, const std::string& id) const;
  // What one principal's request id is known by; empty for an empty id.
  static std::string RequestKey(const std::string& token, const std::string& request_id);
  // Null for an empty key too.
  std::shared_ptr<Job> FindRequest(const std::string& request_key) const;

  // Begins the retention of a job that ended.
  void Ended(const std::shared_ptr<Job>& job);
  // Its inline results are not kept after all.
  void ResultsDropped(Job& job);
  // The next job to leave, or null: too old, too many, or too many bytes. It is out of the table.
  std::shared_ptr<Job> Evict(SteadyTime now);

  // Newest first, those before `before` (0: from the newest), until `visit` returns false.
  void NewestFirst(std::uint64_t before, absl::FunctionRef<bool(const Job&)> visit) const;
  std::uint64_t ended_ever() const { return ended_ever_; }

  // The number of an id, 0 for a text that is none.
  static std::uint64_t NumberOf(const std::string& id);

 private:
  const RetentionLimits limits_;
  std::map<std::uint64_t, std::shared_ptr<Job>> jobs_;
  absl::flat_hash_map<absl::string_view, Job*> requests_;  // by the key that the job holds
  std::deque<std::shared_ptr<Job>> ended_;                 // the first to end is the first to leave
  std::uint64_t retained_bytes_ = 0;
  std::uint64_t ended_ever_ = 0;
};

}  // namespace hotplate::core
