// What may go from a journal and its spool. A result that nobody has fetched never does: if such results fill the
// spool, new detached jobs are refused until they have been fetched.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/journal/journal.h"
#include "server/journal/spool.h"

namespace hotplate::journal {

// SQL, of a row j of jobs that has ended: it has left something, and nobody has got it. Of programs that failed, too:
// what they printed says why.
inline constexpr char kIsUnread[] =
    "(j.fetch_ns IS NULL AND (j.state=3 OR j.kernel IN ('exec', 'python')) AND"
    " (EXISTS(SELECT 1 FROM files f WHERE f.number=j.number AND f.role=2) OR"
    "  EXISTS(SELECT 1 FROM ends e WHERE e.number=j.number AND e.outputs IS NOT NULL)))";

struct PruneBounds {
  WallTime now = {};
  // Of ended jobs whose results were fetched, or that left none; 0: any.
  nanoseconds age{};
  // Of all files in the spool: the oldest such jobs go until it has no more; 0: any.
  std::uint64_t bytes = 0;
  // Of rows of the history without files, attached jobs and sums; 0: any.
  nanoseconds history_age{};
  // Of one pass: what is left when it is over goes with the next. At least one batch of jobs goes with each.
  nanoseconds longest = std::chrono::seconds(10);
  std::function<bool()> stop = {};  // asked between two batches: the pass is over
  // Whether the job of that number keeps its results, since jobs that have not ended take them. May be null.
  std::function<bool(std::uint64_t)> is_needed = {};
  // Whether its result was fetched, which the index may not have yet. May be null.
  std::function<bool(std::uint64_t)> is_fetched = {};
  std::string owner = {};     // of this one's jobs alone; empty: of everybody's
  std::size_t at_once = 500;  // jobs in a batch, for which there is one sync
  // Called for each job that has been released, when its files are gone. May be null.
  std::function<void(std::uint64_t)> released = {};
};

struct PruneReport {
  std::uint64_t released = 0, bytes = 0;       // jobs whose files went
  std::uint64_t unread = 0, unread_bytes = 0;  // whose results wait to be fetched, and stay
  std::uint64_t forgotten = 0;                 // rows of the history
  bool more = false;                           // the pass was over before everything was looked at
  std::vector<std::string> notes = {};         // files that could not be removed
};

// With a spool, or (null) of the index alone. FAILED_PRECONDITION if the spool is another journal's (Spool::Claim).
absl::StatusOr<PruneReport> Prune(Journal& journal, Spool* spool, const PruneBounds& bounds);

// At a daemon's start, after Spool::Claim and before any job is stored: removes files that the index does not know.
absl::StatusOr<Spool::Swept> SweepSpool(Journal& journal, Spool& spool);

// Bytes in the spool, by the index: SpoolOptions::used_bytes.
absl::StatusOr<std::uint64_t> SpooledBytes(Journal& journal);

// Something that a job has on the disk.
struct PartOfJob {
  std::uint64_t job = 0;
  std::string owner = {};
  bool fetched = false;               // somebody has got its result
  std::optional<FileRole> file = {};  // none: its request, in the index
  Sha256 sha256 = {};                 // of a file
  std::uint64_t bytes = 0;
};
// Calls `take` for each part of a job whose owner is another one.
absl::Status EachPartBut(Journal& journal, const std::string& owner, absl::FunctionRef<void(const PartOfJob&)> take);

}  // namespace hotplate::journal
