#include "server/core/sweeps/sweep_run.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/jobs/job_event.h"
#include "server/core/jobs/make_job.h"
#include "server/core/run_history.h"

namespace hotplate::core {
namespace {

// Enough for a lane to find its next task in the queue when it ends one.
constexpr std::size_t kTasksPerLane = 4;
constexpr std::size_t kLeastTasks = 16;
// Work that is not the catalogue's takes milliseconds to begin at least, and holds its text meanwhile.
constexpr std::size_t kProgramsPerLane = 2;

}  // namespace

SweepRun::SweepRun(const Parts& parts, Principal who, JobRequest base, std::shared_ptr<const SweepPlan> plan)
    : parts_(parts),
      who_(std::move(who)),
      base_(std::move(base)),
      plan_(std::move(plan)),
      window_(base_.work != nullptr ? std::max<std::size_t>(1, parts.lanes * kProgramsPerLane)
                                    : std::max(kLeastTasks, parts.lanes * kTasksPerLane)) {}

void SweepRun::RunFor(Job& job) {
  job_ = job.weak_from_this();
  job.sweep = shared_from_this();
}

void SweepRun::Begin() {
  {
    MutexLock lock(mutex_);
    flushed_ = parts_.clock.Now();
    // A daemon before this one may have died of it.
    if (TooManyFailed()) stop_ = Stop::kTooManyFailed;
  }
  Feed();
  EndIfOver();  // a daemon before this one may have run the last task
}

std::optional<std::uint64_t> SweepRun::NextRow() {
  if (stop_ != Stop::kNo || no_device_ || places_taken_ >= window_) return std::nullopt;
  while (next_ < states_.size() && states_[next_] != State::kToRun) ++next_;
  std::optional<std::uint64_t> row;
  if (next_ < states_.size()) {
    row = next_++;
  } else if (!again_.empty()) {
    row = again_.front();
    again_.pop_front();
  }
  if (row) {
    states_[*row] = State::kRunning;
    ++places_taken_;
  }
  return row;
}

void SweepRun::Feed() {
  const std::shared_ptr<Job> job = job_.lock();
  if (job == nullptr) return;
  while (true) {
    std::uint64_t row = 0;
    {
      MutexLock lock(mutex_);
      const std::optional<std::uint64_t> next = NextRow();
      if (!next) return;
      row = *next;
    }
    const std::vector<std::string> lost = parts_.scheduler.LostDevices();
    absl::StatusOr<std::shared_ptr<Job>> made = MakeTask(job, row, lost);
    if (!made.ok()) {
      // It could run when the sweep was checked, and all devices were there.
      if (!lost.empty()) return PutBack(row);
      Settle(row, {.state = JobState::kFailed, .error = made.status(), .outputs = {}, .receipt = std::nullopt});
      continue;
    }
    const std::shared_ptr<Job> task = *std::move(made);
    {
      MutexLock lock(mutex_);
      under_way_[row] = task;
    }
    // The sweep has its place in the queue, so that only lost devices are in the way.
    if (!parts_.scheduler.Admit(*task, Scheduler::Limit::kPassed).ok()) return PutBack(row);
    parts_.scheduler.Push(*task, /*may_run_here=*/false);
    std::string stopped;
    {
      MutexLock lock(mutex_);
      if (stop_ != Stop::kNo) stopped = stop_reason_;
    }
    // A stop that came in between may have found the task nowhere.
    if (!stopped.empty()) StopTask(*task, stopped);
  }
}

void SweepRun::StopTask(Job& task, const std::string& reason) {
  if (parts_.scheduler.Remove(task)) {
    Settle(task.row,
           {.state = JobState::kCancelled, .error = absl::OkStatus(), .outputs = {}, .receipt = std::nullopt});
    return;
  }
  parts_.jobs.RequestCancel(task, reason);
  task.control.RequestCancel();
}

absl::StatusOr<std::shared_ptr<Job>> SweepRun::MakeTask(const std::shared_ptr<Job>& job, std::uint64_t row,
                                                        const std::vector<std::string>& lost) {
  JobRequest request = RequestOf(row);
  absl::StatusOr<BoundJob> bound = parts_.binder.Bind(who_, request, Binder::Data::kRequired, lost);
  if (!bound.ok()) return bound.status();
  std::shared_ptr<Job> task = MakeJob(who_, request, *std::move(bound), "", parts_.inline_bytes);
  task->id = JobId(absl::StrCat(job->id.value(), ".", plan_->TaskOf(row)));
  task->sequence = job->sequence;
  task->token = job->token;
  task->share = job->share;
  // Tasks may differ in size.
  task->kind =
      job->kind == RunTimes::kMoment ? job->kind : parts_.history.KindOf(task->bound, task->work.get(), task->label);
  task->task_of = shared_from_this();
  task->row = row;
  task->submit_time = parts_.clock.Now();
  if (absl::Status status =
          Apply(*task, {.kind = JobEvent::Kind::kSubmitted, .time = parts_.clock.WallNow(), .at = task->submit_time});
      !status.ok()) {
    return status;
  }
  return task;
}

void SweepRun::Started(const std::string& device, SteadyTime at) {
  {
    MutexLock lock(mutex_);
    // With --no-rerun nothing may run before the start is on the disk.
    while (start_ == Start::kUnderWay) start_done_.Wait(mutex_);
    if (start_ == Start::kDone) return;
    start_ = Start::kUnderWay;
    start_time_ = at;
    receipt_.device = device;
  }
  if (const std::shared_ptr<Job> job = job_.lock()) {
    parts_.scheduler.Remove(*job);  // it waits no more
    parts_.jobs.Started(*job, device, at);
  }
  MutexLock lock(mutex_);
  start_ = Start::kDone;
  start_done_.NotifyAll();
}

void SweepRun::Ended(Job& task, JobEnd end) {
  if (end.state == JobState::kCompleted) {
    for (std::size_t i = 0; i < outputs_.size() && i < end.outputs.size(); ++i) {
      const Output& output = outputs_[i];
      if (output.row_bytes == 0 || end.outputs[i].data == nullptr) continue;
      std::memcpy(output.buffer->data() + task.row * output.row_bytes, end.outputs[i].data->data(), output.row_bytes);
    }
  }
  end.outputs.clear();
  Settle(task.row, end, task.work);
  Feed();
  EndIfOver();
}

void SweepRun::Stranded(const Job& task) {
  PutBack(task.row);
  EndIfOver();  // it may have been stopped meanwhile
}

void SweepRun::PutBack(std::uint64_t row) {
  std::shared_ptr<Job> gone;  // after the lock
  MutexLock lock(mutex_);
  if (const auto at = under_way_.find(row); at != under_way_.end()) {
    gone = std::move(at->second);
    under_way_.erase(at);
  }
  --places_taken_;
  states_[row] = State::kToRun;
  again_.push_back(row);
  no_device_ = true;
}

void SweepRun::Retry() {
  {
    MutexLock lock(mutex_);
    if (!std::exchange(no_device_, false)) return;
  }
  Feed();
  EndIfOver();
}

void SweepRun::Fail(std::uint64_t row, JobState state, const absl::Status& error) {
  states_[row] = State::kFailed;
  ++failed_;
  if (failures_.size() < SweepOutcome::kMostFailures) {
    const std::uint64_t task = plan_->TaskOf(row);
    failures_.push_back({task, state == JobState::kTimeout, plan_->ValuesOf(task), error});
  }
}

void SweepRun::Settle(std::uint64_t row, const JobEnd& end, std::shared_ptr<OutsideWork> work) {
  bool too_many = false;
  {
    MutexLock lock(mutex_);
    under_way_.erase(row);
    --places_taken_;
    if (end.receipt) AddTo(receipt_, *end.receipt);
    const bool stopped = stop_ != Stop::kNo;
    if (end.state == JobState::kCompleted) {
      states_[row] = State::kCompleted;
      ++completed_;
      unflushed_.push_back({row, plan_->TaskOf(row), end.state, absl::OkStatus(), std::move(work)});
    } else if (stopped && (end.state == JobState::kCancelled || stop_ == Stop::kSuspended)) {
      states_[row] = State::kToRun;  // whatever it said when it was told to end
    } else if (!stopped && failed_before_[row] < plan_->parts().retries) {
      ++failed_before_[row];
      states_[row] = State::kToRun;
      again_.push_back(row);
    } else {
      Fail(row, end.state, end.error);
      unflushed_.push_back({row, plan_->TaskOf(row), end.state, end.error, std::move(work)});
      too_many = !stopped && TooManyFailed();
    }
  }
  if (too_many) StopTasks(Stop::kTooManyFailed, "is no longer wanted: too many tasks of its sweep failed");
  Look();
}

void SweepRun::StopTasks(Stop why, const std::string& reason) {
  std::vector<std::shared_ptr<Job>> tasks;
  {
    MutexLock lock(mutex_);
    if (stop_ != Stop::kNo && !(stop_ == Stop::kSuspended && why == Stop::kCancelled)) return;
    stop_ = why;
    stop_reason_ = reason;
    for (const auto& [row, task] : under_way_) tasks.push_back(task);
  }
  for (const std::shared_ptr<Job>& task : tasks) StopTask(*task, reason);
}

void SweepRun::Cancel(Job& job, const std::string& reason) {
  StopTasks(Stop::kCancelled, reason);
  job.control.RequestCancel();  // all tasks may have ended, and the result be on its way into files
  job.suspended.store(false);
  EndIfOver();
}

void SweepRun::Suspend() {
  StopTasks(Stop::kSuspended, "is left to the next daemon");
  EndIfOver();
}

void SweepRun::Look() {
  const std::shared_ptr<Job> job = job_.lock();
  if (job == nullptr) return;
  const TaskCounts counts = this->counts();
  std::atomic_ref(job->control.plain().progress)
      .store(static_cast<std::uint32_t>((counts.completed + counts.failed) * 1'000'000 / counts.total),
             std::memory_order_relaxed);
  const auto is_due = [&] {
    mutex_.AssertHeld();
    if (parts_.log == nullptr || !job->durable) unflushed_.clear();
    return !unflushed_.empty() && (places_taken_ == 0 || parts_.clock.Now() - flushed_ >= kFlushInterval);
  };
  {
    MutexLock lock(mutex_);
    if (!is_due()) return;
  }
  MutexLock writing(writing_);
  if (all_written_) return;
  TaskRows done;
  {
    MutexLock lock(mutex_);
    if (!is_due()) return;  // another thread was faster
    flushed_ = parts_.clock.Now();
    done.rows = std::exchange(unflushed_, {});
    for (const Output& output : outputs_) done.outputs.push_back({output.buffer, output.row_bytes});
  }
  parts_.log->WriteTasks(*job, std::move(done));
}

void SweepRun::EndIfOver() {
  const std::shared_ptr<Job> job = job_.lock();
  if (job == nullptr) return;
  {
    MutexLock lock(mutex_);
    if (over_ || places_taken_ > 0) return;
    if (stop_ == Stop::kSuspended) {
      job->suspended.store(true);
      return;
    }
    if (stop_ == Stop::kNo && completed_ + failed_ < plan_->rows()) return;
    over_ = true;
    if (stop_ != Stop::kNo) start_ = Start::kDone;  // nobody is told of the start of one that ends before it began
  }
  Look();
  {
    MutexLock writing(writing_);
    all_written_ = true;
  }
  parts_.scheduler.Remove(*job);
  Started("", parts_.clock.Now());  // where daemons before this one have run all tasks
  std::vector<ArrayId> owned;
  JobEnd end = MakeEnd(*job, owned);
  Release(end.sweep);  // before anybody hears of the end, and asks for the memory
  parts_.jobs.End(*job, std::move(end), std::move(owned));
}

void SweepRun::Release(std::shared_ptr<const SweepOutcome> outcome) {
  // Freed without the lock.
  std::vector<Output> outputs;
  std::vector<State> states;
  const JobRequest base = std::exchange(base_, JobRequest());
  MutexLock lock(mutex_);
  outcome_ = std::move(outcome);
  outputs.swap(outputs_);
  states.swap(states_);
  failed_before_ = std::unordered_map<std::uint64_t, std::uint32_t>();
}

}  // namespace hotplate::core
