#include "client/cli/journals/kept_job.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"
#include "server/journal/journal.h"
#include "server/journal/recovery.h"

namespace hotplate::cli {
namespace {

// Jobs of a range.
constexpr std::size_t kMostKept = 10'000;

v1::Job ToJob(const journal::KeptJob& kept) {
  v1::Job job;
  const journal::JobAccepted& accepted = kept.accepted;
  job.set_id(std::to_string(accepted.number));
  job.set_kernel(accepted.kernel);
  job.set_state(static_cast<v1::JobState>(kept.state));
  job.set_device(kept.device);
  job.set_session(accepted.session);
  *job.mutable_submit_time() = ToTimestamp(accepted.time);
  if (kept.start_time) *job.mutable_start_time() = ToTimestamp(*kept.start_time);
  if (kept.end_time) *job.mutable_end_time() = ToTimestamp(*kept.end_time);
  job.set_priority(accepted.priority);
  job.set_label(accepted.label);
  job.set_detached(!kept.attached);
  *job.mutable_now() = Now();
  v1::JobSpec spec;
  if (!journal::IsProgram(accepted.kernel) && spec.ParseFromString(accepted.request))
    *job.mutable_params() = spec.params();
  v1::JobEnd end;
  if (!kept.end.empty() && end.ParseFromString(kept.end)) {
    if (end.has_error()) *job.mutable_error() = end.error();
    if (end.result().has_receipt()) *job.mutable_receipt() = end.result().receipt();
  }
  return job;
}

KeptAnswer ToAnswer(const journal::KeptJob& kept, const journal::Place& place) {
  const bool deleted =
      !kept.attached && kept.release_time && (kept.fetch_time || journal::IsProgram(kept.accepted.kernel));
  KeptAnswer answer{ToJob(kept), place, deleted ? DateText(*kept.release_time) : "", {}, {}};
  if (journal::IsProgram(kept.accepted.kernel)) answer.printed.ParseFromString(kept.outputs);
  for (const journal::SpooledFile& file : kept.results) answer.results.push_back(place.spool + "/" + file.file);
  return answer;
}

// "20-24".
std::optional<std::pair<std::uint64_t, std::uint64_t>> KeptRange(const std::string& word) {
  const std::vector<std::string> ends = SplitAt(word, '-');
  std::pair<std::uint64_t, std::uint64_t> range;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &range.first) || !absl::SimpleAtoi(ends[1], &range.second))
    return std::nullopt;
  return range;
}

}  // namespace

absl::StatusOr<KeptJobs> KeptJobs::Open(const Invocation& call) {
  const auto places = FindJournals(call, "");
  if (!places.ok()) return places.status();
  KeptJobs jobs{Unread(call.console)};
  for (const journal::Place& place : *places) {
    auto index = journal::IndexCopy::Open(place.folder);
    jobs.unread_.Add(place, index.status());
    if (index.ok()) jobs.journals_.push_back({place, *std::move(index)});
  }
  return jobs;
}

absl::Status KeptJobs::NotFound(const std::string& what) const {
  const absl::Status unread = unread_.status();
  return unread.ok() ? absl::NotFoundError(what) : unread;
}

absl::StatusOr<std::vector<std::string>> KeptJobs::Select(const std::vector<std::string>& words,
                                                          const std::string& name) {
  std::vector<std::string> selected;
  for (const std::string& listed : words) {
    for (const std::string& word : SplitAt(listed, ',')) {
      absl::StatusOr<std::vector<std::string>> ids = std::vector<std::string>{word};
      if (word == "last") {
        ids = Last(name);
      } else if (const auto range = KeptRange(word)) {
        ids = Between(word, range->first, range->second);
      }
      if (!ids.ok()) return ids.status();
      for (const std::string& id : *ids)
        if (std::find(selected.begin(), selected.end(), id) == selected.end()) selected.push_back(id);
    }
  }
  return selected;
}

absl::StatusOr<std::vector<std::string>> KeptJobs::Between(const std::string& word, std::uint64_t first,
                                                           std::uint64_t last) {
  std::vector<std::uint64_t> found;
  for (One& one : journals_) {
    const absl::Status read = one.index.With([&](journal::Index& index) -> absl::Status {
      const auto numbers = journal::NumbersBetween(index, first, last, kMostKept);
      if (numbers.ok()) found.insert(found.end(), numbers->begin(), numbers->end());
      return numbers.status();
    });
    unread_.Add(one.place, read);
  }
  if (found.empty()) return NotFound("no journal has any of the jobs " + word);
  if (found.size() >= kMostKept)
    return absl::InvalidArgumentError("jobs " + word + " are too many for this; hotplate journal export has all");
  std::sort(found.begin(), found.end());
  std::vector<std::string> ids;
  for (const std::uint64_t number : found) ids.push_back(std::to_string(number));
  return ids;
}

absl::StatusOr<std::vector<std::string>> KeptJobs::Last(const std::string& name) {
  std::optional<journal::JobAccepted> last;
  for (One& one : journals_) {
    if (!name.empty() && one.place.name != name) continue;
    const absl::Status read = one.index.With([&](journal::Index& index) -> absl::Status {
      const auto newest = journal::NumbersBetween(index, 0, std::numeric_limits<std::uint64_t>::max(), 1);
      if (!newest.ok() || newest->empty()) return newest.status();
      auto job = journal::FindJob(index, newest->front());
      if (job.ok() && (!last || last->time < job->accepted.time)) last = std::move(job->accepted);
      return job.status();
    });
    unread_.Add(one.place, read);
  }
  if (!last) return NotFound("last: no journal has a job");
  return std::vector<std::string>{std::to_string(last->number)};
}

absl::StatusOr<KeptAnswer> KeptJobs::Find(const std::string& id) {
  std::uint64_t number = 0;
  const std::string unknown = "no journal has a job " + Quoted(id);
  if (!absl::SimpleAtoi(id, &number)) return absl::NotFoundError(unknown);
  for (One& one : journals_) {
    std::optional<KeptAnswer> found;
    const absl::Status read = one.index.With([&](journal::Index& index) {
      const auto job = journal::FindJob(index, number);
      if (job.ok()) found = ToAnswer(*job, one.place);
      return job.status();
    });
    if (found) return *std::move(found);
    if (!absl::IsNotFound(read)) unread_.Add(one.place, read);
  }
  return NotFound(unknown);
}

std::string TextOf(const KeptAnswer& kept, bool colour) {
  const v1::Job& job = kept.job;
  const journal::WallTime ended{std::chrono::seconds(job.end_time().seconds())};
  std::string text = JobPage(job, colour, /*from_daemon=*/false) + "this is what the journal of daemon " +
                     Quoted(kept.place.name) + " has (" + kept.place.folder + ")";
  text += job.has_end_time() ? "; it ended at " + DateText(ended) + "\n"
                             : "; a daemon of that name has it, or the next one will\n";
  for (const std::string& path : kept.results) text += "  result     " + Printable(path) + "\n";
  if (!kept.release_time.empty()) text += "  results    were fetched, and deleted at " + kept.release_time + "\n";
  return text;
}

std::string JsonOf(const KeptAnswer& kept) {
  return JsonObject(ToJson(kept.job)).Text("journal", kept.place.folder).Raw("results", JsonTexts(kept.results)).Json();
}

}  // namespace hotplate::cli
