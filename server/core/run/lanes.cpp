#include "server/core/run/lanes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/quantity.h"
#include "server/core/run/outputs.h"
#include "server/core/run/outside_work.h"
#include "server/core/run/receipt.h"
#include "server/core/sweeps/sweep_run.h"

namespace hotplate::core {
namespace {

unsigned LanesOf(const Device& device) { return static_cast<unsigned>(std::max(1, device.info().lanes)); }

}  // namespace

Lanes::Lanes(Parts parts, std::uint64_t inline_bytes, ReopenOptions reopen)
    : parts_(parts), inline_bytes_(inline_bytes), reopen_(reopen) {
  MutexLock lock(mutex_);
  lanes_.resize(parts_.devices.count());
  for (unsigned device = 0; device < parts_.devices.count(); ++device) {
    lanes_[device].opening = LanesOf(parts_.devices[device]);
    for (unsigned i = 0; i < lanes_[device].opening; ++i) {
      seats_.push_back(std::make_unique<Seat>());
      seats_.back()->first = i == 0;
      parts_.scheduler.AddSeat(device, *seats_.back());
    }
    for (unsigned i = 0; i < parts_.devices.WorkersOf(device); ++i) {
      seats_.push_back(std::make_unique<Seat>());
      seats_.back()->for_worker = true;
      parts_.scheduler.AddSeat(device, *seats_.back(), /*for_worker=*/true);
    }
  }
  for (const std::unique_ptr<Seat>& seat : seats_) {
    seat->thread = std::thread([this, &one = *seat] { RunThread(one); });
  }
  const auto opening = [&] {
    mutex_.AssertHeld();
    return std::any_of(lanes_.begin(), lanes_.end(), [](const DeviceLanes& one) { return one.settled == 0; });
  };
  while (opening()) changed_.Wait(mutex_);
}

Lanes::~Lanes() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  parts_.scheduler.Stop();
  for (const std::unique_ptr<Seat>& seat : seats_) seat->thread.join();
}

void Lanes::RunThread(Seat& seat) {
  for (unsigned round = 1; round != 0; round = NextRound(seat, round)) {
    if (!OpenLane(seat, round)) continue;
    for (Scheduler::Begun begun = parts_.scheduler.Take(seat); begun.entry != nullptr;
         begun = parts_.scheduler.Take(seat)) {
      Run(begun);
    }
    CloseLane(seat);
  }
}

bool Lanes::OpenLane(Seat& seat, unsigned round) {
  const unsigned index = seat.device();
  Device& device = parts_.devices[index];
  if (seat.for_worker) {
    seat.runner = std::make_unique<TaskRunner>(parts_.arrays, parts_.clock, device.info(), inline_bytes_);
    MutexLock lock(mutex_);
    while (!stopping_ && lanes_[index].settled < round) changed_.Wait(mutex_);
    return true;
  }
  absl::StatusOr<std::unique_ptr<Lane>> lane = device.OpenLane();
  if (lane.ok()) {
    seat.lane = *std::move(lane);
    seat.runner = std::make_unique<TaskRunner>(parts_.arrays, parts_.clock, device.info(), inline_bytes_);
  }
  bool last = false, often = false;
  {
    MutexLock lock(mutex_);
    if (lane.ok()) ++lanes_[index].open;
    last = --lanes_[index].opening == 0;
    often = lanes_[index].tries > 1;
  }
  if (!lane.ok()) {
    // At later tries, which may go on for days, this is told as the reason why the device stays lost.
    parts_.log(often ? LogLevel::kDebug : LogLevel::kWarning,
               absl::StrCat("a lane of ", device.info().id, " did not open: ", lane.status().message()));
  }
  if (last) Settle(index, round, lane.status());
  MutexLock lock(mutex_);
  while (!stopping_ && lanes_[index].settled < round) changed_.Wait(mutex_);  // the next one may have begun meanwhile
  return seat.lane != nullptr;
}

void Lanes::CloseLane(Seat& seat) {
  seat.runner.reset();
  seat.lane.reset();
  if (seat.for_worker) return;
  MutexLock lock(mutex_);
  --lanes_[seat.device()].open;
  changed_.NotifyAll();
}

void Lanes::Settle(unsigned index, unsigned round, const absl::Status& status) {
  const Device& device = parts_.devices[index];
  unsigned open = 0;
  {
    MutexLock lock(mutex_);
    open = lanes_[index].open;
  }
  // Before the lanes' threads go on.
  if (open == 0) {
    const std::string why = absl::StrCat("none of its lanes opened: ", status.message());
    if (round == 1) {
      Lose(index, why);
    } else {
      TellStillLost(index, why, /*hopeless=*/false);
    }
  } else if (round > 1) {
    parts_.scheduler.Regain(index, device.FreeBytes());
    const std::string back = absl::StrCat("device ", device.info().id, " is back and takes jobs again, on ", open,
                                          " of ", LanesOf(device), " lanes");
    parts_.log(LogLevel::kInfo, back);
    parts_.jobs.Announce(back, std::nullopt);
  }
  MutexLock lock(mutex_);
  lanes_[index].settled = round;
  if (open > 0) lanes_[index].ready_since = std::chrono::steady_clock::now();
  changed_.NotifyAll();
}

unsigned Lanes::NextRound(const Seat& seat, unsigned round) {
  if (seat.first) return Reopen(seat.device());
  MutexLock lock(mutex_);
  const DeviceLanes& lanes = lanes_[seat.device()];
  while (!stopping_ && lanes.round == round) changed_.Wait(mutex_);
  return stopping_ ? 0 : lanes.round;
}

unsigned Lanes::Reopen(unsigned index) {
  MutexLock lock(mutex_);
  DeviceLanes& lanes = lanes_[index];
  // Its other lanes may still run something, and are all well if only this thread's did not open.
  while (!stopping_ && lanes.open > 0) changed_.Wait(mutex_);
  if (lanes.ready_since && std::chrono::steady_clock::now() - *lanes.ready_since > reopen_.longest_pause) {
    lanes.tries = 0;
  }
  lanes.ready_since.reset();
  if (!stopping_) {
    lock.Unlock();
    LoseRest(index);
    lock.Lock();
  }
  while (!stopping_) {
    const auto until = std::chrono::steady_clock::now() + PauseBefore(lanes.tries++, reopen_);
    while (!stopping_ && changed_.WaitUntil(mutex_, until)) {
    }
    if (stopping_) break;
    lock.Unlock();
    const absl::Status status = parts_.devices[index].Reopen();
    const bool hopeless = !status.ok() && !absl::IsUnavailable(status);
    if (!status.ok()) TellStillLost(index, std::string(status.message()), hopeless);
    lock.Lock();
    while (hopeless && !stopping_) changed_.Wait(mutex_);
    if (stopping_ || !status.ok()) continue;
    lanes.opening = LanesOf(parts_.devices[index]);
    ++lanes.round;
    changed_.NotifyAll();
    return lanes.round;
  }
  return 0;
}

void Lanes::TellStillLost(unsigned device, const std::string& why, bool hopeless) {
  const std::string& id = parts_.devices[device].info().id;
  const bool news = parts_.scheduler.StillLost(
      device, absl::StrCat(hopeless ? "it cannot be reopened: " : "it was not reopened, and is tried again: ", why));
  if (hopeless) {
    const std::string stays = absl::StrCat("device ", id, " stays away: it cannot be reopened: ", why);
    parts_.log(LogLevel::kError, stays);
    parts_.jobs.Announce(stays, std::nullopt);
  } else {
    // Each try may say the same, for days.
    parts_.log(news ? LogLevel::kWarning : LogLevel::kDebug,
               absl::StrCat("device ", id, " was not reopened, and is tried again: ", why));
  }
}

void Lanes::Run(const Scheduler::Begun& begun) {
  Seat& seat = static_cast<Seat&>(*begun.seat);
  Job& job = static_cast<Job&>(*begun.entry);
  const std::shared_ptr<Job> kept = job.shared_from_this();
  parts_.jobs.Started(job, parts_.devices[seat.device()].info().id, begun.time);
  parts_.history.NoteStart(job, begun.time - job.submit_time);
  RunResult result = job.work != nullptr
                         ? seat.runner->RunOutside(job, parts_.devices[seat.device()], parts_.scheduler)
                         : seat.runner->Run(job, job.bound.call.spec->Hash(), *job.NeedOf(seat.device()),
                                            [&](const Task& task) { return seat.lane->Run(task, job.control); });
  Finish(seat, job, begun, std::move(result));
}

void Lanes::Finish(Seat& seat, Job& job, const Scheduler::Begun& begun, RunResult result) {
  const unsigned device = seat.device();
  const DeviceInfo& info = parts_.devices[device].info();
  const SteadyTime end_time = parts_.clock.Now();
  JobReceipt receipt =
      MakeReceipt(job, *job.NeedOf(device), info, result, begun.cold, begun.time, end_time, parts_.clock.WallNow());
  receipt.conditions = parts_.devices.ConditionsOf(device, result, begun.time, end_time);
  std::vector<ArrayId> owned;
  JobEnd end = EndOf(job, info.id, result, owned);
  result.outputs.clear();  // of a job that did not complete; before anybody hears of its end

  std::vector<QueueEntry*> stranded;
  std::string lost;
  if (result.kind == RunResult::Kind::kDeviceLost) {
    lost = MarkLost(device, absl::StrCat("job ", job.id.value(), ": ", result.error.message()), stranded);
  }
  // Tiny jobs are over before anybody could ask.
  if (end.state == JobState::kCompleted && !job.tiny) parts_.history.Learn(job, device, receipt);
  receipt.device_shared = parts_.scheduler.Finished(seat, end.state == JobState::kCompleted);
  end.receipt = std::move(receipt);
  parts_.jobs.End(job, std::move(end), std::move(owned));
  FailStranded(device, lost, stranded);
}

JobEnd Lanes::EndOf(Job& job, const std::string& device, RunResult& result, std::vector<ArrayId>& owned) {
  using Kind = RunResult::Kind;
  JobEnd end{.state = JobState::kFailed, .error = result.error, .outputs = {}, .receipt = std::nullopt};
  if (result.kind != Kind::kCompleted && result.kind != Kind::kCancelled) return end;
  const Jobs::Standing standing = parts_.jobs.StandingOf(job);
  if (standing.time_limit_reached) {
    end.state = JobState::kTimeout;
    end.error = absl::DeadlineExceededError(
        absl::StrCat("job ", job.id.value(), " reached its time limit of ", DurationText(*job.time_limit)));
  } else if (standing.cancel_requested) {
    end.state = JobState::kCancelled;
    end.error = absl::CancelledError(absl::StrCat("job ", job.id.value(), " ", standing.cancel_reason));
  } else if (result.kind == Kind::kCancelled) {
    end.error = absl::InternalError(
        absl::StrCat(job.spec().name(), " says on ", device, " that it was cancelled, but nobody asked for it"));
  } else {
    // A task's become rows of its sweep's.
    if (job.task_of == nullptr) {
      end.error = PlaceOutputs(job, standing, inline_bytes_, parts_.sessions, parts_.arrays, result.outputs, owned);
    }
    if (!end.error.ok()) return end;
    end.state = JobState::kCompleted;
    end.outputs = std::move(result.outputs);
  }
  return end;
}

void Lanes::Lose(std::size_t device, const std::string& why) {
  std::vector<QueueEntry*> stranded;
  const std::string reason = MarkLost(static_cast<unsigned>(device), why, stranded);
  FailStranded(static_cast<unsigned>(device), reason, stranded);
}

std::string Lanes::MarkLost(unsigned device, const std::string& why, std::vector<QueueEntry*>& stranded) {
  std::string reason = absl::StrCat(why, " (since ", UtcText(parts_.clock.WallNow()), ")");
  const std::string& id = parts_.devices[device].info().id;
  // Before the scheduler is told: from then on it may come back at any time, and have arrays that are not lost.
  const std::vector<ArraySnapshot> gone = parts_.arrays.LoseDevice(id, reason);
  std::optional<std::vector<QueueEntry*>> entries = parts_.scheduler.Lose(device, reason);
  if (entries) {
    const std::string lost = absl::StrCat("device ", id, " is lost and takes no jobs until it is back: ", reason);
    parts_.log(LogLevel::kError, lost);
    parts_.jobs.Announce(lost, std::nullopt);
  }
  NameLost(id, gone);
  if (!entries) return "";
  stranded = *std::move(entries);
  return reason;
}

void Lanes::LoseRest(unsigned device) {
  const std::vector<std::string> reasons = parts_.scheduler.LostDevices();
  if (reasons.empty() || reasons[device].empty()) return;
  const std::string& id = parts_.devices[device].info().id;
  NameLost(id, parts_.arrays.LoseDevice(id, reasons[device]));
}

void Lanes::NameLost(const std::string& device, const std::vector<ArraySnapshot>& gone) {
  if (gone.empty()) return;
  std::vector<std::string> names;
  for (const ArraySnapshot& array : gone) names.push_back(array.label());
  parts_.log(LogLevel::kError, absl::StrCat("lost with device ", device, ", which had their only copy: ",
                                            names.size() == 1 ? "array " : "arrays ", absl::StrJoin(names, ", ")));
}

void Lanes::FailStranded(unsigned device, const std::string& reason, const std::vector<QueueEntry*>& stranded) {
  for (QueueEntry* const entry : stranded) {
    Job& job = static_cast<Job&>(*entry);
    if (const std::shared_ptr<SweepRun> sweep = job.task_of) {
      sweep->Stranded(job);
      continue;
    }
    parts_.jobs.End(job, {.state = JobState::kFailed,
                          .error = absl::UnavailableError(absl::StrCat("device ", parts_.devices[device].info().id,
                                                                       " was lost before the job ran: ", reason,
                                                                       "; submit it for another device")),
                          .outputs = {},
                          .receipt = std::nullopt});
  }
}

}  // namespace hotplate::core
