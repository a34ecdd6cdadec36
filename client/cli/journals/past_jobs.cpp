#include "client/cli/journals/past_jobs.h"

#include <algorithm>
#include <utility>

#include "server/journal/fence.h"
#include "server/journal/index.h"
#include "server/journal/journal.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kJobsAtOnce = 1000;

// When a daemon without an end in the journal last was known to live.
std::optional<journal::WallTime> LastSeen(const journal::Place& place, const journal::KeptDaemon& daemon) {
  if (daemon.seen) return daemon.seen;
  const auto owner = journal::Fence::Newest(place.folder, journal::Disk::Real());
  if (!owner.ok() || owner->epoch != daemon.epoch || owner->seen == journal::WallTime()) return std::nullopt;
  return owner->seen;
}

}  // namespace

absl::StatusOr<JournalCursor> JournalCursor::Open(const journal::Place& place, const journal::JobQuery& query) {
  absl::StatusOr<journal::IndexCopy> index = journal::IndexCopy::Open(place.folder);
  if (!index.ok()) return index.status();
  JournalCursor cursor(place, query, *std::move(index));
  cursor.query_.limit = kJobsAtOnce;
  absl::Status read = cursor.index_.With([&](journal::Index& copy) -> absl::Status {
    auto daemons = journal::Daemons(copy);
    if (daemons.ok()) cursor.daemons_ = *std::move(daemons);
    return daemons.status();
  });
  if (read.ok()) read = cursor.Fill();
  if (!read.ok()) return read;
  for (journal::KeptDaemon& daemon : cursor.daemons_)
    if (!daemon.end) daemon.seen = LastSeen(place, daemon);
  return cursor;
}

absl::Status JournalCursor::Fill() {
  page_.clear();
  at_ = 0;
  return index_.With([&](journal::Index& copy) -> absl::Status {
    absl::StatusOr<std::vector<journal::KeptJob>> page = journal::EndedJobs(copy, query_);
    if (page.ok()) page_ = *std::move(page);
    return page.status();
  });
}

absl::Status JournalCursor::Advance() {
  const journal::JobPlace left = Position();
  if (++at_ < page_.size() || page_.size() < kJobsAtOnce) return absl::OkStatus();
  query_.before = left;
  return Fill();
}

PastJob JournalCursor::Present() {
  journal::KeptJob& kept = page_[at_];
  PastJob job;
  job.number = kept.accepted.number;
  job.kernel = std::move(kept.accepted.kernel);
  job.label = std::move(kept.accepted.label);
  job.device = std::move(kept.device);
  job.daemon = place_.name;
  const auto daemon = std::find_if(daemons_.begin(), daemons_.end(),
                                   [&](const journal::KeptDaemon& one) { return one.epoch == kept.epoch; });
  if (daemon != daemons_.end()) job.node = daemon->life.node;
  job.state = kept.state;
  job.submitted = kept.accepted.time;
  job.started = kept.start_time;
  job.ended = kept.end_time.value_or(kept.accepted.time);
  job.use = kept.use;
  job.end = std::move(kept.end);
  return job;
}

absl::StatusOr<std::vector<RunningJob>> JournalCursor::Running() {
  std::vector<RunningJob> running;
  absl::Status read = index_.With([&](journal::Index& copy) {
    return journal::Guarded(copy.database(), [&]() -> absl::Status {
      SQLite::Statement query(copy.database(), "SELECT kernel, label, device, start_ns FROM jobs WHERE state=2");
      while (query.executeStep()) {
        running.push_back({query.getColumn(0).getString(), query.getColumn(1).getString(),
                           query.getColumn(2).getString(), journal::FromNs(query.getColumn(3).getInt64())});
      }
      return absl::OkStatus();
    });
  });
  if (!read.ok()) return read;
  return running;
}

absl::StatusOr<journal::Sums> JournalCursor::AttachedSums() {
  journal::Sums sums;
  absl::Status read = index_.With([&](journal::Index& copy) -> absl::Status {
    absl::StatusOr<journal::Sums> since = journal::SumsSince(copy, query_.ended_since);
    if (since.ok()) sums = *std::move(since);
    return since.status();
  });
  if (!read.ok()) return read;
  return sums;
}

void EachPastJob(const std::vector<journal::Place>& places, const journal::JobQuery& query, Unread& unread,
                 absl::FunctionRef<bool(PastJob&& job)> take) {
  std::vector<JournalCursor> cursors;
  for (const journal::Place& place : places) {
    absl::StatusOr<JournalCursor> cursor = JournalCursor::Open(place, query);
    unread.Add(place, cursor.status());
    if (cursor.ok() && !cursor->AtEnd()) cursors.push_back(*std::move(cursor));
  }
  while (!cursors.empty()) {
    const auto newest = std::max_element(cursors.begin(), cursors.end(),
                                         [](const auto& a, const auto& b) { return a.Position() < b.Position(); });
    if (!take(newest->Present())) return;
    const absl::Status read = newest->Advance();
    unread.Add(newest->place(), read);
    if (!read.ok() || newest->AtEnd()) cursors.erase(newest);
  }
}

}  // namespace hotplate::cli
