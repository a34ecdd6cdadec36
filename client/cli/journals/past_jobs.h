// Ended jobs of all daemons, read from their journals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/cli/journals/journals.h"
#include "server/journal/index_copy.h"
#include "server/journal/recovery.h"

namespace hotplate::cli {

struct PastJob {
  std::uint64_t number = 0;
  std::string kernel, label, device, daemon, node;
  journal::JobState state = journal::JobState::kCompleted;
  journal::WallTime submitted = {}, ended = {};
  std::optional<journal::WallTime> started = {};
  journal::JobUse use = {};
  std::string end = {};  // a message v1.JobEnd; empty: the journal has none
};

// It ran when the journal was last written to: it still runs, or its daemon was killed.
struct RunningJob {
  std::string kernel, label, device;
  journal::WallTime started = {};
};

// The ended jobs of one journal, last end first.
class JournalCursor {
 public:
  // NOT_FOUND if the journal is gone.
  static absl::StatusOr<JournalCursor> Open(const journal::Place& place, const journal::JobQuery& query);

  const journal::Place& place() const { return place_; }
  // All that wrote it. Of those that are not known to have ended, `seen` is when they last were.
  const std::vector<journal::KeptDaemon>& daemons() const { return daemons_; }

  bool AtEnd() const { return at_ == page_.size(); }
  journal::JobPlace Position() const { return journal::JobPlace::Of(page_[at_]); }
  PastJob Present();  // once
  absl::Status Advance();

  absl::StatusOr<std::vector<RunningJob>> Running();
  // The attached jobs that are kept as sums alone.
  absl::StatusOr<journal::Sums> AttachedSums();

 private:
  JournalCursor(journal::Place place, journal::JobQuery query, journal::IndexCopy index)
      : place_(std::move(place)), query_(std::move(query)), index_(std::move(index)) {}
  absl::Status Fill();

  journal::Place place_;
  journal::JobQuery query_;
  journal::IndexCopy index_;
  std::vector<journal::KeptDaemon> daemons_;
  std::vector<journal::KeptJob> page_;
  std::size_t at_ = 0;
};

// Calls `take` with the ended jobs of all journals, last end first, until it is false or there are no more.
void EachPastJob(const std::vector<journal::Place>& places, const journal::JobQuery& query, Unread& unread,
                 absl::FunctionRef<bool(PastJob&& job)> take);

}  // namespace hotplate::cli
