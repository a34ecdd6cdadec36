// Copies of an index whose writer may still be at it.
//
// SQLite's log and file together are the index: pages in the log count, not those in the file. A writer appends to the
// log, and now and then copies pages from it to the file, which takes none of them out of the log. So a copy of the
// file and, made after it, one of the log are together an index of that moment, even if the file was written to
// meanwhile: all pages that changed in it are in the log. A torn end of the log is as after a kill. Only when all of
// the log is in the file is the log begun anew, over the old one, with other salts in its header: then the copy is made
// again.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/journal/disk.h"
#include "server/journal/index.h"

namespace hotplate::journal {

// Copies an index with its log to `to`, which is there whole or not at all. UNAVAILABLE if the log was begun anew each
// time. NOT_FOUND if there is no such index.
absl::Status CopyIndex(const std::string& from, const std::string& to, Disk& disk);

// A journal as it is now, without becoming its owner: a copy of its index, in files that have no name any more.
class IndexCopy {
 public:
  // NOT_FOUND if there is none, or its index is gone.
  static absl::StatusOr<IndexCopy> Open(const std::string& folder);

  // Errors name the journal's index.
  absl::Status With(absl::FunctionRef<absl::Status(Index&)> work) { return Named(work(*index_)); }

 private:
  IndexCopy(std::string original, std::string copy) : original_(std::move(original)), copy_(std::move(copy)) {}
  absl::Status Named(const absl::Status& status) const;

  std::string original_, copy_;  // paths
  std::unique_ptr<Index> index_;
};

}  // namespace hotplate::journal
