// The tasks of durable sweeps, as they end: in a file of their job in the spool (journal/task_log.h) until the whole
// result is there, and read back when the next daemon goes on with the sweep. Programs' output stays there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/jobs/job_log.h"
#include "server/core/log_sink.h"
#include "server/journal/spool.h"
#include "server/journal/task_log.h"
#include "server/service/file_thread.h"

namespace hotplate::server {

// Thread-safe. Restore and PrintedBy wait for the file system; Write and Ended, too, where much waits to be written.
class DurableTasks {
 public:
  DurableTasks(journal::Spool& spool, std::function<void(core::LogLevel, const std::string&)> log)
      : spool_(spool), log_(std::move(log)) {}

  // The sweep begins to run under this daemon. Never waits.
  void Started(std::uint64_t job);
  // Tasks that cannot be written run again under the next daemon; that is logged, once for each job.
  void Write(std::uint64_t job, core::TaskRows rows);
  // Calls `take` for each task that ended under daemons before this one; false: it is none of the sweep's as it is now.
  // Returns how many daemons have run the sweep since the last of these tasks ended; nothing if there is no file.
  using Take = std::function<bool(const core::TaskRow& row, std::span<const std::byte> bytes)>;
  absl::StatusOr<std::optional<std::uint64_t>> Restore(std::uint64_t job, const Take& take);
  // The job has ended, and its end is on the disk.
  void Ended(std::uint64_t job, bool keep_file);
  // The output of a task that was a program, as a v1.KeptOutput. NOT_FOUND: it has not ended, or left none.
  absl::StatusOr<std::string> PrintedBy(std::uint64_t job, std::uint64_t task) const;
  void Stop() { writing_.Stop(); }

 private:
  std::string PathOf(std::uint64_t job) const;
  void WriteNow(std::uint64_t job, const core::TaskRows& rows);
  absl::Status Append(std::uint64_t job, std::span<const journal::TaskEnd> tasks);
  void Forget(std::uint64_t job, bool keep_file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  journal::Spool& spool_;
  const std::function<void(core::LogLevel, const std::string&)> log_;
  Mutex mutex_;  // held while a file is written
  std::map<std::uint64_t, journal::TaskLog> logs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::uint64_t> bytes_read_ ABSL_GUARDED_BY(mutex_);  // of files that were restored
  // Rows that still wait to be written are not, and would make the folder anew.
  std::set<std::uint64_t> ended_early_ ABSL_GUARDED_BY(mutex_);
  std::set<std::uint64_t> complained_ ABSL_GUARDED_BY(mutex_);
  FileThread writing_;  // one thread: a sweep's end comes behind its rows
};

}  // namespace hotplate::server
