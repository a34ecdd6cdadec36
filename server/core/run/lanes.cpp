#include "server/core/run/lanes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/quantity.h"
#include "server/core/run/outputs.h"
#include "server/core/run/receipt.h"

namespace hotplate::core {

Lanes::Lanes(Parts parts, std::uint64_t inline_bytes) : parts_(parts), inline_bytes_(inline_bytes) {
  for (const KernelSpec& spec : parts_.catalog.specs()) spec_hashes_.emplace(&spec, spec.Hash());
  MutexLock lock(mutex_);
  opening_.resize(parts_.devices.count());
  for (unsigned device = 0; device < parts_.devices.count(); ++device) {
    const int lanes = std::max(1, parts_.devices[device].info().lanes);
    opening_[device].under_way = static_cast<unsigned>(lanes);
    for (int i = 0; i < lanes; ++i) {
      seats_.push_back(std::make_unique<Seat>());
      parts_.scheduler.AddSeat(device, *seats_.back());
    }
  }
  for (const std::unique_ptr<Seat>& seat : seats_) {
    seat->thread = std::thread([this, &one = *seat] { RunThread(one); });
  }
  const auto under_way = [&] {
    mutex_.AssertHeld();
    return std::any_of(opening_.begin(), opening_.end(), [](const Opening& one) { return one.under_way > 0; });
  };
  while (under_way()) opened_.Wait(mutex_);
}

Lanes::~Lanes() {
  parts_.scheduler.Stop();
  for (const std::unique_ptr<Seat>& seat : seats_) seat->thread.join();
}

void Lanes::RunThread(Seat& seat) {
  Device& device = parts_.devices[seat.device()];
  absl::StatusOr<std::unique_ptr<Lane>> lane = device.OpenLane();
  if (lane.ok()) {
    seat.lane = *std::move(lane);
    seat.runner = std::make_unique<TaskRunner>(parts_.arrays, parts_.clock, device.info());
  }
  Opened(seat, lane.status());
  if (seat.lane == nullptr) return;
  for (Scheduler::Begun begun = parts_.scheduler.Take(seat); begun.entry != nullptr;
       begun = parts_.scheduler.Take(seat)) {
    Run(begun);
  }
  seat.runner.reset();
  seat.lane.reset();
}

void Lanes::Opened(Seat& seat, const absl::Status& status) {
  const unsigned device = seat.device();
  if (!status.ok()) {
    parts_.log(LogLevel::kWarning,
               absl::StrCat("a lane of ", parts_.devices[device].info().id, " did not open: ", status.message()));
  }
  bool none_open = false;
  {
    MutexLock lock(mutex_);
    Opening& opening = opening_[device];
    if (status.ok()) ++opening.open;
    none_open = opening.under_way == 1 && opening.open == 0;
  }
  // Before the lanes are said to be open.
  if (none_open) Lose(device, absl::StrCat("none of its lanes opened: ", status.message()));
  MutexLock lock(mutex_);
  --opening_[device].under_way;
  opened_.NotifyAll();
}

void Lanes::Run(const Scheduler::Begun& begun) {
  Seat& seat = static_cast<Seat&>(*begun.seat);
  Job& job = static_cast<Job&>(*begun.entry);
  const std::shared_ptr<Job> kept = job.shared_from_this();
  parts_.jobs.Started(job, parts_.devices[seat.device()].info().id, begun.time);
  RunResult result = seat.runner->Run(job, spec_hashes_.at(job.kernel), *job.NeedOf(seat.device()),
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
    end.error = PlaceOutputs(job, standing, inline_bytes_, parts_.sessions, parts_.arrays, result.outputs, owned);
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
  std::optional<std::vector<QueueEntry*>> entries = parts_.scheduler.Lose(device, reason);
  if (!entries) return "";
  stranded = *std::move(entries);
  parts_.log(LogLevel::kError,
             absl::StrCat("device ", parts_.devices[device].info().id, " is lost and takes no more jobs: ", reason));
  LoseArrays(device, reason);
  return reason;
}

void Lanes::LoseArrays(unsigned device, const std::string& reason) {
  const std::string& id = parts_.devices[device].info().id;
  std::vector<std::string> names;
  for (const ArraySnapshot& array : parts_.arrays.LoseDevice(id, reason)) names.push_back(array.label());
  if (names.empty()) return;
  parts_.log(LogLevel::kError, absl::StrCat("lost with device ", id, ", which had their only copy: ",
                                            names.size() == 1 ? "array " : "arrays ", absl::StrJoin(names, ", ")));
}

void Lanes::FailStranded(unsigned device, const std::string& reason, const std::vector<QueueEntry*>& stranded) {
  for (QueueEntry* const entry : stranded) {
    parts_.jobs.End(static_cast<Job&>(*entry),
                    {.state = JobState::kFailed,
                     .error = absl::UnavailableError(absl::StrCat("device ", parts_.devices[device].info().id,
                                                                  " was lost before the job ran: ", reason,
                                                                  "; submit it for another device")),
                     .outputs = {},
                     .receipt = std::nullopt});
  }
}

}  // namespace hotplate::core
