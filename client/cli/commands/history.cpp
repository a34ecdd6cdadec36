// hotplate history: what has run, on all daemons.
#include "client/cli/journals/history.h"

#include <algorithm>
#include <ctime>

#include "client/cli/commands.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/journals/start_forecasts.h"
#include "client/cli/partitions/since.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr std::int64_t kMostRows = 1'000'000;
// The rows of a table without --limit. Programs get all.
constexpr std::size_t kTableRows = 1000;

const std::vector<std::string>& EndStateNames() {
  static const std::vector<std::string> names = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"};
  return names;
}

const std::vector<std::string>& SumNames() {
  static const std::vector<std::string> names = {"day", "label", "kernel", "daemon"};
  return names;
}

struct Question {
  journal::JobQuery query;
  std::vector<SumBy> by;  // none: the jobs themselves
  std::optional<std::size_t> limit;
};

absl::StatusOr<Question> QuestionOf(const Arguments& arguments) {
  Question question;
  journal::JobQuery& query = question.query;
  if (const auto text = arguments.Text("since")) {
    const auto since = ParseSince(*text, std::time(nullptr));
    if (!since.ok()) return since.status();
    query.ended_since = journal::WallTime(std::chrono::seconds(*since));
  }
  query.kernel = arguments.Text("kernel").value_or("");
  query.label = arguments.Text("label").value_or("");
  const auto states = ParseStates(arguments.All("state"), EndStateNames());
  if (!states.ok()) return states.status();
  for (const v1::JobState state : *states) query.states.push_back(static_cast<journal::JobState>(state));
  const auto limit = arguments.Integer("limit", 1, kMostRows);
  if (!limit.ok()) return limit.status();
  if (*limit) question.limit = static_cast<std::size_t>(**limit);
  for (const std::string& words : arguments.All("by")) {
    for (const std::string& word : SplitAt(words, ',')) {
      const std::optional<SumBy> by = ParseSumBy(word);
      if (!by) return UsageError("--by: " + Quoted(word) + " is none of " + Join(SumNames(), ", "));
      if (std::find(question.by.begin(), question.by.end(), *by) == question.by.end()) question.by.push_back(*by);
    }
  }
  if (arguments.Flag("csv") && arguments.Flag("json")) return UsageError("--csv and --json: give one of them");
  return question;
}

bool IsTable(const Invocation& call) { return call.output.talkative() && !call.arguments.Flag("csv"); }

void TellMore(const Invocation& call, const char* which, std::size_t rows) {
  Remark(call.console,
         "these are the " + std::string(which) + " " + std::to_string(rows) + "; --limit or --csv shows more");
}

void AnswerTable(const Invocation& call, const std::vector<journal::Place>& places, const Question& question,
                 Unread& unread) {
  std::vector<PastJob> jobs;
  StartForecasts forecasts;
  bool more = false;
  EachPastJob(places, question.query, unread, [&](PastJob&& job) {
    more = jobs.size() == question.limit.value_or(kTableRows);
    if (more) return false;
    forecasts.Add(job);
    jobs.push_back(std::move(job));
    return true;
  });
  call.output.Answer([&] { return TextOf(jobs, call.console.out_colour, WidthOf(call.console)); }, nullptr, "");
  if (const std::string text = forecasts.Text(); !text.empty()) Remark(call.console, text);
  if (more) TellMore(call, "newest", jobs.size());
}

// Row by row: there may be many.
void AnswerRows(const Invocation& call, const std::vector<journal::Place>& places, const Question& question,
                Unread& unread) {
  std::ostream& out = call.console.out;
  const bool csv = call.arguments.Flag("csv"), json = call.console.json;
  out << (csv ? CsvHead() : json ? "[" : "");
  std::size_t rows = 0;
  EachPastJob(places, question.query, unread, [&](PastJob&& job) {
    if (question.limit && rows == *question.limit) return false;
    if (csv) {
      out << CsvOf(job);
    } else if (json) {
      out << (rows > 0 ? "," : "") << JsonOf(job);
    } else {
      out << job.number << "\n";
    }
    ++rows;
    return out.good();
  });
  out << (json ? "]\n" : "");
  out.flush();
}

void AnswerSums(const Invocation& call, std::vector<PastSum> sums, const Question& question) {
  const std::size_t most = question.limit.value_or(IsTable(call) ? kTableRows : sums.size());
  const bool more = sums.size() > most;
  const PastSum total = TotalOf(sums);
  if (more) sums.resize(most);
  if (call.arguments.Flag("csv")) {
    call.console.out << CsvOf(sums, question.by);
    return;
  }
  std::string names;
  for (const PastSum& sum : sums) names += Join(sum.of, "\t") + "\n";
  call.output.Answer([&] { return TextOf(sums, total, question.by, WidthOf(call.console)); },
                     [&] { return JsonOf(sums, question.by); }, names);
  if (more && IsTable(call)) TellMore(call, "first", most);
}

absl::Status History(const Invocation& call) {
  const auto question = QuestionOf(call.arguments);
  if (!question.ok()) return question.status();
  const auto places = FindJournals(call, call.arguments.Text("server").value_or(""));
  if (!places.ok()) return places.status();
  Unread unread(call.console);
  if (!question->by.empty()) {
    AnswerSums(call, ReadPastSums(*places, question->query, question->by, unread), *question);
  } else if (IsTable(call)) {
    AnswerTable(call, *places, *question, unread);
  } else {
    AnswerRows(call, *places, *question, unread);
  }
  return Answered(unread.status());
}

}  // namespace

Command HistoryCommand() {
  return {
      .name = "history",
      .group = Group::kJobs,
      .summary = "list what has run: ended jobs of all daemons, or their sums",
      .details =
          "Newest first, from the journals of daemons, so that it works without one. Lists jobs that meet all\n"
          "conditions. --server NAME: only jobs of that daemon. Attached jobs beyond 100 a second are counted, and "
          "not\n"
          "listed one by one. The history goes back a year. -q prints the ids.\n"
          "Sums by day or daemon also tell for how long GPUs were in use and idle while their daemons lived.\n"
          "Below a table stands how good the forecasts of starts were (hotplate why); --json and --csv have each of "
          "them.\n"
          "Tables and days are in local time, --csv is in UTC.",
      .example = "hotplate history --since 30d --by day,label",
      .options = {{.names = "--since",
                   .value = "WHEN",
                   .help = "only jobs that ended since: 36h, 7d, 2w, or a date like 2026-11-01"},
                  {.names = "--kernel", .value = "NAME", .help = "only jobs of this kernel", .offer = Offer::kKernel},
                  {.names = "--label", .value = "TEXT", .help = "only jobs with this label (run --label)"},
                  {.names = "--state",
                   .value = "STATE",
                   .help = "only jobs that ended so; repeat it or use commas for several",
                   .repeatable = true,
                   .offer = Offer::kChoices,
                   .choices = EndStateNames()},
                  {.names = "--by",
                   .value = "WHAT",
                   .help = "sums by day, label, kernel or daemon: jobs, time on devices, energy; several as day,label",
                   .repeatable = true,
                   .offer = Offer::kChoices,
                   .choices = SumNames()},
                  {.names = "--csv", .value = "", .help = "answer in CSV, with a header line"},
                  {.names = "--limit", .value = "N", .help = "at most N rows (of a table 1000 by default, else all)"}},
      .run = History};
}

}  // namespace hotplate::cli
