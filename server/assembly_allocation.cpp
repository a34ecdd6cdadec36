// The daemon's assembly, as far as it follows the allocation that it runs in.
#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/base/quantity.h"
#include "server/assembly.h"
#include "server/slurm/own_cluster.h"
#include "server/slurm/successors.h"
#include "server/wire/values.h"

namespace hotplate::server {

using core::nanoseconds;
using std::chrono::seconds;

void Assembly::CancelSuccessors() {
  if (allocation_.system != BatchSystem::kSlurm) return;
  const absl::StatusOr<std::vector<std::string>> jobs =
      server::CancelSuccessors(OwnCluster({}), config_.name, allocation_.job_id);
  if (!jobs.ok()) {
    log_->warn("jobs that follow on this one, if there are any, stay in the queue: {}",
               std::string(jobs.status().message()));
  }
  if (jobs.ok()) job_ids_->NoteAlone();
  for (const std::string& job : jobs.value_or(std::vector<std::string>())) {
    log_->info("job {}, which was to follow on this one, is cancelled", job);
  }
}

void Assembly::FollowAllocation() {
  AllocationEnd::Options options;
  options.known = allocation_.end_time;
  if (allocation_.system == BatchSystem::kLsf) kill_wait_ = nanoseconds(kLsfKillWait);
  if (allocation_.system == BatchSystem::kSlurm && config_.squeue_interval.count() > 0) {
    options.interval = std::max<nanoseconds>(config_.squeue_interval, seconds(1));
  }
  options.ask = [this](const std::stop_token& stop) { return AskSqueue(allocation_.job_id, stop); };
  options.then = [this](const std::stop_token& stop) {
    AskWhenItIsKilled(stop);
    LookForSuccessors(stop);
  };
  options.changed = [this](std::optional<core::WallTime> before, core::WallTime now) { EndChanged(before, now); };
  options.failed = [this](const absl::Status& why) {
    log_->warn("{}; {}, and Slurm is asked again every {}", std::string(why.message()),
               end_->Get() ? "the allocation's end may have changed" : "when the allocation ends is not known",
               DurationText(config_.squeue_interval));
  };
  end_ = std::make_unique<AllocationEnd>(std::move(options));
  if (const auto end = end_->Get()) log_->info("allocation {} ends at {}", allocation_.job_id, UtcText(*end));
  end_->Start();
}

// On the thread that asks Slurm.
void Assembly::AskWhenItIsKilled(const std::stop_token& stop) {
  if (kill_wait_known_ || !kill_wait_tries_.Due(clock_.Now())) return;
  const absl::StatusOr<nanoseconds> wait = AskKillWait(stop);
  if (!wait.ok()) {
    log_->info("{}; Slurm's KillWait is taken for {}", std::string(wait.status().message()),
               DurationText(kill_wait_.load()));
    return;
  }
  kill_wait_known_ = true;
  kill_wait_ = *wait;
  const auto jobs = std::chrono::floor<std::chrono::milliseconds>(Divide(*wait).jobs);
  if (jobs >= config_.drain_timeout) return;
  log_->warn("Slurm kills {} after SIGTERM (its KillWait): jobs have {} then, not the drain timeout of {}",
             DurationText(*wait), DurationText(jobs), DurationText(config_.drain_timeout));
}

// On the thread that asks Slurm.
void Assembly::LookForSuccessors(const std::stop_token& stop) {
  const absl::StatusOr<std::vector<std::string>> jobs =
      FindSuccessors(OwnCluster(stop), config_.name, allocation_.job_id);
  if (jobs.ok()) has_successor_.store(!jobs->empty());
}

// On the thread that asks Slurm. Whoever reads the record later is to see the new end too.
void Assembly::EndChanged(std::optional<core::WallTime> before, core::WallTime now) {
  log_->info("allocation {} ends at {}{}", allocation_.job_id, UtcText(now),
             before ? ", no longer at " + UtcText(*before) : "");
  MutexLock lock(record_mutex_);
  if (!record_) return;  // not published yet
  wire::ToProto(now, *record_->mutable_allocation_end_time());
  if (absl::Status status = slot_->Update(*record_); !status.ok()) {
    log_->warn("the record keeps the old end: {}", std::string(status.message()));
  }
  guests_->Publish(*record_);
}

}  // namespace hotplate::server
