#include "client/cli/allocation/absence.h"

#include <sstream>
#include <utility>

#include "client/cli/allocation/deaths.h"
#include "client/cli/allocation/follow_on.h"
#include "client/cli/allocation/forwarding.h"
#include "client/cli/allocation/local_daemon.h"
#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/ending.h"
#include "client/lib/endpoint.h"

namespace hotplate::cli {
namespace {

// A note made from a record: for a job submitted without this program.
std::optional<AllocationNote> NoteOfRecord(const Invocation& call, const v1::EndpointRecord& record) {
  if (!IsJobId(record.slurm_job_id()) || !FindProgram("squeue", call.environment)) return std::nullopt;
  if (!record.cluster().empty() && !client::IsServerName(record.cluster())) return std::nullopt;
  return AllocationNote{.name = record.name(),
                        .job = {record.slurm_job_id(), "", record.cluster(), UserNumber()},
                        .output_file = record.log_file(),
                        .attached = true};
}

// A start in a job takes seconds.
constexpr EpochSeconds kLongestAttachedStart = 600;

// A job that runs, and that a daemon without a record was attached to.
bool IsLeftAlone(const AllocationNote& note, const JobStatus& status) {
  return note.attached && note.submit_time > 0 && status.phase == JobStatus::Phase::kRunning &&
         (note.was_ready || Now().seconds() - note.submit_time > kLongestAttachedStart);
}

FoundAllocation AskFor(const Invocation& call, const AllocationNote& note) {
  FoundAllocation found{note, JobStatus{}, RecordedName(call.settings.directory, note).has_value()};
  if (note.over()) return found;
  found.status = SchedulerFor(note.scheduler, note.job.cluster, call.environment)->State(note.job);
  if (!found.status.ok()) return found;
  found.daemon_ended = !found.has_record && IsLeftAlone(note, *found.status);
  if (!found.status->over()) return found;
  if (const auto next = NextOf(call.settings.directory, note)) {
    NoteTheEnd(call.settings.directory, note, *found.status);
    return AskFor(call, *next);
  }
  found.note = WithEnd(note, *found.status);
  if (note.submit_time > 0) NoteTheEnd(call.settings.directory, note, *found.status);
  return found;
}

// The last words of a daemon that ended by itself: the line that says why it drained, else its last line. Empty for
// ends brought about by Slurm, which explain themselves.
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
  if (!note)
    if (const auto record = ChosenRecord(call.settings)) note = NoteOfRecord(call, *record);
  if (!note) return std::nullopt;
  FoundAllocation found = AskFor(call, *note);
  if (call.settings.server.empty() && !note->over() && found.note.over())
    if (const auto next = NoteFor(call.settings); next && !next->over()) return AskFor(call, *next);
  return found;
}

bool NextStart::Expected(const std::optional<FoundAllocation>& found) {
  if (!found || found->note.over() || found->daemon_ended) return false;
  using Phase = JobStatus::Phase;
  // Without an answer of the scheduler's: as it was.
  const Phase phase = found->status.ok() ? found->status->phase : waited_ ? Phase::kEnding : Phase::kForgotten;
  if (phase == Phase::kPending) {
    waited_ = true;
    once_more_ = false;
    return true;
  }
  // The record of a daemon that was killed is there until the next one's.
  const bool starts = phase == Phase::kRunning && (waited_ || !found->has_record);
  return (starts || phase == Phase::kEnding) && !std::exchange(once_more_, true);
}

bool AttachedDaemonHasEnded(const std::string& directory, const AllocationNote& note, const JobStatus& status) {
  return IsLeftAlone(note, status) && !RecordedName(directory, note);
}

absl::Status AttachedDaemonEnded(const Invocation& call, const AllocationNote& note, const JobStatus& status) {
  RemoveNote(call.settings.directory, note.name);
  return WithNextStep(absl::UnavailableError("the daemon " + note.name + " has ended; " + StateText(note.job, status) +
                                             " goes on without it"),
                      "again: hotplate up --attach " + note.job.id + " · what it said: " + note.output_file);
}

absl::Status CannotBeReached(Settings settings, const AllocationNote& note, const JobStatus& status,
                             const absl::Status& why) {
  settings.server = note.name;
  settings.endpoint.clear();
  const std::string advice = ForwardingAdvice(settings);
  return WithNextStep(
      WithExitCode(absl::UnavailableError(
                       note.name + " has started" + (status.nodes.empty() ? "" : " on " + status.nodes) +
                       ", but this machine cannot reach it: " + client::WithoutHowToStart(std::string(why.message()))),
                   absl::IsPermissionDenied(why) ? kExitNotAllowed : kExitNoDaemon),
      (advice.empty() ? "" : advice + "\n") + "hotplate status --server " + note.name + " · hotplate logs --server " +
          note.name + " · give it up: hotplate down --cancel " + note.name);
}

// Commands that show more, except the one that has just failed.
std::string LookAtIt(const Invocation& call, const AllocationNote& note) {
  return (call.command.name == "status" ? "" : "hotplate status --server " + note.name + " · ") +
         "hotplate logs --server " + note.name;
}

absl::Status WhyNoDaemon(const Invocation& call, const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  const auto found = LookForAllocation(call);
  if (!found) {
    const auto record = ChosenRecord(call.settings);
    if (record && client::KnownDead(*record) && call.settings.endpoint.empty()) {
      const Death death = DeathOf(call.settings, *record);
      return WithNextStep(Worded(status, std::string(status.message()) + (death.what.empty() ? "" : "\n" + death.what) +
                                             (death.last_words.empty() ? "" : "\nits last words: " + death.last_words)),
                          "clear it: hotplate down " + record->name() + " · hotplate logs --server " + record->name());
    }
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
                        "wait for it: hotplate up --name " + note.name + " · hotplate status --server " + note.name +
                            " · give it up: hotplate down " + note.name);
  if (found->status->phase == JobStatus::Phase::kEnding)
    return WithNextStep(absl::UnavailableError(note.name + " is ending: " + state),
                        note.attached ? "hotplate logs --server " + note.name
                                      : "hotplate logs --server " + note.name + " · hotplate up --again");
  if (found->daemon_ended) return AttachedDaemonEnded(call, note, *found->status);
  if (!found->has_record)
    return WithNextStep(absl::UnavailableError(note.name + " is starting: " + state),
                        "wait for it: hotplate up --name " + note.name + " · hotplate logs --server " + note.name);
  const std::string advice = ForwardingAdvice(call.settings);
  // The library's advice on starting a daemon does not fit: there is one.
  return WithNextStep(absl::UnavailableError(client::WithoutHowToStart(original) + "\n" + state),
                      LookAtIt(call, note) + (advice.empty() ? "" : "\n" + advice));
}

std::optional<FoundAllocation> LookForLost(const Invocation& call) {
  const auto of_record = NoteOfRecord(call, call.connected);
  if (!of_record) return std::nullopt;
  auto note = ReadNote(call.settings.directory, call.connected.name());
  // Also where a job that follows on the lost daemon's brings it back.
  if (!note || !HasJob(*note, of_record->job.id)) note = of_record;
  return AskFor(call, *note);
}

absl::Status WhyLost(const Invocation& call, const absl::Status& status) {
  const v1::EndpointRecord& lost = call.connected;
  const auto looked = LookForLost(call);
  if (!looked) return status;
  const FoundAllocation& found = *looked;
  const AllocationNote& note = found.note;
  const std::string what = client::WithoutHowToStart(std::string(status.message())) + "\n";
  const std::string look = LookAtIt(call, note);
  if (found.note.over()) {
    return WithNextStep(
        Worded(status, what + EndText(found.note) + LastWords(found.note)),
        note.submit_time > 0 ? "hotplate logs · hotplate up --again" : "its output: " + note.output_file);
  }
  if (!found.status.ok()) {
    return WithNextStep(Worded(status, what + "what became of job " + note.job.id +
                                           " is not known: " + std::string(found.status.status().message())),
                        look);
  }
  const std::string state = StateText(note.job, *found.status);
  const auto record = RecordOf(call.settings, lost.name());
  if (record && record->generation() != lost.generation()) {
    return WithNextStep(
        Worded(status, what + lost.name() + " was restarted: " + state + "; its earlier jobs and arrays are gone"),
        look);
  }
  switch (found.status->phase) {
    case JobStatus::Phase::kPending:
      return WithNextStep(Worded(status, what + lost.name() + " will be restarted: " + state +
                                             "; its earlier jobs and arrays are gone"),
                          look);
    case JobStatus::Phase::kEnding:
      return WithNextStep(Worded(status, what + lost.name() + " is ending: " + state +
                                             "; if Slurm requeues its job, it comes back under the same name"),
                          look);
    default:
      return WithNextStep(Worded(status, what + state), look);
  }
}

}  // namespace hotplate::cli
