// The bytes that detached jobs of guests have on the disk: this is the one place that owns the count.
//
// A token's --quota-bytes bounds them, apart from its arrays in memory, which core::ArrayStore counts. Counted is what
// the index has: from a job's acceptance until its release, its request, its inputs in the spool, each content once for
// a token however many of its jobs take it, and its results. Results that are not there yet count as the most that they
// may have, so that what was accepted always has room and no result is thrown away. Where a new job finds no room, the
// oldest results of that token that were fetched go first (DurableJobs::TakeRoom); then it is refused, before anything
// is written. The shape of an output may depend on another job's: it counts from when that is known, and a job for
// which there is no room then fails, and says why; what was fetched makes room for it within seconds
// (DurableJobs::KeepGuestsWithin). The next daemon counts again what the journal has.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "server/journal/prune.h"
#include "server/journal/records.h"

namespace hotplate::server {

// By the numbers of jobs. Thread-safe.
class GuestsDisk {
 public:
  // Counts a new job, if the token may have so much with it: RESOURCE_EXHAUSTED names the limit, of the field
  // "quota-bytes" if the token can never have so much. `quota` 0: any.
  struct Wanted {
    std::uint64_t job = 0;
    std::string token = {};
    std::uint64_t request = 0, results = 0;  // bytes; the most that the results may have
    std::span<const journal::SpooledFile> inputs = {};
  };
  absl::Status Take(const Wanted& wanted, std::uint64_t quota);
  // A part of a job in the journal.
  void Add(const journal::PartOfJob& part);

  // Its results have, or may have, so many bytes. Without `token`, of a job that is counted already: others are not a
  // guest's.
  void SetResults(std::uint64_t job, const std::string& token, std::uint64_t bytes);
  void SetResults(std::uint64_t job, std::uint64_t bytes);
  // As Take: whether the token has no more than it may, with this job's results as they were set. Those that were
  // fetched do not count, since they make room.
  absl::Status CheckResults(std::uint64_t job, std::uint64_t quota) const;
  // Somebody has its result.
  void Fetched(std::uint64_t job);
  bool IsFetched(std::uint64_t job) const;
  // Nothing of it is left.
  void Release(std::uint64_t job);

  std::uint64_t BytesOf(const std::string& token) const;
  // Tokens with results that were fetched.
  std::vector<std::string> WithFetched() const;

 private:
  struct Job {
    std::string token;
    std::vector<std::pair<journal::Sha256, std::uint64_t>> inputs = {};  // content, bytes
    std::uint64_t request = 0, results = 0;
    bool fetched = false;
  };
  struct Use {
    std::uint64_t bytes = 0;
    std::uint64_t fetched = 0;                           // of `bytes`
    std::map<journal::Sha256, std::uint32_t> jobs = {};  // that have an input of this content
  };

  void AddInput(Job& job, const journal::Sha256& content, std::uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddRequest(Job& job, std::uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Set(Job& job, std::uint64_t results, bool fetched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<std::uint64_t, Job> jobs_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Use> use_of_ ABSL_GUARDED_BY(mutex_);  // by token; of each in `jobs_`
};

}  // namespace hotplate::server
