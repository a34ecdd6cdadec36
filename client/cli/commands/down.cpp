// hotplate down: drain the daemon, wait until its process has ended, and see its allocation off.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "client/cli/allocation/absence.h"
#include "client/cli/allocation/deaths.h"
#include "client/cli/allocation/follow_on.h"
#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/allocation/up_wait.h"
#include "client/cli/commands.h"
#include "client/cli/terminal/json.h"
#include "kernels/array/quoted.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

// How long a daemon on another node may stay silent while its record still names it.
constexpr std::chrono::seconds kSilence(30);
// On top of the drain timeout: the daemon's last steps.
constexpr std::chrono::seconds kMargin(30);
// A batch script ends with the daemon that is its last line.
constexpr std::chrono::seconds kLeavesByItself(5);
// When the scheduler is asked whether it has: it does not go in no time, and the scheduler has others to answer.
constexpr std::chrono::milliseconds kQuestions[] = {std::chrono::milliseconds(200), std::chrono::milliseconds(300),
                                                    std::chrono::milliseconds(500), std::chrono::milliseconds(1000),
                                                    std::chrono::milliseconds(2000)};

// Whether the daemon's process can be seen from here decides how its end is noticed.
Presence PresenceOf(const v1::GetServerInfoResponse& info, const std::string& record_path, client::Client& client) {
  if (info.node() == HostName())
    return ProcessExists(static_cast<int>(info.pid())) ? Presence::kThere : Presence::kGone;
  if (const auto now = client.Info(); now.ok())
    return now->generation() == info.generation() ? Presence::kThere : Presence::kGone;
  return PresenceByRecord(record_path, info.generation());
}

std::string Who(const v1::GetServerInfoResponse& info) {
  return info.name() + " (pid " + std::to_string(info.pid()) + (info.node() == HostName() ? "" : " on " + info.node()) +
         ")";
}

// Until the daemon has ended. `asked` is the answer to the request.
absl::Status WaitForTheEnd(const Invocation& call, const v1::GetServerInfoResponse& info, client::Client& client,
                           const absl::Status& asked, nanoseconds longest) {
  if (absl::IsPermissionDenied(asked)) return asked;  // it does not end
  const std::string record = RecordPath(
      call.settings, call.settings.server.find('/') != std::string::npos ? call.settings.server : info.name());
  const Steady::time_point start = Steady::now();
  Steady::time_point heard = start;
  for (bool told = false;;) {
    const Presence presence = PresenceOf(info, record, client);
    // A daemon that ends before it answers has done its work.
    if (presence == Presence::kGone) return absl::OkStatus();
    if (presence == Presence::kThere && !asked.ok()) return asked;
    const Steady::time_point now = Steady::now();
    if (presence == Presence::kThere) heard = now;
    if (now - heard > kSilence)
      return absl::UnavailableError(Who(info) + " does not answer, and its record " + record +
                                    " is still there: it may have ended, or it hangs\nlook on " + info.node() +
                                    ", or at the log: hotplate logs");
    if (now - start > longest)
      return absl::DeadlineExceededError(Who(info) + " was told to end and is still there after " +
                                         DurationText(now - start) + "; hotplate logs");
    if (!told && now - start > std::chrono::seconds(1) && call.console.err_terminal && call.output.talkative()) {
      call.console.err << "draining " << info.name() << " …  (at most " << DurationText(longest)
                       << "; Ctrl-C leaves it to itself)\n"
                       << std::flush;
      told = true;
    }
    poll(nullptr, 0, info.node() == HostName() ? 10 : 200);
  }
}

// Asks whether to go on although something will be lost; without a terminal: no.
bool Agreed(const Invocation& call, const std::string& question) {
  const auto answer = Asked(call.console, question + " [y/N]");
  return answer && !answer->empty() && (answer->front() == 'y' || answer->front() == 'Y');
}

// Until the job has left the queue; cancelled where it does not go by itself soon after its daemon.
absl::Status Release(const Invocation& call, const AllocationNote& note) {
  const auto scheduler = SchedulerFor(note.scheduler, note.job.cluster, call.environment);
  const Steady::time_point start = Steady::now();
  bool cancelled = false;
  for (std::size_t asked = 0;; ++asked) {
    poll(nullptr, 0, static_cast<int>(kQuestions[std::min(asked, std::size(kQuestions) - 1)].count()));
    auto status = scheduler->State(note.job);
    using Phase = JobStatus::Phase;
    // Slurm may take its time to tidy up the node. Nothing of the job's runs there any more.
    const bool gone = status.ok() && status->phase == Phase::kEnding && Steady::now() - start > kLeavesByItself;
    if (gone || (status.ok() && status->over())) {
      status->reason = kEndedByDown;
      NoteTheEnd(call.settings.directory, note, *status);
      return absl::OkStatus();
    }
    const nanoseconds waited = Steady::now() - start;
    if (!cancelled && waited > kLeavesByItself) {
      if (const absl::Status done = scheduler->Cancel(note.job); !done.ok()) return done;
      cancelled = true;
    }
    if (waited > kLeavesByItself + kMargin)
      return WithNextStep(absl::DeadlineExceededError("job " + note.job.id + " was told to end and is not gone after " +
                                                      DurationText(waited)),
                          scheduler->LookCommand(note.job));
  }
}

// A job of our own without a daemon that answers.
absl::Status CancelJob(const Invocation& call, const FoundAllocation& found, const std::string& when) {
  AllocationNote note = found.note;
  const auto scheduler = SchedulerFor(note.scheduler, note.job.cluster, call.environment);
  absl::Status status = CancelFollowOn(call.settings.directory, *scheduler, note);
  if (status.ok()) status = scheduler->Cancel(note.job);
  if (!status.ok()) return status;
  NoteTheEnd(call.settings.directory, note,
             {.state = "CANCELLED", .reason = kEndedByDown, .end = static_cast<EpochSeconds>(Now().seconds())});
  call.output.Answer(
      [&] { return Done(call.console, note.name + ": job " + note.job.id + " cancelled " + when); },
      [&] { return JsonObject().Text("name", note.name).Text("jobId", note.job.id).Text("state", "CANCELLED").Json(); },
      "");
  return absl::OkStatus();
}

// Whether this is a dead daemon's, still in its place.
bool IsLeftByDead(const Invocation& call, const v1::EndpointRecord& record) {
  const auto now = RecordOf(call.settings, record.name());
  return now && now->generation() == record.generation() && client::KnownEnded(record);
}

// A daemon that died has left nothing but its record.
absl::Status ClearDead(const Invocation& call, const v1::EndpointRecord& record) {
  const Death death = DeathOf(call.settings, record);
  if (const absl::Status status = RemoveRecord(call.settings, record.name(), record.generation()); !status.ok())
    return status;
  call.output.Answer(
      [&] {
        return Done(call.console,
                    record.name() + " (pid " + std::to_string(record.pid()) + ") had died, and its record is removed" +
                        (death.what.empty() ? "" : ": " + death.what) +
                        (death.last_words.empty() ? "" : "\n  its last words: " + Printable(death.last_words)));
      },
      [&] {
        return JsonObject()
            .Text("name", record.name())
            .Raw("pid", std::to_string(record.pid()))
            .Text("state", "DEAD")
            .Text("what", death.what)
            .Json();
      },
      "");
  return absl::OkStatus();
}

// Where no daemon answers: `why`. `chosen`: the record by which it was looked for.
absl::Status DownWithoutDaemon(const Invocation& call, const std::optional<v1::EndpointRecord>& chosen,
                               const absl::Status& why) {
  const auto found = LookForAllocation(call);
  const bool by_name = call.settings.endpoint.empty() && call.settings.server.find('/') == std::string::npos;
  if (chosen && by_name && (!found || found->note.over()) && IsLeftByDead(call, *chosen))
    return ClearDead(call, *chosen);
  if (found && found->daemon_ended) {  // as it should be, for --all too
    const AllocationNote& note = found->note;
    RemoveNote(call.settings.directory, note.name);
    call.output.Answer(
        [&] { return Done(call.console, note.name + " has already ended; job " + note.job.id + " goes on"); },
        [&] { return JsonObject().Text("name", note.name).Text("jobId", note.job.id).Raw("released", "false").Json(); },
        "");
    return absl::OkStatus();
  }
  if (!found || found->note.attached || found->note.over() || !found->status.ok()) return WhyNoDaemon(call, why);
  if (found->status->phase == JobStatus::Phase::kEnding) {
    call.output.Answer(
        [&] { return Done(call.console, found->note.name + ": job " + found->note.job.id + " is already ending"); },
        [&] { return AllocationJson(found->note, "ENDING").Json(); }, "");
    return absl::OkStatus();
  }
  if (found->status->phase == JobStatus::Phase::kPending) return CancelJob(call, *found, "before it started");
  if (!found->has_record) return CancelJob(call, *found, "while its daemon was starting");
  const std::string state = StateText(found->note.job, *found->status);
  if (call.arguments.Flag("cancel") || Agreed(call, found->note.name + " does not answer, and " + state +
                                                        ". Cancel it and everything that its daemon runs?"))
    return CancelJob(call, *found, "without an answer from its daemon");
  return WithNextStep(absl::UnavailableError(std::string(why.message()) + "\n" + state),
                      "cancel it and everything that its daemon runs: hotplate down --cancel " + found->note.name);
}

struct Ended {
  v1::GetServerInfoResponse info;
  std::optional<AllocationNote> note;  // of the job that was released
  bool attached = false;               // `up --attach` has started it: its job goes on without it
  nanoseconds took{};
  v1::DaemonLife life;  // its own account of its end
};

void Tell(const Invocation& call, const Ended& ended) {
  const v1::GetServerInfoResponse& info = ended.info;
  const std::string job = info.allocation().job_id();
  call.output.Answer(
      [&] {
        const std::string became = EndText(ended.life);
        const std::string after = "after " + DurationText(Between(info.start_time(), NowOf(info)) + ended.took);
        if (job.empty())
          return Done(call.console, info.name() + " (pid " + std::to_string(info.pid()) + ") drained and ended in " +
                                        DurationText(ended.took) + ", " + after + became);
        const std::string usage = UsageText(info.allocation());
        const std::string drained = info.name() + " drained in " + DurationText(ended.took);
        return Done(call.console,
                    (ended.note ? drained + ", job " + job + " released " + after
                                : drained + ", " + after + "; job " + job + " was not submitted by hotplate up and " +
                                      (ended.attached ? "goes on" : "ends with its script")) +
                        (usage.empty() ? "" : "; " + usage) + became);
      },
      [&] {
        JsonObject json;
        json.Text("name", info.name())
            .Raw("pid", std::to_string(info.pid()))
            .Text("saved", ended.life.saved())
            .Text("lost", ended.life.held());
        if (!job.empty())
          json.Text("jobId", job)
              .Raw("released", ended.note ? "true" : "false")
              .Raw("gpuMinutesUsed", Number(info.allocation().gpu_minutes_used()))
              .Raw("gpuMinutesIdle", Number(info.allocation().gpu_minutes_idle()));
        return json.Json();
      },
      "");
}

std::optional<AllocationNote> NoteOfJob(const Invocation& call, const v1::Allocation& allocation) {
  for (const AllocationNote& note : ReadNotes(call.settings.directory))
    if (const AllocationNote now = AtJob(call.settings.directory, note, allocation.job_id());
        now.job.id == allocation.job_id() &&
        (note.job.home.empty() || allocation.cluster().empty() || note.job.home == allocation.cluster()))
      return now;
  return std::nullopt;
}

// Where somebody is there to ask, and has something to lose.
absl::Status AskFirst(const Invocation& call, const v1::GetServerInfoResponse& info) {
  const bool asks =
      !call.arguments.Flag("yes") && call.output.talkative() && call.console.err_terminal && isatty(STDIN_FILENO) == 1;
  if (info.at_stake().empty() || !asks) return absl::OkStatus();
  if (Agreed(call, info.name() + " has " + info.at_stake() + ". End it anyway?")) return absl::OkStatus();
  return WithNextStep(Interrupted(info.name() + " goes on"), "to end it without the question: hotplate down --yes");
}

absl::Status DownAs(const Invocation& call, const std::string& name);

// The daemon decides whether its guest may end it. What it says of a job or of files is not for this user's own.
absl::Status DownAsGuest(const Invocation& call, const v1::EndpointRecord& record, std::optional<nanoseconds> timeout) {
  auto client = call.TryConnect(/*retries=*/0);
  if (!client.ok()) return client.status();
  const auto info = client->Info();
  if (!info.ok()) return info.status();
  if (const absl::Status status = AskFirst(call, *info); !status.ok()) return status;
  const absl::Status asked = client->Shutdown(timeout);
  if (absl::IsPermissionDenied(asked)) {
    return absl::PermissionDeniedError("you are guest " + Quoted(record.guest()) + " of daemon " +
                                       Quoted(record.name()) + ": its owner alone can end it");
  }
  if (!asked.ok()) return asked;
  call.output.Answer([&] { return Done(call.console, record.name() + " was told to end"); },
                     [&] { return JsonObject().Text("name", record.name()).Json(); }, "");
  return absl::OkStatus();
}

absl::Status DownOne(const Invocation& call) {
  const auto timeout = call.arguments.Duration("drain-timeout");
  if (!timeout.ok()) return timeout.status();
  // The current daemon, even if it is dead and another one lives, which nobody has asked to end.
  if (const auto name = ServerName(call.settings); name && call.settings.server.empty())
    if (const auto record = RecordOf(call.settings, *name); record && client::KnownEnded(*record))
      return DownAs(call, *name);
  // Before: what is chosen afterwards may be another's.
  const auto chosen = ChosenRecord(call.settings);
  // Before anything is done that the daemon asks for: it names the job that pays for it.
  if (chosen && !chosen->guest().empty()) return DownAsGuest(call, *chosen, *timeout);
  auto client = call.TryConnect(/*retries=*/0);
  if (!client.ok())
    return absl::IsUnavailable(client.status()) ? DownWithoutDaemon(call, chosen, client.status()) : client.status();
  const auto info = client->Info();
  if (!info.ok()) return info.status();
  if (const absl::Status status = AskFirst(call, *info); !status.ok()) return status;
  // First, or the next one would start when this one has ended.
  auto note = NoteOfJob(call, info->allocation());
  if (note && !note->attached) {
    const auto scheduler = SchedulerFor(note->scheduler, note->job.cluster, call.environment);
    const absl::Status status = CancelFollowOn(call.settings.directory, *scheduler, *note);
    if (!status.ok()) return status;
  }
  const Steady::time_point start = Steady::now();
  const absl::Status asked = client->Shutdown(*timeout);
  // One that drains already goes on by its own timeout.
  const nanoseconds own =
      info->has_drain_timeout() ? std::chrono::seconds(info->drain_timeout().seconds()) : std::chrono::minutes(2);
  const nanoseconds longest = std::max(timeout->value_or(nanoseconds(0)), own) + kMargin;
  if (const absl::Status status = WaitForTheEnd(call, *info, *client, asked, longest); !status.ok()) return status;
  Ended ended{*info, std::nullopt, false, Steady::now() - start, {}};
  if (const auto life = LifeOf(call.settings.directory, info->generation())) ended.life = *life;
  // Only the job that this very daemon ran in, and only one that `up` submitted.
  if (note) {
    if (note->attached) {
      RemoveNote(call.settings.directory, note->name);
      ended.attached = true;
    } else {
      if (const absl::Status status = Release(call, *note); !status.ok()) return status;
      ended.note = note;
    }
  }
  Tell(call, ended);
  return absl::OkStatus();
}

absl::Status DownAs(const Invocation& call, const std::string& name) {
  Settings settings = call.settings;
  settings.server = name;
  return DownOne(call.With(settings));
}

absl::Status Down(const Invocation& call) {
  const std::vector<std::string>& words = call.arguments.words();
  if (!call.arguments.Flag("all")) return words.empty() ? DownOne(call) : DownAs(call, words[0]);
  if (!words.empty()) return UsageError("--all and " + words[0] + ": give one or the other");
  std::vector<std::string> names = ServerNames(call.settings);
  std::erase_if(names, [&](const std::string& name) {  // daemons of others are not meant
    const auto record = RecordOf(call.settings, name);
    return LeadsNowhere(call.settings, name) || (record && !record->guest().empty());
  });
  for (const AllocationNote& note : ReadNotes(call.settings.directory))
    if (!note.over() && std::find(names.begin(), names.end(), note.name) == names.end()) names.push_back(note.name);
  absl::Status first = absl::OkStatus();
  for (const std::string& name : names)
    if (const absl::Status status = DownAs(call, name); !status.ok()) {
      if (!first.ok()) Report(call.console, first);
      first = status;
    }
  return first;
}

}  // namespace

Command DownCommand() {
  return {
      .name = "down",
      .group = Group::kDaemon,
      .summary = "end the daemon and give its allocation back",
      .details =
          "Running jobs may finish until the drain timeout; then they are cancelled. Ctrl-C stops waiting, but the\n"
          "daemon still ends. down touches only the job that hotplate up submitted for this daemon, waiting or\n"
          "running. If the daemon does not answer, down asks before it cancels the job; --cancel skips the question.\n"
          "A job that up attached to is kept. Jobs of up --follow-on are cancelled first.\n"
          "On a terminal, down asks first if jobs run or wait, if nobody has fetched a result, or if an array will\n"
          "not be saved. Afterwards it lists what was saved, where, and what was lost. It removes the record of a\n"
          "daemon that died.",
      .example = "hotplate down",
      .positionals =
          {{.name = "NAME", .help = "the daemon (default: the current one)", .minimum = 0, .offer = Offer::kServer}},
      .options = {{.names = "--drain-timeout",
                   .value = "TIME",
                   .help = "how long running jobs may take (default: the daemon's setting)"},
                  {.names = "--cancel", .value = "", .help = "cancel the job if its daemon does not answer"},
                  {.names = "-y,--yes", .value = "", .help = "do not ask"},
                  {.names = "--all", .value = "", .help = "end all daemons and allocations, one after the other"}},
      .run = Down};
}

}  // namespace hotplate::cli
