#include "server/slurm/allocation_end.h"

#include <iterator>
#include <utility>

#include "kernels/base/status.h"
#include "server/slurm/own_cluster.h"

namespace hotplate::server {
namespace {

constexpr std::chrono::nanoseconds kWarnings[] = {std::chrono::minutes(10), std::chrono::minutes(2)};

}  // namespace

AllocationEnd::AllocationEnd(Options options) : options_(std::move(options)), end_(0) {
  if (options_.known) end_ = std::chrono::nanoseconds(options_.known->time_since_epoch()).count();
}

std::optional<core::WallTime> AllocationEnd::Get() const {
  const std::int64_t end = end_.load(std::memory_order_relaxed);
  if (end == 0) return std::nullopt;
  return core::WallTime(std::chrono::duration_cast<core::WallTime::duration>(std::chrono::nanoseconds(end)));
}

void AllocationEnd::Start() {
  if (options_.interval.count() > 0 && !thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void AllocationEnd::Stop() {
  {
    MutexLock lock(mutex_);
    stop_.request_stop();
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

bool AllocationEnd::Refresh() {
  if (!thread_.joinable()) return false;
  {
    MutexLock lock(mutex_);
    refresh_ = true;
  }
  wake_.NotifyAll();
  return true;
}

void AllocationEnd::Run() {
  bool told = false;
  MutexLock lock(mutex_);
  while (!stop_.stop_requested()) {
    refresh_ = false;
    lock.Unlock();
    const absl::StatusOr<core::WallTime> now = options_.ask(stop_.get_token());
    if (now.ok()) {
      const std::optional<core::WallTime> before = Get();
      end_ = std::chrono::nanoseconds(now->time_since_epoch()).count();
      if (before != *now) options_.changed(before, *now);
    } else if (!told && !stop_.stop_requested()) {
      options_.failed(now.status());
    }
    told = !now.ok();
    ++answers_;
    if (options_.then && !stop_.stop_requested()) options_.then(stop_.get_token());
    lock.Lock();
    const auto next = std::chrono::steady_clock::now() + options_.interval;
    while (!stop_.stop_requested() && !refresh_ && wake_.WaitUntil(mutex_, next)) {
    }
  }
}

absl::StatusOr<core::WallTime> AskSqueue(const std::string& job_id, const std::stop_token& stop) {
  const absl::StatusOr<std::optional<SlurmJob>> job = OwnCluster(stop).Queued(job_id);
  if (!job.ok()) return job.status();
  if (!*job) return absl::NotFoundError(ToAbsl("squeue knows no job " + job_id));
  if ((*job)->end) return core::WallTime(std::chrono::seconds(*(*job)->end));
  return absl::NotFoundError(ToAbsl("squeue gave no end of job " + job_id + ", which is " + (*job)->state));
}

bool EndWarnings::Due(std::chrono::nanoseconds left) {
  bool due = false;
  for (std::size_t i = 0; i < std::size(kWarnings); ++i) {
    const bool near = left <= kWarnings[i];
    due |= near && !said_[i];
    said_[i] = near;
  }
  return due;
}

}  // namespace hotplate::server
