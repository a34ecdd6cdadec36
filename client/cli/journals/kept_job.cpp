#include "client/cli/journals/kept_job.h"

#include "absl/strings/numbers.h"
#include "client/cli/jobs/job_text.h"
#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"
#include "server/journal/journal.h"
#include "server/journal/recovery.h"

namespace hotplate::cli {
namespace {

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
  if (spec.ParseFromString(accepted.request)) *job.mutable_params() = spec.params();
  v1::JobEnd end;
  if (!kept.end.empty() && end.ParseFromString(kept.end)) {
    if (end.has_error()) *job.mutable_error() = end.error();
    if (end.result().has_receipt()) *job.mutable_receipt() = end.result().receipt();
  }
  return job;
}

KeptAnswer ToAnswer(const journal::KeptJob& kept, const journal::Place& place) {
  KeptAnswer answer{ToJob(kept), place, kept.release_time ? DateText(*kept.release_time) : "", {}};
  for (const journal::SpooledFile& file : kept.results) answer.results.push_back(place.spool + "/" + file.file);
  return answer;
}

}  // namespace

absl::StatusOr<KeptAnswer> FindInJournals(const Settings& settings, const std::string& id) {
  const absl::Status unknown = absl::NotFoundError("no journal has a job " + Quoted(id));
  std::uint64_t number = 0;
  if (!absl::SimpleAtoi(id, &number)) return unknown;
  const auto places = FindJournals(settings, "");
  if (!places.ok()) return places.status();
  for (const journal::Place& place : *places) {
    std::optional<KeptAnswer> found;
    const absl::Status read = journal::ReadCopy(place.folder, [&](journal::Index& index) {
      const auto job = journal::FindJob(index, number);
      if (job.ok()) found = ToAnswer(*job, place);
      return job.status();
    });
    if (found) return *std::move(found);
    if (!absl::IsNotFound(read)) return read;
  }
  return unknown;
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
  std::string json = ToJson(kept.job);
  json.pop_back();
  return json + ",\"journal\":" + JsonText(kept.place.folder) + ",\"results\":" + JsonTexts(kept.results) + "}";
}

}  // namespace hotplate::cli
