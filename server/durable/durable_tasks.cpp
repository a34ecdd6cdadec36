#include "server/durable/durable_tasks.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/durable/job_messages.h"
#include "server/workers/printing_work.h"

namespace hotplate::server {
namespace {

// So much is written at once.
constexpr std::size_t kBatchBytes = std::size_t{4} << 20;

journal::TaskEnd TaskEndOf(const core::TaskRow& row, const core::TaskRows& rows) {
  journal::TaskEnd end{.row = row.row,
                       .task = row.task,
                       .state = static_cast<int>(row.state),
                       .code = static_cast<int>(row.error.code()),
                       .error = std::string(row.error.message())};
  if (const auto* const program = dynamic_cast<const PrintingWork*>(row.work.get())) {
    end.data = PrintedAsMessage(*program->streams());
  }
  if (row.state != core::JobState::kCompleted) return end;
  for (const core::TaskRows::Output& output : rows.outputs) {
    end.data.append(reinterpret_cast<const char*>(output.buffer->data()) + row.row * output.row_bytes,
                    output.row_bytes);
  }
  return end;
}

}  // namespace

std::string DurableTasks::PathOf(std::uint64_t job) const {
  return absl::StrCat(spool_.root(), "/jobs/", job, "/tasks.log");
}

void DurableTasks::Started(std::uint64_t job) {
  // Without the mark the next daemon counts one run less.
  writing_.Post(0, [this, job] { Append(job, {}).IgnoreError(); }).IgnoreError();
}

void DurableTasks::Write(std::uint64_t job, core::TaskRows rows) {
  std::uint64_t bytes = rows.rows.size() * sizeof(core::TaskRow);
  for (const core::TaskRows::Output& output : rows.outputs) bytes += rows.rows.size() * output.row_bytes;
  const auto shared = std::make_shared<const core::TaskRows>(std::move(rows));
  const auto write = [this, job, shared] { WriteNow(job, *shared); };
  if (!writing_.Post(bytes, write).ok()) write();
}

void DurableTasks::WriteNow(std::uint64_t job, const core::TaskRows& rows) {
  std::vector<journal::TaskEnd> batch;
  std::size_t bytes = 0;
  absl::Status written;
  for (std::size_t i = 0; i < rows.rows.size() && written.ok(); ++i) {
    batch.push_back(TaskEndOf(rows.rows[i], rows));
    bytes += batch.back().data.size();
    if (bytes < kBatchBytes && i + 1 < rows.rows.size()) continue;
    written = Append(job, batch);
    batch.clear();
    bytes = 0;
  }
  if (written.ok()) return;
  MutexLock lock(mutex_);
  if (!complained_.insert(job).second) return;
  log_(
      core::LogLevel::kWarning,
      absl::StrCat("tasks of job ", job, " that have ended are not written down; should this daemon die, the next one ",
                   "would run them again: ", written.message()));
}

absl::Status DurableTasks::Append(std::uint64_t job, std::span<const journal::TaskEnd> tasks) {
  MutexLock lock(mutex_);
  if (ended_early_.contains(job)) return absl::OkStatus();
  auto log = logs_.find(job);
  if (log == logs_.end()) {
    if (absl::Status made = spool_.MakeFolder(job); !made.ok()) return made;
    const auto read = bytes_read_.find(job);
    absl::StatusOr<journal::TaskLog> opened =
        journal::TaskLog::Open(PathOf(job), read == bytes_read_.end() ? std::nullopt : std::optional(read->second));
    if (!opened.ok()) return opened.status();
    if (absl::Status synced = spool_.SyncFolder(job); !synced.ok()) return synced;
    log = logs_.emplace(job, *std::move(opened)).first;
    bytes_read_.erase(job);
  }
  return log->second.Append(tasks);
}

absl::StatusOr<std::optional<std::uint64_t>> DurableTasks::Restore(std::uint64_t job, const Take& take) {
  bool foreign = false;
  const absl::StatusOr<journal::TaskLogFacts> facts =
      journal::ReadTaskLog(PathOf(job), [&](const journal::TaskEnd& end) {
        const core::TaskRow row{end.row, end.task, static_cast<core::JobState>(end.state),
                                absl::Status(static_cast<absl::StatusCode>(end.code), end.error)};
        foreign |= !take(row, std::as_bytes(std::span(end.data)));
      });
  if (absl::IsNotFound(facts.status())) return std::nullopt;
  if (!facts.ok()) return facts.status();
  if (foreign) {
    log_(core::LogLevel::kWarning,
         absl::StrCat(PathOf(job), " has tasks that are none of job ", job, " as it is now: they run again"));
  }
  MutexLock lock(mutex_);
  bytes_read_[job] = facts->bytes;
  return std::optional(facts->marks_since_last_task);
}

void DurableTasks::Ended(std::uint64_t job, bool keep_file) {
  const absl::Status posted = writing_.Post(0, [this, job, keep_file] {
    MutexLock lock(mutex_);
    Forget(job, keep_file);
  });
  if (posted.ok()) return;
  MutexLock lock(mutex_);
  ended_early_.insert(job);
  Forget(job, keep_file);
}

void DurableTasks::Forget(std::uint64_t job, bool keep_file) {
  logs_.erase(job);
  complained_.erase(job);
  bytes_read_.erase(job);
  if (!keep_file) spool_.RemoveFile(job, "tasks.log").IgnoreError();  // it goes with the job's folder
}

absl::StatusOr<std::string> DurableTasks::PrintedBy(std::uint64_t job, std::uint64_t task) const {
  std::optional<std::string> printed;
  const absl::StatusOr<journal::TaskLogFacts> facts = journal::ReadTaskLog(PathOf(job), [&](journal::TaskEnd end) {
    if (end.task == task) printed = std::move(end.data);
  });
  if (facts.ok() && printed) return *std::move(printed);
  return absl::NotFoundError(absl::StrCat("nothing that task ", task, " of job ", job, " has printed is kept"));
}

}  // namespace hotplate::server
