// hotplate partitions: how long jobs of each size have waited.
#include <algorithm>
#include <chrono>
#include <ctime>

#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/jobs/progress.h"
#include "client/cli/partitions/accounting.h"
#include "client/cli/partitions/cache.h"
#include "client/cli/partitions/since.h"
#include "client/cli/partitions/slices.h"
#include "client/cli/partitions/wait_text.h"
#include "client/cli/partitions/waits.h"
#include "client/cli/terminal/format.h"
#include "client/lib/endpoint.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

// "Sat 2026-11-14 20:46", local.
std::string LocalText(EpochSeconds time) { return LocalTime(time, "%a %Y-%m-%d %H:%M"); }

// Progress of reading, on a terminal: one line that disappears at the end.
class ReadingLine {
 public:
  explicit ReadingLine(const Invocation& call)
      : console_(call.console), shown_(call.console.err_terminal && call.output.talkative()) {}
  ~ReadingLine() {
    if (drawn_) console_.err << "\r\033[K" << std::flush;
  }
  ReadingLine(const ReadingLine&) = delete;
  ReadingLine& operator=(const ReadingLine&) = delete;

  void Step(const SliceStep& step) {
    step_ = step;
    Rows(0);
  }
  void Rows(std::size_t rows) {
    using std::chrono::steady_clock;
    const auto now = steady_clock::now();
    if (!shown_ || (rows > 0 && now - drawn_at_ < std::chrono::milliseconds(100))) return;
    drawn_at_ = now;
    drawn_ = true;
    console_.err << "\r\033[Kreading sacct  " << Bar(step_.done, 20) << " " << Percent(step_.done) << "   from "
                 << LocalText(step_.from) << (rows > 0 ? "   " + std::to_string(rows) + " rows" : "") << std::flush;
  }

 private:
  Console& console_;
  const bool shown_;
  SliceStep step_;
  std::chrono::steady_clock::time_point drawn_at_;
  bool drawn_ = false;
};

struct Wanted {
  Bins bins;
  EpochSeconds since = 0, now = 0;
  std::vector<std::string> partitions = {};  // empty: all
  SlurmCommands::Options accounting = {.timeout = std::chrono::seconds(30)};
};

absl::StatusOr<Wanted> Read(const Arguments& arguments) {
  const std::string by = arguments.Text("by").value_or("cpu-hours");
  const auto measure = ParseMeasure(by);
  if (!measure) return UsageError("--by: " + Quoted(by) + " is none of cpu-hours, memory, gpus");
  std::optional<std::vector<double>> edges = DefaultEdges(*measure);
  if (const auto text = arguments.Text("edges"); text && !(edges = ParseEdges(*text)))
    return UsageError("--edges: " + Quoted(*text) + " is not a list of ascending numbers above 0 such as 4,16,64 (" +
                      std::to_string(kMostEdges) + " at most)");
  Wanted wanted{.bins = Bins(*measure, *std::move(edges)), .now = std::time(nullptr)};
  wanted.since = wanted.now - kDefaultSince;
  if (const auto text = arguments.Text("since")) {
    const auto since = ParseSince(*text, wanted.now);
    if (!since.ok()) return since.status();
    wanted.since = *since;
  }
  for (const std::string& list : arguments.All("partition"))
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      if (end > begin) wanted.partitions.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  if (const auto cluster = arguments.Text("cluster")) {
    if (!client::IsServerName(*cluster)) return UsageError("--cluster: " + Quoted(*cluster) + " is not a cluster name");
    wanted.accounting.cluster = *cluster;
  }
  const auto timeout = arguments.Duration("timeout");
  if (!timeout.ok()) return timeout.status();
  if (*timeout && **timeout < std::chrono::seconds(1)) return UsageError("--timeout: at least 1s");
  if (*timeout) wanted.accounting.timeout = std::chrono::ceil<std::chrono::milliseconds>(**timeout);
  return wanted;
}

// The wanted partitions, in that order; else all.
absl::StatusOr<std::vector<PartitionLimit>> Choose(const std::vector<std::string>& wanted,
                                                   const std::vector<PartitionLimit>& there) {
  if (wanted.empty()) return there;
  std::vector<PartitionLimit> chosen;
  for (const std::string& name : wanted) {
    const auto found = std::find_if(there.begin(), there.end(), [&](const auto& one) { return one.first == name; });
    if (found != there.end()) {
      chosen.push_back(*found);
      continue;
    }
    std::vector<std::string> names;
    for (const PartitionLimit& one : there) names.push_back(one.first);
    const std::vector<std::string> nearest = NearestNames(name, names);
    return absl::NotFoundError("no partition " + Quoted(name) +
                               (nearest.empty() ? "" : ". Nearest: " + Join(nearest, ", ")) +
                               ". There are: " + (names.empty() ? "none" : Join(names, ", ")));
  }
  return chosen;
}

// Not even the shortest stretch came through.
absl::Status TooMuch(const absl::Status& status, std::chrono::milliseconds timeout) {
  if (!absl::IsDeadlineExceeded(status) && !absl::IsResourceExhausted(status)) return status;
  return WithNextStep(
      WithExitCode(absl::UnavailableError(std::string(status.message()) + ", though it was asked for " +
                                          DurationText(std::chrono::seconds(kShortestSlice)) + " only"),
                   kExitScheduler),
      "the data read so far are kept: try again when the database is less busy, or with more time: --timeout " +
          std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout).count() * 10) + "s");
}

std::string Jobs(std::size_t count) { return std::to_string(count) + (count == 1 ? " job" : " jobs"); }

std::string Notes(const WaitQuestion& question, const WaitTable& table, const std::vector<PartitionWaits>& waits,
                  const SliceCache& cache) {
  std::string notes = "median wait (jobs), below it the 90th percentile; since " + LocalText(question.since) +
                      ". A wait is Start − Eligible.\n";
  std::size_t never = 0, unknown = 0;
  for (const PartitionWaits& row : waits) {
    never += row.never_started;
    unknown += row.unknown_size;
  }
  const auto note = [&notes](const std::string& text) { notes += text + "\n"; };
  if (never > 0) note("not counted: " + Jobs(never) + " that ended without having started");
  if (unknown > 0)
    note("in no column: " + Jobs(unknown) + " of unknown " +
         (table.bins().measure() == Measure::kMemory ? "memory" : "time limit"));
  if (table.unreadable() > 0) note(std::to_string(table.unreadable()) + " lines of sacct's output could not be read");
  if (question.private_jobs)
    note("this cluster keeps users' jobs private (PrivateData): the table may show only yours");
  if (!cache.unusable().empty()) note("nothing was kept for the next call: " + cache.unusable());
  return notes;
}

absl::Status Partitions(const Invocation& call) {
  auto wanted = Read(call.arguments);
  if (!wanted.ok()) return wanted.status();
  std::stop_source stop;
  InterruptWatch interrupt([&stop] { stop.request_stop(); });
  interrupt.Begin();
  wanted->accounting.stop = stop.get_token();
  Accounting accounting([&call](const ProgramCall& program) { return RunProgram(program, call.environment); },
                        wanted->accounting);
  const auto ended = [&interrupt](const absl::Status& status) {
    return interrupt.interrupted() ? Interrupted("the data read so far are kept for the next call") : status;
  };

  const auto there = accounting.Partitions();
  if (!there.ok()) return ended(there.status());
  auto chosen = Choose(wanted->partitions, *there);
  if (!chosen.ok()) return chosen.status();
  const ClusterFacts facts = accounting.Facts();
  WaitTable table(wanted->bins, *std::move(chosen), wanted->since);
  SliceCache cache(CacheFolder(call.settings, call.environment), facts.name, wanted->now);
  absl::Status status;
  {
    ReadingLine line(call);
    status = ReadSlices({.since = wanted->since,
                         .now = wanted->now,
                         .read =
                             [&](EpochSeconds from, EpochSeconds to) {
                               return accounting.Read(from, to, [&line](std::size_t rows) { line.Rows(rows); });
                             },
                         .take =
                             [&table](const SliceJobs& jobs, bool last) {
                               table.Add(jobs);
                               if (last) table.SetWaiting(jobs.waiting);
                             },
                         .on_step = [&line](const SliceStep& step) { line.Step(step); }},
                        cache);
  }
  if (!status.ok()) return ended(TooMuch(status, wanted->accounting.timeout));

  const std::vector<PartitionWaits> waits = table.Waits();
  const WaitQuestion question{facts.name, wanted->since, wanted->now, facts.private_jobs};
  std::string medians;
  for (const PartitionWaits& row : waits)
    medians += row.partition + "\t" + (row.all.jobs > 0 ? Number(row.all.median) : "-") + "\n";
  call.output.Answer(
      [&] {
        return WaitTableText(table.bins(), waits, call.console.out_colour) + Notes(question, table, waits, cache);
      },
      [&] { return WaitJson(question, table, waits); }, medians);
  return absl::OkStatus();
}

}  // namespace

Command PartitionsCommand() {
  return {
      .name = "partitions",
      .group = Group::kDaemon,
      .summary = "show how long jobs of each size have waited in each partition",
      .details =
          "Shows the median wait, the number of jobs, and below it the 90th percentile, from Slurm's accounting. The\n"
          "wait is Start - Eligible, so time spent on dependencies or --begin does not count. A requeued job counts\n"
          "anew. sacct is asked for one day at a time, or less if it is slow; past days are cached in\n"
          "$XDG_CACHE_HOME/hotplate, else in $HOTPLATE_DIR/cache. Memory (in Slurm's GB, 2^30 bytes) and GPUs are\n"
          "totals over all nodes of a job. -q prints the median of all jobs in seconds.",
      .example = "hotplate partitions -p gpu --by gpus --since 14d",
      .options =
          {{.names = "-p,--partition", .value = "NAME,…", .help = "show only these partitions", .repeatable = true},
           {.names = "--by",
            .value = "SIZE",
            .help = "cpu-hours (requested cores × time limit, the default), memory or gpus",
            .offer = Offer::kChoices,
            .choices = {"cpu-hours", "memory", "gpus"}},
           {.names = "--edges",
            .value = "N,…",
            .help = "the columns' upper bounds (default 4,16,64; for GPUs 1,2,4,8)"},
           {.names = "--since",
            .value = "WHEN",
            .help = "how far back: 36h, 7d, 2w, or a date like 2026-11-01 (default 7d)"},
           {.names = "-M,--cluster", .value = "NAME", .help = "another cluster of the site"},
           {.names = "--timeout",
            .value = "TIME",
            .help = "how long one sacct call may take before a shorter period is tried (default 30s)"}},
      .run = Partitions};
}

}  // namespace hotplate::cli
