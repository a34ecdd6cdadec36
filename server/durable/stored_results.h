// The results of durable jobs that ended under a daemon before this one: they stay in files until somebody asks for
// them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/mutex.h"
#include "server/core/engine.h"
#include "server/journal/spool.h"

namespace hotplate::server {

// Thread-safe.
class StoredResults {
 public:
  // Both must outlive it.
  StoredResults(core::Engine& engine, const journal::Spool& spool) : engine_(engine), spool_(spool) {}

  void Add(std::uint64_t number, std::vector<journal::SpooledFile> files);
  bool Has(const core::JobId& id) const;
  // Makes arrays of the job's results, once. OK without any. Waits for the file system.
  absl::Status Load(const core::Principal& who, const core::JobId& id);

 private:
  absl::Status Read(const std::vector<journal::SpooledFile>& files, const core::Principal& owner, core::JobEnd& end,
                    std::vector<core::ArrayId>& made) ABSL_EXCLUSIVE_LOCKS_REQUIRED(loading_);

  core::Engine& engine_;
  const journal::Spool& spool_;
  Mutex loading_;  // held while files are read; taken before mutex_
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::vector<journal::SpooledFile>> files_ ABSL_GUARDED_BY(mutex_);  // by job
};

}  // namespace hotplate::server
