#include "server/core/admission.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"

namespace hotplate::core {

std::optional<nanoseconds> Admission::TimeLeft() const {
  const std::optional<WallTime> end = parts_.allocation_end ? parts_.allocation_end() : std::nullopt;
  if (!end) return std::nullopt;
  return std::max<nanoseconds>(*end - parts_.clock.WallNow() - parts_.end_margin, nanoseconds::zero());
}

std::optional<RunTimes::Estimate> Admission::TooLong(const Candidate& job) const {
  if (job.kind == RunTimes::kNoKind || job.time_limit) return std::nullopt;
  const std::optional<nanoseconds> left = TimeLeft();
  if (!left) return std::nullopt;
  const std::optional<RunTimes::Estimate> estimate = parts_.times.Of(job.kind);
  if (!estimate || estimate->runs < kEnoughRuns) return std::nullopt;
  if ((job.is_outside ? estimate->low : estimate->median) <= *left) return std::nullopt;
  return estimate;
}

absl::Status Admission::Check(const Candidate& job, bool durable) const {
  const std::optional<RunTimes::Estimate> estimate = TooLong(job);
  if (!estimate || (durable && HasSuccessor())) return absl::OkStatus();
  const nanoseconds left = TimeLeft().value_or(nanoseconds::zero());
  return Refused(
      absl::StatusCode::kFailedPrecondition,
      {{"time_limit",
        absl::StrCat(job.kernel.name(), job.is_outside ? " of this name" : " of this size", " takes about ",
                     DurationText(estimate->median), " (", estimate->runs, " runs), and only ", DurationText(left),
                     " are left of the allocation; give a time limit to run it for as long as there is, or "
                     "submit it to a daemon that another one follows (hotplate up --follow-on 1)")}});
}

bool Admission::Leave(Job& job) {
  if (!job.durable || !TooLong(CandidateOf(job)) || !HasSuccessor()) return false;
  // In this order, so that a cancel that comes meanwhile finds it in one of the two places.
  job.suspended.store(true);
  if (!parts_.scheduler.Remove(job)) {
    job.suspended.store(false);
    return true;
  }
  MutexLock lock(mutex_);
  left_.push_back(job.shared_from_this());
  return true;
}

std::vector<std::shared_ptr<Job>> Admission::TakeBack() {
  std::vector<std::shared_ptr<Job>> back;
  {
    MutexLock lock(mutex_);
    if (left_.empty()) return back;
  }
  const bool has_successor = HasSuccessor();  // may ask others
  MutexLock lock(mutex_);
  const auto stays = [&](const std::shared_ptr<Job>& job) {
    if (!job->suspended.load()) return false;  // cancelled
    if (has_successor && TooLong(CandidateOf(*job))) return true;
    if (job->suspended.exchange(false)) back.push_back(job);
    return false;
  };
  left_.erase(std::stable_partition(left_.begin(), left_.end(), stays), left_.end());
  return back;
}

void Admission::Keep(std::shared_ptr<Job> job) {
  MutexLock lock(mutex_);
  job->suspended.store(true);
  left_.push_back(std::move(job));
}

bool Admission::IsLeft(const Job& job) const {
  MutexLock lock(mutex_);
  return job.suspended.load() &&
         std::any_of(left_.begin(), left_.end(), [&](const auto& one) { return one.get() == &job; });
}

std::size_t Admission::left() const {
  MutexLock lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(left_.begin(), left_.end(), [](const auto& one) { return one->suspended.load(); }));
}

}  // namespace hotplate::core
