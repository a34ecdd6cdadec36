// The tasks of durable sweeps, as they end: in a file of their job in the spool (journal/task_log.h) until the whole
// result is there, and read back when the next daemon goes on with the sweep. Programs' output stays there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/jobs/job_log.h"
#include "server/core/log_sink.h"
#include "server/core/sweeps/sweep_run.h"
#include "server/journal/spool.h"
#include "server/journal/task_log.h"
#include "server/service/file_thread.h"

namespace hotplate::server {

// Thread-safe. Every call but Write waits for the file system; that one, too, where much waits to be written.
class DurableTasks {
 public:
  DurableTasks(journal::Spool& spool, std::function<void(core::LogLevel, const std::string&)> log)
      : spool_(spool), log_(std::move(log)) {}

  // What cannot be written runs again under the next daemon; that is logged, once for each job.
  void Write(std::uint64_t job, core::TaskRows rows);
  // Tells a sweep that goes on of what it did under daemons before this one.
  absl::Status Restore(std::uint64_t job, core::SweepRun& sweep);
  // How many daemons have begun since the last task of this job ended; nothing where no task ever did.
  std::optional<std::uint64_t> RunsSinceLastTask(std::uint64_t job) const;
  // The job has ended, and its end is on the disk.
  void Ended(std::uint64_t job, bool keep_file);
  // What a task that was a program has printed, as a v1.KeptOutput. NOT_FOUND: it has not ended, or left none.
  absl::StatusOr<std::string> PrintedBy(std::uint64_t job, std::uint64_t task) const;
  void Stop() { writing_.Stop(); }

 private:
  std::string PathOf(std::uint64_t job) const;
  void WriteNow(std::uint64_t job, const core::TaskRows& rows);
  absl::Status Append(std::uint64_t job, std::span<const journal::TaskEnd> tasks);

  journal::Spool& spool_;
  const std::function<void(core::LogLevel, const std::string&)> log_;
  Mutex mutex_;  // held while a file is written
  std::map<std::uint64_t, journal::TaskLog> logs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::uint64_t> complained_ ABSL_GUARDED_BY(mutex_);
  FileThread writing_;
};

}  // namespace hotplate::server
