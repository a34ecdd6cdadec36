#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "client/cli/ending.h"
#include "client/cli/journals/history.h"
#include "server/journal/index.h"
#include "server/journal/journal.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kJobsAtOnce = 1000;

// The ended jobs of one journal, newest first, until `take` is false.
absl::Status EachEnded(journal::Index& index, journal::JobQuery query,
                       absl::FunctionRef<bool(journal::KeptJob& job)> take) {
  query.limit = kJobsAtOnce;
  while (true) {
    absl::StatusOr<std::vector<journal::KeptJob>> page = journal::EndedJobs(index, query);
    if (!page.ok()) return page.status();
    for (journal::KeptJob& job : *page)
      if (!take(job)) return absl::OkStatus();
    if (page->size() < query.limit) return absl::OkStatus();
    query.before = page->back().accepted.number;
  }
}

// Reads each journal; the first error of one goes to `unread`.
void EachJournal(const std::vector<journal::Place>& places, absl::Status& unread,
                 absl::FunctionRef<absl::Status(const journal::Place& place, journal::Index& index)> read) {
  for (const journal::Place& place : places) {
    const absl::Status done =
        journal::ReadCopy(place.folder, [&](journal::Index& index) { return read(place, index); });
    if (done.ok() || absl::IsNotFound(done) || !unread.ok()) continue;
    unread = WithExitCode(Worded(done, "the journal of " + place.name + " in " + place.folder +
                                           " cannot be read: " + std::string(done.message())),
                          kExitFailed);
  }
}

bool IsNewer(const PastJob& a, const PastJob& b) { return a.number > b.number; }

PastJob FromKept(journal::KeptJob& kept, const journal::Place& place,
                 const std::map<std::uint64_t, std::string>& nodes) {
  PastJob job;
  job.number = kept.accepted.number;
  job.kernel = std::move(kept.accepted.kernel);
  job.label = std::move(kept.accepted.label);
  job.device = std::move(kept.device);
  job.daemon = place.name;
  if (const auto node = nodes.find(kept.epoch); node != nodes.end()) job.node = node->second;
  job.state = kept.state;
  job.submitted = kept.accepted.time;
  job.started = kept.start_time;
  job.ended = kept.end_time.value_or(kept.accepted.time);
  job.use = kept.use;
  return job;
}

absl::StatusOr<std::map<std::uint64_t, std::string>> Nodes(journal::Index& index) {
  const auto daemons = journal::Daemons(index);
  if (!daemons.ok()) return daemons.status();
  std::map<std::uint64_t, std::string> nodes;
  for (const journal::KeptDaemon& daemon : *daemons) nodes[daemon.epoch] = daemon.life.node;
  return nodes;
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

PastJobs ReadPastJobs(const std::vector<journal::Place>& places, const journal::JobQuery& query) {
  PastJobs past;
  std::vector<PastJob>& newest = past.jobs;  // a heap with the oldest of them in front
  EachJournal(places, past.unread, [&](const journal::Place& place, journal::Index& index) -> absl::Status {
    const auto nodes = Nodes(index);
    if (!nodes.ok()) return nodes.status();
    return EachEnded(index, query, [&](journal::KeptJob& kept) {
      if (newest.size() == query.limit) {
        past.more = true;
        if (kept.accepted.number < newest.front().number) return false;
        std::pop_heap(newest.begin(), newest.end(), IsNewer);
        newest.pop_back();
      }
      newest.push_back(FromKept(kept, place, *nodes));
      std::push_heap(newest.begin(), newest.end(), IsNewer);
      return true;
    });
  });
  std::sort_heap(newest.begin(), newest.end(), IsNewer);
  return past;
}

PastSums ReadPastSums(const std::vector<journal::Place>& places, const journal::JobQuery& query, SumBy by) {
  PastSums past;
  Adder adder(by);
  EachJournal(places, past.unread, [&](const journal::Place&, journal::Index& index) -> absl::Status {
    const auto sums = journal::SumsSince(index, query.ended_since);
    if (!sums.ok()) return sums.status();
    for (const auto& [key, sum] : *sums) {
      if (!Meets(key, query)) continue;
      const journal::WallTime ended{std::chrono::minutes(key.minute)};
      adder.Add(key.kernel, key.label, ended, sum.jobs, sum.device_time,
                sum.energy_joules > 0 ? std::optional(sum.energy_joules) : std::nullopt);
    }
    return EachEnded(index, query, [&](const journal::KeptJob& kept) {
      adder.Add(kept.accepted.kernel, kept.accepted.label, kept.end_time.value_or(kept.accepted.time), 1,
                kept.use.device_time, kept.use.energy_joules);
      return true;
    });
  });
  past.sums = adder.Take();
  return past;
}

}  // namespace hotplate::cli
