#include <algorithm>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "client/cli/journals/history.h"
#include "server/journal/index.h"
#include "server/journal/index_copy.h"
#include "server/journal/journal.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kJobsAtOnce = 1000;

// The ended jobs of one journal, last end first.
class Cursor {
 public:
  // NOT_FOUND if the journal is gone.
  static absl::StatusOr<Cursor> Open(const journal::Place& place, const journal::JobQuery& query) {
    absl::StatusOr<journal::IndexCopy> index = journal::IndexCopy::Open(place.folder);
    if (!index.ok()) return index.status();
    Cursor cursor(place, query, *std::move(index));
    absl::Status read = cursor.index_.With([&](journal::Index& copy) -> absl::Status {
      const auto daemons = journal::Daemons(copy);
      if (!daemons.ok()) return daemons.status();
      for (const journal::KeptDaemon& daemon : *daemons) cursor.nodes_[daemon.epoch] = daemon.life.node;
      return absl::OkStatus();
    });
    if (read.ok()) read = cursor.Fill();
    if (!read.ok()) return read;
    return cursor;
  }

  bool AtEnd() const { return at_ == page_.size(); }
  journal::JobPlace Position() const { return journal::JobPlace::Of(page_[at_]); }
  PastJob Present();
  absl::Status Advance() {
    const journal::JobPlace left = Position();
    if (++at_ < page_.size() || page_.size() < kJobsAtOnce) return absl::OkStatus();
    query_.before = left;
    return Fill();
  }
  absl::StatusOr<journal::Sums> AttachedSums() {
    journal::Sums sums;
    absl::Status read = index_.With([&](journal::Index& copy) -> absl::Status {
      absl::StatusOr<journal::Sums> since = journal::SumsSince(copy, query_.ended_since);
      if (since.ok()) sums = *std::move(since);
      return since.status();
    });
    if (!read.ok()) return read;
    return sums;
  }
  const journal::Place& place() const { return place_; }

 private:
  Cursor(journal::Place place, journal::JobQuery query, journal::IndexCopy index)
      : place_(std::move(place)), query_(std::move(query)), index_(std::move(index)) {
    query_.limit = kJobsAtOnce;
  }
  absl::Status Fill() {
    page_.clear();
    at_ = 0;
    return index_.With([&](journal::Index& copy) -> absl::Status {
      absl::StatusOr<std::vector<journal::KeptJob>> page = journal::EndedJobs(copy, query_);
      if (page.ok()) page_ = *std::move(page);
      return page.status();
    });
  }

  journal::Place place_;
  journal::JobQuery query_;
  journal::IndexCopy index_;
  std::map<std::uint64_t, std::string> nodes_;  // of daemons, by epoch
  std::vector<journal::KeptJob> page_;
  std::size_t at_ = 0;
};

PastJob Cursor::Present() {
  journal::KeptJob& kept = page_[at_];
  PastJob job;
  job.number = kept.accepted.number;
  job.kernel = std::move(kept.accepted.kernel);
  job.label = std::move(kept.accepted.label);
  job.device = std::move(kept.device);
  job.daemon = place_.name;
  if (const auto node = nodes_.find(kept.epoch); node != nodes_.end()) job.node = node->second;
  job.state = kept.state;
  job.submitted = kept.accepted.time;
  job.started = kept.start_time;
  job.ended = kept.end_time.value_or(kept.accepted.time);
  job.use = kept.use;
  return job;
}

std::string DayOf(journal::WallTime time) { return DateText(time).substr(0, 10); }

// Adds up under the keys of one kind.
class Adder {
 public:
  explicit Adder(SumBy by) : by_(by) {}

  void Add(const std::string& kernel, const std::string& label, journal::WallTime ended, std::uint64_t jobs,
           nanoseconds device_time, std::optional<double> energy) {
    PastSum& sum = sums_[by_ == SumBy::kDay ? DayOf(ended) : by_ == SumBy::kLabel ? label : kernel];
    sum.jobs += jobs;
    sum.device_time += device_time;
    if (energy) sum.energy_joules = sum.energy_joules.value_or(0) + *energy;
  }

  std::vector<PastSum> Take() {
    std::vector<PastSum> sums;
    for (auto& [of, sum] : sums_) {
      sum.of = of;
      sums.push_back(std::move(sum));
    }
    std::stable_sort(sums.begin(), sums.end(), [this](const PastSum& a, const PastSum& b) {
      return by_ == SumBy::kDay ? a.of > b.of : a.device_time > b.device_time;
    });
    return sums;
  }

 private:
  const SumBy by_;
  std::map<std::string, PastSum> sums_;
};

bool Meets(const journal::SumKey& key, const journal::JobQuery& query) {
  return (query.kernel.empty() || key.kernel == query.kernel) && (query.label.empty() || key.label == query.label) &&
         (query.states.empty() || std::find(query.states.begin(), query.states.end(), key.state) != query.states.end());
}

}  // namespace

void EachPastJob(const std::vector<journal::Place>& places, const journal::JobQuery& query, Unread& unread,
                 absl::FunctionRef<bool(PastJob&& job)> take) {
  std::vector<Cursor> cursors;
  for (const journal::Place& place : places) {
    absl::StatusOr<Cursor> cursor = Cursor::Open(place, query);
    unread.Add(place, cursor.status());
    if (cursor.ok() && !cursor->AtEnd()) cursors.push_back(*std::move(cursor));
  }
  while (!cursors.empty()) {
    const auto newest = std::max_element(cursors.begin(), cursors.end(),
                                         [](const Cursor& a, const Cursor& b) { return a.Position() < b.Position(); });
    if (!take(newest->Present())) return;
    const absl::Status read = newest->Advance();
    unread.Add(newest->place(), read);
    if (!read.ok() || newest->AtEnd()) cursors.erase(newest);
  }
}

std::vector<PastSum> ReadPastSums(const std::vector<journal::Place>& places, const journal::JobQuery& query, SumBy by,
                                  Unread& unread) {
  Adder adder(by);
  for (const journal::Place& place : places) {
    absl::StatusOr<Cursor> jobs = Cursor::Open(place, query);
    if (!jobs.ok()) {
      unread.Add(place, jobs.status());
      continue;
    }
    const auto sums = jobs->AttachedSums();
    unread.Add(place, sums.status());
    for (const auto& [key, sum] : sums.value_or(journal::Sums())) {
      if (!Meets(key, query)) continue;
      const journal::WallTime ended{std::chrono::minutes(key.minute)};
      adder.Add(key.kernel, key.label, ended, sum.jobs, sum.device_time,
                sum.energy_joules > 0 ? std::optional(sum.energy_joules) : std::nullopt);
    }
    absl::Status read;
    for (; read.ok() && !jobs->AtEnd(); read = jobs->Advance()) {
      const PastJob job = jobs->Present();
      adder.Add(job.kernel, job.label, job.ended, 1, job.use.device_time, job.use.energy_joules);
    }
    unread.Add(place, read);
  }
  return adder.Take();
}

}  // namespace hotplate::cli
