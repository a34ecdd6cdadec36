#include "client/cli/absence.h"

#include <sstream>

#include "client/cli/allocation_text.h"
#include "client/cli/ending.h"
#include "client/cli/forwarding.h"
#include "client/cli/local_daemon.h"
#include "client/cli/records.h"

namespace hotplate::cli {
namespace {

// As a note that nobody wrote: of a job that was submitted without this program.
std::optional<AllocationNote> NoteOfRecord(const Invocation& call, const std::string& name) {
  const auto record = RecordOf(call.settings, name);
  if (!record || !IsJobId(record->slurm_job_id()) || !FindProgram("squeue", call.environment)) return std::nullopt;
  AllocationNote note{
      .name = record->name(), .job = {record->slurm_job_id(), ""}, .output_file = record->log_file(), .attached = true};
  // A number alone may be another job's on this cluster.
  if (SchedulerFor(note.scheduler, "", call.environment)->ClusterName() != record->cluster())
    note.job.cluster = record->cluster();
  return note;
}

// What the daemon said when it ended by itself: the line that tells why it drained, else its last one. Ends that Slurm
// brought about say enough.
std::string LastWords(const AllocationNote& note) {
  if ((note.end_state != "COMPLETED" && note.end_state != "FAILED") || note.end_reason == kEndedByDown) return "";
  std::istringstream tail(LogTail(note.output_file, 0, 40));
  std::string words;
  for (std::string line; std::getline(tail, line);)
    if (words.find("draining: ") == std::string::npos || line.find("draining: ") != std::string::npos) words = line;
  return words.empty() ? "" : "\nits last words: " + words;
}

}  // namespace

std::optional<FoundAllocation> LookForAllocation(const Invocation& call) {
  auto note = NoteFor(call.settings);
  const auto name = ServerName(call.settings);
  if (!note && name) note = NoteOfRecord(call, *name);
  if (!note) return std::nullopt;
  const auto record = RecordOf(call.settings, note->name);
  FoundAllocation found{*note, JobStatus{}, record && record->slurm_job_id() == note->job.id};
  if (note->over()) return found;
  found.status = SchedulerFor(note->scheduler, note->job.cluster, call.environment)->State(note->job);
  if (!found.status.ok() || found.status->phase == JobStatus::Phase::kPending ||
      found.status->phase == JobStatus::Phase::kRunning)
    return found;
  found.note.end_state = found.status->state.empty() ? "UNKNOWN" : found.status->state;
  found.note.end_reason = found.status->reason;
  found.note.end_time = found.status->end;
  if (note->submit_time > 0) NoteTheEnd(call.settings.directory, *note, *found.status);
  return found;
}

absl::Status WhyNoDaemon(const Invocation& call, const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  const auto found = LookForAllocation(call);
  if (!found) {
    const std::string advice = ForwardingAdvice(call.settings);
    return advice.empty() ? status : WithNextStep(status, advice);
  }
  const AllocationNote& note = found->note;
  if (note.over())
    return WithNextStep(absl::UnavailableError(EndText(note) + LastWords(note)),
                        note.attached ? "hotplate logs" : "hotplate logs · hotplate up --again");
  const std::string original(status.message());
  if (!found->status.ok())
    return absl::UnavailableError(original + "\nwhat became of job " + note.job.id +
                                  " is not known: " + std::string(found->status.status().message()));
  const std::string state = StateText(note.job, *found->status);
  if (found->status->phase == JobStatus::Phase::kPending)
    return WithNextStep(absl::UnavailableError(note.name + " has no daemon yet: " + state),
                        "wait for it: hotplate up --name " + note.name + " · hotplate status · hotplate down");
  if (!found->has_record)
    return WithNextStep(absl::UnavailableError(note.name + " is starting: " + state),
                        "wait for it: hotplate up --name " + note.name + " · hotplate logs");
  const std::string advice = ForwardingAdvice(call.settings);
  // What the library advises does not fit: there is a daemon.
  return WithNextStep(absl::UnavailableError(original.substr(0, original.find("; start one: ")) + "\n" + state),
                      "hotplate status · hotplate logs" + (advice.empty() ? "" : "\n" + advice));
}

}  // namespace hotplate::cli
