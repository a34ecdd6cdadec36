// hotplate history: what has run, on all daemons.
#include "client/cli/journals/history.h"

#include <ctime>

#include "client/cli/commands.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/partitions/since.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr std::int64_t kMostRows = 1'000'000;
constexpr std::int64_t kRows = 1000;

const std::vector<std::string>& EndStateNames() {
  static const std::vector<std::string> names = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"};
  return names;
}

struct Question {
  journal::JobQuery query;
  std::optional<SumBy> by;
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
  query.limit = static_cast<std::size_t>(limit->value_or(kRows));
  const std::string by = arguments.Text("by").value_or("");
  for (const SumBy one : {SumBy::kDay, SumBy::kLabel, SumBy::kKernel})
    if (by == NameOf(one)) question.by = one;
  if (arguments.Text("by") && !question.by) return UsageError("--by: " + Quoted(by) + " is none of day, label, kernel");
  if (arguments.Flag("csv") && arguments.Flag("json")) return UsageError("--csv and --json: give one of them");
  return question;
}

void AnswerJobs(const Invocation& call, const PastJobs& past) {
  if (call.arguments.Flag("csv")) {
    call.console.out << CsvOf(past);
  } else {
    std::string ids;
    for (const PastJob& job : past.jobs) ids += std::to_string(job.number) + "\n";
    call.output.Answer([&] { return TextOf(past, call.console.out_colour, WidthOf(call.console)); },
                       [&] { return JsonOf(past); }, ids);
  }
  if (past.more && call.output.talkative())
    Remark(call.console, "these are the newest " + std::to_string(past.jobs.size()) + "; --limit shows more");
}

void AnswerSums(const Invocation& call, PastSums past, const Question& question) {
  if (past.sums.size() > question.query.limit) past.sums.resize(question.query.limit);
  if (call.arguments.Flag("csv")) {
    call.console.out << CsvOf(past, *question.by);
    return;
  }
  std::string names;
  for (const PastSum& sum : past.sums) names += sum.of + "\n";
  call.output.Answer([&] { return TextOf(past, *question.by, WidthOf(call.console)); },
                     [&] { return JsonOf(past, *question.by); }, names);
}

absl::Status History(const Invocation& call) {
  const auto question = QuestionOf(call.arguments);
  if (!question.ok()) return question.status();
  const auto places = FindJournals(call.settings, call.arguments.Text("server").value_or(""));
  if (!places.ok()) return places.status();
  if (question->by) {
    const PastSums past = ReadPastSums(*places, question->query, *question->by);
    AnswerSums(call, past, *question);
    return Answered(past.unread);
  }
  const PastJobs past = ReadPastJobs(*places, question->query);
  AnswerJobs(call, past);
  return Answered(past.unread);
}

}  // namespace

Command HistoryCommand() {
  return {
      .name = "history",
      .group = Group::kJobs,
      .summary = "list what has run: ended jobs of all daemons, or their sums",
      .details =
          "Newest first, from the journals of daemons with hotplated --journal on: it works without a daemon. Lists\n"
          "jobs that meet all conditions. --server NAME: only jobs of that daemon. Attached jobs beyond 100 a second\n"
          "are counted, and not listed one by one. The history goes back a year. -q prints the ids.",
      .example = "hotplate history --since 30d --by label",
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
                   .help = "sums by day, label or kernel: jobs, time on devices, energy",
                   .offer = Offer::kChoices,
                   .choices = {"day", "label", "kernel"}},
                  {.names = "--csv", .value = "", .help = "answer in CSV, with a line of heads"},
                  {.names = "--limit", .value = "N", .help = "at most N rows (default 1000)"}},
      .run = History};
}

}  // namespace hotplate::cli
