// A sweep's result, and how far it is.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/run/outputs.h"
#include "server/core/sweeps/missing_value.h"
#include "server/core/sweeps/sweep_run.h"

namespace hotplate::core {
namespace {

template <typename T>
void Add(std::optional<T>& sum, const std::optional<T>& one) {
  if (one) sum = sum.value_or(T{}) + *one;
}

// "3 of 1000 tasks failed; task 7 (n=8): …"
std::string FailuresText(const SweepOutcome& outcome) {
  std::string text = absl::StrCat(outcome.counts.failed, " of ", outcome.counts.total, " tasks failed");
  if (outcome.failures.empty()) return text;
  const TaskFailure& first = outcome.failures.front();
  return absl::StrCat(text, "; ", TaskText(first.task, first.values), ": ", first.error.message());
}

}  // namespace

TaskCounts SweepRun::CountsLocked() const {
  return {.total = plan_->rows(), .completed = completed_, .failed = failed_, .running = under_way_.size()};
}

TaskCounts SweepRun::counts() const {
  MutexLock lock(mutex_);
  return CountsLocked();
}

bool SweepRun::is_over() const {
  MutexLock lock(mutex_);
  return over_;
}

SweepOutcome SweepRun::Outcome() const {
  MutexLock lock(mutex_);
  return OutcomeLocked();
}

SweepOutcome SweepRun::Glance() const {
  MutexLock lock(mutex_);
  return GlanceLocked();
}

SweepOutcome SweepRun::GlanceLocked() const {
  SweepOutcome outcome{
      .counts = CountsLocked(), .failures = failures_, .incomplete = {}, .spec = {}, .swept = plan_->Words()};
  std::sort(outcome.failures.begin(), outcome.failures.end(),
            [](const TaskFailure& a, const TaskFailure& b) { return a.task < b.task; });
  return outcome;
}

SweepOutcome SweepRun::OutcomeLocked() const {
  if (outcome_ != nullptr) return *outcome_;
  SweepOutcome outcome = GlanceLocked();
  outcome.spec = plan_->parts().spec;
  std::vector<TaskRange>& ranges = outcome.incomplete;
  for (std::uint64_t row = 0; row < states_.size(); ++row) {
    if (states_[row] == State::kCompleted) continue;
    const std::uint64_t task = plan_->TaskOf(row);
    if (!ranges.empty() && ranges.back().first + ranges.back().count == task) {
      ++ranges.back().count;
    } else {
      ranges.push_back({task, 1});
    }
  }
  return outcome;
}

void SweepRun::AddTo(JobReceipt& sum, const JobReceipt& one) const {
  Add(sum.load, one.load);
  Add(sum.host_to_device, one.host_to_device);
  Add(sum.compile, one.compile);
  Add(sum.kernel, one.kernel);
  Add(sum.device_to_host, one.device_to_host);
  sum.cost.flop += one.cost.flop;
  sum.cost.bytes += one.cost.bytes;
  sum.peak_bytes = std::max(sum.peak_bytes, one.peak_bytes);
  sum.threads = std::max(sum.threads, one.threads);
  sum.cold |= one.cold;
  sum.precision = one.precision;
  sum.deterministic = one.deterministic;
}

void SweepRun::FillIncomplete() {
  std::vector<State> states;
  {
    MutexLock lock(mutex_);
    if (completed_ == plan_->rows()) return;
    states = states_;
  }
  for (std::uint64_t row = 0; row < states.size(); ++row) {
    if (states[row] == State::kCompleted) continue;
    for (const Output& output : outputs_) {
      FillMissing(output.signature.dtype, output.buffer->bytes().subspan(row * output.row_bytes, output.row_bytes));
    }
  }
}

JobEnd SweepRun::MakeEnd(Job& job, std::vector<ArrayId>& owned) {
  JobEnd end;
  Stop stop = Stop::kNo;
  auto outcome = std::make_shared<SweepOutcome>();
  {
    MutexLock lock(mutex_);
    *outcome = OutcomeLocked();
    stop = stop_;
    const SteadyTime now = parts_.clock.Now();
    receipt_.seal_time = parts_.clock.WallNow();
    receipt_.queue = start_time_ == SteadyTime() ? nanoseconds::zero() : start_time_ - job.submit_time;
    receipt_.total = now - job.submit_time;
    if (outcome->counts.failed > 0) receipt_.warning = FailuresText(*outcome);
    if (start_time_ != SteadyTime()) end.receipt = receipt_;
  }
  end.sweep = outcome;
  const TaskCounts& counts = outcome->counts;
  if (stop == Stop::kCancelled) {
    end.state = JobState::kCancelled;
    end.error = absl::CancelledError(
        absl::StrCat("job ", job.id.value(), " ", parts_.jobs.StandingOf(job).cancel_reason, " when ",
                     counts.completed + counts.failed, " of ", counts.total, " tasks had ended"));
    return end;
  }
  if (stop == Stop::kTooManyFailed || counts.completed == 0) {
    end.state = JobState::kFailed;
    std::string text = FailuresText(*outcome);
    if (stop == Stop::kTooManyFailed) {
      absl::StrAppend(&text, " (more than ", *plan_->parts().most_failed, " end the sweep: --max-fails)");
    }
    end.error = absl::Status(
        outcome->failures.empty() ? absl::StatusCode::kInternal : outcome->failures.front().error.code(), text);
    return end;
  }
  FillIncomplete();
  MutexLock lock(mutex_);
  for (Output& output : outputs_) {
    end.outputs.push_back(
        {.name = output.name, .signature = output.signature, .data = std::move(output.buffer), .array = {}});
  }
  lock.Unlock();
  end.error = WriteFiles(job.bound, job.control, end.outputs);
  if (!end.error.ok()) {
    end.state = absl::IsCancelled(end.error) ? JobState::kCancelled : JobState::kFailed;
    end.outputs.clear();
    return end;
  }
  end.error = PlaceOutputs(job, parts_.jobs.StandingOf(job), parts_.inline_bytes, parts_.sessions, parts_.arrays,
                           end.outputs, owned);
  if (!end.error.ok()) {
    end.state = JobState::kFailed;
    end.outputs.clear();
  }
  return end;
}

}  // namespace hotplate::core
