#include "client/cli/allocation/up_wait.h"

#include <poll.h>

#include <cctype>
#include <string_view>

#include "client/cli/allocation/absence.h"
#include "client/cli/allocation/daemon_start.h"
#include "client/cli/allocation/deaths.h"
#include "client/cli/allocation/follow_on.h"
#include "client/cli/allocation/local_daemon.h"
#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/cli/allocation/wait.h"
#include "client/cli/journals/left_behind.h"
#include "client/cli/terminal/json.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kTailLines = 12;
// A node's last words may take that long to be seen through a network file system.
constexpr std::chrono::milliseconds kLastWords(3000);

// The words of a job that failed, once they are there.
std::string LastWords(const std::string& path, std::size_t start) {
  for (const auto end = Steady::now() + kLastWords;;) {
    std::string tail = LogTail(path, start, kTailLines);
    if (!tail.empty() || Steady::now() >= end) return tail;
    poll(nullptr, 0, 100);
  }
}

// Whether the scheduler, rather than the job, is the reason for the missing daemon.
bool NeverRan(const JobStatus& status) {
  for (const std::string_view state : {"CANCELLED", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "DEADLINE", "REVOKED"})
    if (status.state == state) return true;
  return status.nodes.empty();
}

}  // namespace

UpInterrupts::UpInterrupts()
    : watch_([this] {
        stop_.request_stop();
        const MutexLock lock(mutex_);
        if (told_) told_();
        changed_.NotifyAll();
      }) {
  watch_.Begin();
}

void UpInterrupts::Hold(std::function<void()> told) {
  const MutexLock lock(mutex_);
  told_ = std::move(told);
  watch_.Hold(true);
}

void UpInterrupts::Release() {
  const MutexLock lock(mutex_);
  told_ = nullptr;
  watch_.Hold(false);
}

bool UpInterrupts::Pause(std::chrono::milliseconds longest) {
  const auto until = Steady::now() + longest;
  const MutexLock lock(mutex_);
  while (!interrupted() && changed_.WaitUntil(mutex_, until)) {
  }
  return !interrupted();
}

absl::StatusOr<std::string> OnInterruptOption(const Invocation& call) {
  const std::string choice = call.arguments.Text("on-interrupt").value_or("");
  if (choice.empty() || choice == "keep" || choice == "cancel") return choice;
  return UsageError("--on-interrupt " + choice + ": say keep or cancel");
}

JsonObject AllocationJson(const AllocationNote& note, const std::string& state) {
  JsonObject json;
  json.Text("name", note.name)
      .Text("jobId", note.job.id)
      .Text("cluster", note.job.cluster.empty() ? note.job.home : note.job.cluster)
      .Text("site", note.site)
      .Text("state", state)
      .Text("output", note.output_file)
      .Raw("followOn", JsonTexts(note.follow_on));
  return json;
}

absl::Status UpWait::Run() {
  const AllocationWait wait{.scheduler = scheduler,
                            .note = note,
                            .directory = call.settings.directory,
                            .line = line,
                            .ask = [this](const std::string& name) { return AskDaemon(call.settings, name); },
                            .pause = [this](std::chrono::milliseconds longest) { return interrupts.Pause(longest); },
                            .starter_ended = [this] { return starter ? starter->ended() : std::nullopt; }};
  const auto deadline = timeout ? std::optional(Steady::now() + *timeout) : std::nullopt;
  const AllocationWait::Result result = wait.Run(deadline);
  line.Keep();
  if (!result.name.empty() && result.name != note.name) {  // its own name, if that was not predictable
    RemoveNote(call.settings.directory, note.name);
    note.name = result.name;
    WriteNote(call.settings.directory, note).IgnoreError();
  }
  switch (result.end) {
    case AllocationWait::End::kReady:
      return Ready(result.info);
    case AllocationWait::End::kOver:
      return Over(result.status);
    case AllocationWait::End::kUnreachable:
      return Unreachable(result.status, result.why);
    case AllocationWait::End::kInterrupted:
      return BrokenOff();
    case AllocationWait::End::kTimeout:
      if (!result.name.empty() && !result.why.ok()) return Unreachable(result.status, result.why);
      break;
  }
  return WithNextStep(absl::DeadlineExceededError(
                          note.name + " is not ready yet: " + StateText(note.job, result.status) + "; the job stays"),
                      WhatNext());
}

std::string UpWait::WhatNext() const {
  return "hotplate status --server " + note.name + " · wait on: hotplate up --name " + note.name +
         " · give it up: hotplate down " + note.name;
}

absl::Status UpWait::Ready(const v1::GetServerInfoResponse& info) {
  if (auto written = ReadNote(call.settings.directory, note.name); written && written->attached) {
    written->was_ready = true;
    WriteNote(call.settings.directory, *written).IgnoreError();
  }
  if (const absl::Status status = SetCurrent(call.settings, note.name); !status.ok()) return status;
  // An attached job is judged by the GPUs that Slurm gave it.
  const int asked = note.attached ? static_cast<int>(info.allocation().gpus_on_node()) : note.gpus;
  const bool cpu = ChoseCpu(note.request) || ChoseCpu(call.arguments.rest());
  if (const std::string missing = cpu ? "" : MissingGpusText(asked, info); !missing.empty())
    call.console.err << "! " << Printable(missing) << std::endl;
  if (const std::string unavailable = UnavailableText(info); !unavailable.empty())
    call.console.err << "! " << Printable(unavailable) << std::endl;
  if (submitted) TellLoss(call, info);
  if (submitted) TellLeftBehind(call, note.name);
  const std::string usable = note.name + "   " + DevicesText(info);
  call.output.Answer(
      [&] {
        std::string text = Done(call.console, (submitted ? "ready  " : "already running  ") + usable);
        if (info.allocation().has_end_time()) text += "   " + EndsText(info);
        if (info.has_idle_timeout() && info.idle_timeout().seconds() > 0)
          text += "   idle release after " + DurationText(std::chrono::seconds(info.idle_timeout().seconds()));
        if (!note.follow_on.empty()) text += "\n  then:       job " + Join(note.follow_on, ", ") + " under this name";
        return text + FromHere();
      },
      [&] {
        std::vector<std::string> devices;
        for (const v1::Device& device : info.devices()) devices.push_back(device.name());
        return AllocationJson(note, "READY")
            .Text("node", info.node())
            .Raw("devices", JsonTexts(devices))
            .Raw("gpusAsked", std::to_string(asked))
            .Raw("gpusUsable", std::to_string(UsableGpus(info)))
            .Raw("notes", JsonTexts({info.device_notes().begin(), info.device_notes().end()}))
            .Raw("unavailableKernels", UnavailableJson(info))
            .Raw("started", submitted ? "true" : "false")
            .Json();
      },
      note.name);
  return absl::OkStatus();
}

absl::Status UpWait::Over(const JobStatus& status) {
  const std::string tail = Printable(LastWords(note.output_file, output_start));
  std::string what;
  if (note.attached && starter && starter->ended()) {
    what = "the daemon in job " + note.job.id + " ended before it was ready";
    RemoveNote(call.settings.directory, note.name);
  } else {
    if (submitted) {
      // The jobs that follow on would fare no better.
      CancelFollowOn(call.settings.directory, scheduler, note).IgnoreError();
    }
    NoteTheEnd(call.settings.directory, note, status);
    if (const auto next = NextOf(call.settings.directory, note)) {
      note = *next;
      output_start = 0;
      return Run();
    }
    what = StateText(note.job, status) + ": it ended before its daemon was ready";
    if (status.phase == JobStatus::Phase::kEnded && status.nodes.empty() && !status.reason.empty())
      what += "; " + scheduler.Name() + "'s reason: " + status.reason;
  }
  const std::string advice = WhatToDoAboutReason(status.reason);
  const ExitCode code = !starter && NeverRan(status) ? kExitScheduler : kExitNoDaemon;
  std::string message = what + (tail.empty() ? "; it wrote nothing" : ":\n" + tail) + "\noutput: " + note.output_file;
  if (!advice.empty()) message += "\n" + advice;
  const absl::Status failed = WithExitCode(absl::UnavailableError(message), code);
  return note.attached ? failed : WithNextStep(failed, "the same again: hotplate up --again");
}

absl::Status UpWait::Unreachable(const JobStatus& status, const absl::Status& why) {
  // The daemon is there, and the next steps in the message use it.
  SetCurrent(call.settings, note.name).IgnoreError();
  return CannotBeReached(call.settings, note, status, why);
}

absl::Status UpWait::BrokenOff() {
  std::string choice = on_interrupt;
  const std::string job = "job " + note.job.id + " (" + note.name + ")";
  if (choice.empty())
    if (const auto answer = Asked(call.console, "\n  keep " + job + ", or cancel it? [Keep/cancel]");
        answer && !answer->empty() && std::tolower(static_cast<unsigned char>(answer->front())) == 'c')
      choice = "cancel";
  if (choice != "cancel") return WithNextStep(Interrupted(job + " stays as it is"), WhatNext());
  if (starter) {
    starter->end();
    RemoveNote(call.settings.directory, note.name);
    return Interrupted("the start of the daemon in job " + note.job.id + " is undone; the job stays");
  }
  if (note.attached) return Interrupted("job " + note.job.id + " was not submitted by hotplate, so it is kept");
  absl::Status status = CancelFollowOn(call.settings.directory, scheduler, note);
  if (status.ok()) status = scheduler.Cancel(note.job);
  if (!status.ok()) return status;
  NoteTheEnd(call.settings.directory, note, {.state = "CANCELLED", .end = static_cast<EpochSeconds>(Now().seconds())});
  return Interrupted(job + " is cancelled");
}

}  // namespace hotplate::cli
