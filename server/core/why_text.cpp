// A WhyReport in words.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/quantity.h"
#include "server/core/jobs/job_event.h"
#include "server/core/why.h"

namespace hotplate::core {
namespace {

constexpr std::size_t kNamedOthers = 3;

// No more digits than a forecast has: "about 4 s".
std::string About(nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds < 0.95) return "less than a second";
  if (seconds < 59.5) return absl::StrCat("about ", std::lround(seconds), " s");
  if (seconds < 3570) return absl::StrCat("about ", std::lround(seconds / 60), " m");
  return absl::StrCat("about ", std::lround(seconds / 360) / 10.0, " h");
}

std::string In(nanoseconds time) { return absl::StrCat("in ", About(time)); }

std::string JobText(const SeenEntry& who) {
  return absl::StrCat("job ", who.id.value(), " (", who.kernel.empty() ? "another user's" : who.kernel, ")");
}

std::string OtherText(const WhyReport::Other& other, bool with_bytes) {
  std::vector<std::string> facts;
  if (with_bytes) facts.push_back(absl::StrCat("holds ", BytesText(other.bytes)));
  if (!with_bytes && other.state == JobState::kRunning) facts.push_back(absl::StrCat("runs on ", other.device));
  if (other.state == JobState::kPending) {
    facts.push_back(other.waits_for.empty() ? "waits itself"
                                            : absl::StrCat("waits itself for job ", other.waits_for.value()));
  }
  if (other.left) facts.push_back(absl::StrCat("ends ", In(*other.left)));
  return absl::StrCat(JobText(other.who), " ", absl::StrJoin(facts, " and "));
}

std::string OthersText(const WhyReport& report, bool with_bytes) {
  std::string text;
  const std::size_t named = std::min(report.others.size(), kNamedOthers);
  for (std::size_t i = 0; i < named; ++i) absl::StrAppend(&text, "; ", OtherText(report.others[i], with_bytes));
  const std::size_t more = report.others.size() - named + report.others_left_out;
  if (more > 0) absl::StrAppend(&text, "; so do ", more, more == 1 ? " other" : " others");
  return text;
}

std::string AheadText(const EntriesAhead& ahead) {
  std::vector<std::string> parts;
  if (ahead.of_higher_priority > 0) parts.push_back(absl::StrCat(ahead.of_higher_priority, " of higher priority"));
  if (ahead.of_own_share > 0) parts.push_back(absl::StrCat(ahead.of_own_share, " of its own session"));
  if (ahead.of_others > 0) parts.push_back(absl::StrCat(ahead.of_others, " of other sessions, by fair share"));
  return absl::StrCat(ahead.all(), ahead.all() == 1 ? " job" : " jobs", " before it: ", absl::StrJoin(parts, ", "));
}

std::string MemoryText(const WhyReport& report) {
  const Outlook& memory = *report.memory;
  std::string text = absl::StrCat("memory on ", memory.device, ": it needs ", BytesText(memory.bytes_needed), ", ",
                                  BytesText(memory.bytes_free), " are free");
  // Where one alone holds some, that is who it waits for.
  if (memory.after && report.others.size() > 1)
    absl::StrAppend(&text, "; there is room when ", JobText(*memory.after), " has ended");
  return text;
}

std::string CauseText(const WhyReport& report) {
  switch (report.cause) {
    case WaitCause::kJobs:
      return absl::StrCat("for jobs that it depends on", OthersText(report, /*with_bytes=*/false));
    case WaitCause::kMemory:
      return absl::StrCat("for ", MemoryText(report), OthersText(report, /*with_bytes=*/true));
    case WaitCause::kPlace:
      return absl::StrCat("for ", report.places, OthersText(report, /*with_bytes=*/false));
    case WaitCause::kOrder:
      return absl::StrCat("for ", AheadText(report.ahead), OthersText(report, /*with_bytes=*/false));
    case WaitCause::kTurn:
      return absl::StrCat("for the worker that has its objects: ", report.ahead_in_turn,
                          report.ahead_in_turn == 1 ? " call goes" : " calls go", " first");
    case WaitCause::kAllocationEnd:
      return absl::StrCat("for the next daemon: it takes about ",
                          report.run_time ? DurationText(report.run_time->median) : "longer", " and ",
                          report.allocation_left ? DurationText(*report.allocation_left) : "less",
                          " are left of this allocation");
    case WaitCause::kNextDaemon:
      return "for the next daemon: this one ends";
    case WaitCause::kKind:
      return absl::StrCat("for others like it: ", report.most_together, report.most_together == 1 ? " runs" : " run",
                          " at a time on ", report.limited_on, ", by what was measured or to measure it",
                          OthersText(report, /*with_bytes=*/false));
    case WaitCause::kJournal:
      return "until it is written down";
    case WaitCause::kNone:
      break;
  }
  return "no more: it begins";
}

std::string WaitedText(const WhyReport& report) {
  if (report.waited < std::chrono::milliseconds(1)) return "it did not wait";
  std::string text = absl::StrCat("it waited ", DurationText(report.waited));
  if (report.held > nanoseconds::zero())
    absl::StrAppend(&text, ", ", DurationText(report.held), " of it for the jobs that it depends on");
  if (report.lacked_room) absl::StrAppend(&text, ", at the head of the queue for memory");
  if (report.job.start_forecast)
    absl::StrAppend(&text, "; the forecast was ", DurationText(*report.job.start_forecast));
  return text;
}

std::string ForecastText(const WhyReport& report, std::string_view verb, const std::optional<nanoseconds>& in) {
  if (in) return absl::StrCat("; it probably ", ToAbsl(verb), " ", In(*in));
  return report.no_forecast.empty() ? "" : absl::StrCat("; no forecast: ", report.no_forecast);
}

// A run that the allocation will cut off, as far as anybody can tell.
std::string CutOffText(const WhyReport& report) {
  if (!report.starts_in || !report.run_time || !report.allocation_left) return "";
  if (*report.starts_in + report.run_time->median <= *report.allocation_left) return "";
  return absl::StrCat("; it will probably not end in the ", DurationText(*report.allocation_left),
                      " that are left of the allocation");
}

}  // namespace

std::string TextOf(const WhyReport& report) {
  const std::string job = absl::StrCat("job ", report.job.id.value());
  if (report.job.state == JobState::kPending) {
    return absl::StrCat(job, " waits ", CauseText(report), ForecastText(report, "starts", report.starts_in),
                        CutOffText(report));
  }
  if (report.job.state == JobState::kRunning) {
    const nanoseconds so_far = report.now - report.job.start_time.value_or(report.now);
    return absl::StrCat(job, " has run on ", report.job.device, " for ", DurationText(so_far),
                        ForecastText(report, "ends", report.ends_in), "; ", WaitedText(report));
  }
  return absl::StrCat(job, " is ", ToAbsl(Name(report.job.state)), "; ", WaitedText(report));
}

}  // namespace hotplate::core
