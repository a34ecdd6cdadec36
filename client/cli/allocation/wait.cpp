#include "client/cli/allocation/wait.h"

#include <algorithm>

#include "client/cli/allocation/records.h"
#include "client/cli/allocation/text.h"
#include "client/lib/endpoint.h"

namespace hotplate::cli {
namespace {

using std::chrono::milliseconds;

// Often enough that a daemon that is ready is seen at once, and one request to the file system each.
constexpr milliseconds kLook(100);
// A published daemon that cannot be reached for kReachPatience never will be; after kReachSilence the user is told.
constexpr std::chrono::seconds kReachPatience(20), kReachSilence(4);
// Right after a submission the scheduler may not know the job yet.
constexpr std::chrono::seconds kForgottenPatience(5);
// A daemon that starts publishes sooner; modules that are loaded first take a while.
constexpr std::chrono::seconds kRecordPatience(30);

}  // namespace

milliseconds NextQuestion(std::chrono::nanoseconds waited, JobStatus::Phase phase) {
  if (phase == JobStatus::Phase::kEnding) return std::chrono::seconds(1);
  // Once the job runs, only its end is of interest, should the daemon not come.
  if (phase == JobStatus::Phase::kRunning)
    return std::clamp(std::chrono::duration_cast<milliseconds>(waited / 4), milliseconds(2000), milliseconds(15'000));
  if (waited > std::chrono::hours(1)) return std::chrono::seconds(30);
  if (waited > std::chrono::minutes(10)) return std::chrono::seconds(10);
  return std::clamp(std::chrono::duration_cast<milliseconds>(waited / 2), milliseconds(300), milliseconds(5000));
}

AllocationWait::Result AllocationWait::Run(std::optional<Steady::time_point> deadline) const {
  Result result{End::kInterrupted, "", {}, {}, absl::OkStatus()};
  const Steady::time_point begin = now();
  Steady::time_point next_question = begin;
  // When the record was first seen; never, while it is not there.
  constexpr Steady::time_point kNever = Steady::time_point::max();
  Steady::time_point seen = kNever;
  Steady::time_point running_since = kNever;
  bool reach_told = false;
  std::string advised;
  std::set<std::string> others;
  for (bool told = false;;) {
    if (const auto name = RecordedName(directory, note, &others)) {
      result.name = *name;
      seen = std::min(seen, now());
      if (auto info = ask(*name); info.ok() && info->state() == v1::SERVING) {
        if (result.status.phase != JobStatus::Phase::kRunning)  // Slurm was not asked since
          line.Show("RUNNING", info->node(), "job " + note.job.id + "  RUNNING  on " + info->node());
        result.end = End::kReady;
        result.info = *std::move(info);
        return result;
      } else {
        result.why = info.status();
      }
    } else {
      seen = kNever;
    }
    const bool running = result.status.phase == JobStatus::Phase::kRunning;
    if (seen != kNever && running && !result.why.ok() &&
        (absl::IsPermissionDenied(result.why) || now() - seen > kReachPatience)) {
      result.end = End::kUnreachable;
      return result;
    }
    if (seen != kNever && running && !result.why.ok() && !reach_told && now() - seen > kReachSilence) {
      line.Say("  ! its daemon has started but cannot be reached from here yet: " +
               Printable(client::WithoutHowToStart(std::string(result.why.message()))));
      reach_told = true;
    }
    running_since = running ? std::min(running_since, now()) : kNever;
    if (running && !told && seen == kNever && now() - running_since > kRecordPatience) {
      line.Say("  ! no record in " + directory +
               "/servers yet: does the node see that folder? output: " + note.output_file);
      told = true;
    }
    if (now() >= next_question) {
      const auto status = scheduler.State(note.job);
      if (!status.ok()) {
        if (!pause(milliseconds(0))) return result;  // the interrupt broke the question off
        line.Show("no answer", "no answer",
                  "job " + note.job.id + "  " + scheduler.Name() +
                      " does not answer: " + std::string(status.status().message()));
      } else if (status->phase != JobStatus::Phase::kForgotten || now() - begin > kForgottenPatience) {
        result.status = *status;
        if (status->over()) {
          result.end = End::kOver;
          return result;
        }
        line.Show(status->state, status->phase == JobStatus::Phase::kPending ? status->reason : status->state,
                  StateText(note.job, *status) + (status->phase == JobStatus::Phase::kRunning ? "  STARTING" : ""));
        const std::string advice =
            status->phase == JobStatus::Phase::kPending ? WhatToDoAboutReason(status->reason) : "";
        if (!advice.empty() && advice != advised) line.Say("  ! " + status->reason + ": " + advice);
        advised = advice;
      }
      next_question = now() + NextQuestion(now() - (running ? running_since : begin), result.status.phase);
    }
    if (starter_ended()) {
      result.end = End::kOver;
      return result;
    }
    if (deadline && now() >= *deadline) {
      result.end = End::kTimeout;
      return result;
    }
    line.Tick();
    if (!pause(kLook)) return result;
  }
}

}  // namespace hotplate::cli
