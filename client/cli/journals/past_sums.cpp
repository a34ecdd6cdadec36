#include "client/cli/journals/past_sums.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "client/cli/journals/past_jobs.h"

namespace hotplate::cli {
namespace {

using journal::JobUse;
using journal::WallTime;

constexpr std::pair<SumBy, const char*> kNames[] = {
    {SumBy::kDay, "day"}, {SumBy::kLabel, "label"}, {SumBy::kKernel, "kernel"}, {SumBy::kDaemon, "daemon"}};

std::string DayOf(WallTime time) { return DateText(time).substr(0, 10); }

WallTime NextMidnight(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm day{};
  localtime_r(&seconds, &day);
  ++day.tm_mday;
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  day.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(std::mktime(&day));
}

// Cuts a span at each local midnight.
void EachDay(WallTime from, WallTime to, absl::FunctionRef<void(const std::string& day, nanoseconds span)> take) {
  while (from < to) {
    const WallTime end = std::min(to, std::max(NextMidnight(from), from + std::chrono::seconds(1)));
    take(DayOf(from), end - from);
    from = end;
  }
}

void AddEnergy(JobUse& sum, const std::optional<double>& joules) {
  if (joules) sum.energy_joules = sum.energy_joules.value_or(0) + *joules;
}

class Adder {
 public:
  // `idle`: the sums tell how long GPUs were idle. `since`: what was before does not count.
  Adder(const std::vector<SumBy>& by, bool idle, const std::optional<WallTime>& since)
      : by_(by),
        days_(std::find(by.begin(), by.end(), SumBy::kDay) != by.end()),
        idle_(idle),
        since_(since.value_or(WallTime::min())) {}

  struct Names {
    std::string label = {}, kernel = {}, daemon = {};
  };

  void AddJob(const Names& names, WallTime ended, const JobUse& use) {
    AddTime(names, ended - std::chrono::duration_cast<WallTime::duration>(use.device_time), ended,
            use.gpu_time > nanoseconds{});
    AddJobs(names, ended, 1, {.energy_joules = use.energy_joules});
  }

  // On a device, by a job that has ended or not.
  void AddTime(const Names& names, WallTime from, WallTime to, bool gpu) {
    EachDay(std::max(from, since_), to, [&](const std::string& day, nanoseconds span) {
      JobUse& sum = SumOf(names, days_ ? day : "").use;
      sum.device_time += span;
      if (gpu) sum.gpu_time += span;
    });
  }

  void AddJobs(const Names& names, WallTime ended, std::uint64_t jobs, const JobUse& use) {
    PastSum& sum = SumOf(names, days_ ? DayOf(ended) : "");
    sum.jobs += jobs;
    sum.use.device_time += use.device_time;
    sum.use.gpu_time += use.gpu_time;
    AddEnergy(sum.use, use.energy_joules);
  }

  // So long the daemon had its GPUs.
  void AddLife(const std::string& daemon, WallTime from, WallTime to, int gpus) {
    if (!idle_ || gpus == 0) return;
    EachDay(std::max(from, since_), to, [&](const std::string& day, nanoseconds span) {
      PastSum& sum = SumOf({.daemon = daemon}, days_ ? day : "");
      sum.gpu_idle = *sum.gpu_idle + span * gpus;
    });
  }

  std::vector<PastSum> Take() {
    std::vector<PastSum> sums;
    for (auto& [of, sum] : sums_) {
      // Jobs that share a GPU count each.
      if (sum.gpu_idle) sum.gpu_idle = std::max(nanoseconds{}, *sum.gpu_idle - sum.use.gpu_time);
      sums.push_back(std::move(sum));
    }
    const auto day = std::find(by_.begin(), by_.end(), SumBy::kDay) - by_.begin();
    std::stable_sort(sums.begin(), sums.end(), [&](const PastSum& a, const PastSum& b) {
      if (days_ && a.of[day] != b.of[day]) return a.of[day] > b.of[day];
      return a.use.device_time > b.use.device_time;
    });
    return sums;
  }

 private:
  PastSum& SumOf(const Names& names, const std::string& day) {
    std::vector<std::string> of;
    for (const SumBy by : by_) {
      of.push_back(by == SumBy::kDay      ? day
                   : by == SumBy::kLabel  ? names.label
                   : by == SumBy::kKernel ? names.kernel
                                          : names.daemon);
    }
    PastSum& sum = sums_[of];
    if (sum.of.empty()) sum.of = std::move(of);
    if (idle_ && !sum.gpu_idle) sum.gpu_idle = nanoseconds{};
    return sum;
  }

  const std::vector<SumBy>& by_;
  const bool days_, idle_;
  const WallTime since_;
  std::map<std::vector<std::string>, PastSum> sums_;
};

bool Meets(const journal::SumKey& key, const journal::JobQuery& query) {
  return (query.kernel.empty() || key.kernel == query.kernel) && (query.label.empty() || key.label == query.label) &&
         (query.states.empty() || std::find(query.states.begin(), query.states.end(), key.state) != query.states.end());
}

// Idle time has no kernel, label or state.
bool TellsIdle(const std::vector<SumBy>& by, const journal::JobQuery& query) {
  return query.kernel.empty() && query.label.empty() && query.states.empty() &&
         std::all_of(by.begin(), by.end(), [](SumBy one) { return one == SumBy::kDay || one == SumBy::kDaemon; });
}

absl::Status AddJournal(JournalCursor& jobs, const journal::JobQuery& query, Adder& adder) {
  const std::string& name = jobs.place().name;
  WallTime last = {};
  for (const journal::KeptDaemon& daemon : jobs.daemons()) {
    last = daemon.end ? *daemon.end : daemon.seen.value_or(daemon.start);
    adder.AddLife(name, daemon.start, last, daemon.gpus);
  }
  const auto running = jobs.Running();
  if (!running.ok()) return running.status();
  for (const RunningJob& job : *running) {
    const bool meets = query.states.empty() && (query.kernel.empty() || job.kernel == query.kernel) &&
                       (query.label.empty() || job.label == query.label);
    if (meets) adder.AddTime({job.label, job.kernel, name}, job.started, last, job.device.starts_with("gpu"));
  }
  const auto sums = jobs.AttachedSums();
  if (!sums.ok()) return sums.status();
  for (const auto& [key, sum] : *sums) {
    if (!Meets(key, query)) continue;
    const auto energy = sum.energy_joules > 0 ? std::optional(sum.energy_joules) : std::nullopt;
    adder.AddJobs({key.label, key.kernel, name}, WallTime(std::chrono::minutes(key.minute)), sum.jobs,
                  {sum.device_time, sum.gpu_time, energy});
  }
  absl::Status read;
  for (; read.ok() && !jobs.AtEnd(); read = jobs.Advance()) {
    const PastJob job = jobs.Present();
    adder.AddJob({job.label, job.kernel, name}, job.ended, job.use);
  }
  return read;
}

}  // namespace

std::string NameOf(SumBy by) {
  return std::find_if(std::begin(kNames), std::end(kNames), [by](const auto& one) { return one.first == by; })->second;
}

std::optional<SumBy> ParseSumBy(const std::string& name) {
  for (const auto& [by, known] : kNames)
    if (name == known) return by;
  return std::nullopt;
}

std::vector<PastSum> ReadPastSums(const std::vector<journal::Place>& places, const journal::JobQuery& query,
                                  const std::vector<SumBy>& by, Unread& unread) {
  Adder adder(by, TellsIdle(by, query), query.ended_since);
  for (const journal::Place& place : places) {
    absl::StatusOr<JournalCursor> jobs = JournalCursor::Open(place, query);
    unread.Add(place, jobs.ok() ? AddJournal(*jobs, query, adder) : jobs.status());
  }
  return adder.Take();
}

PastSum TotalOf(const std::vector<PastSum>& sums) {
  PastSum total;
  for (const PastSum& sum : sums) {
    total.jobs += sum.jobs;
    total.use.device_time += sum.use.device_time;
    total.use.gpu_time += sum.use.gpu_time;
    AddEnergy(total.use, sum.use.energy_joules);
    if (sum.gpu_idle) total.gpu_idle = total.gpu_idle.value_or(nanoseconds{}) + *sum.gpu_idle;
  }
  return total;
}

}  // namespace hotplate::cli
