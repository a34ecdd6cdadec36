// A program of the user's that runs once for each task of a sweep: each is told its number and its values, by variables
// and in its arguments. The output of the last tasks is kept, as much as there is room for.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/core/run/outside_work.h"
#include "server/workers/printing_work.h"
#include "server/workers/program_job.h"

namespace hotplate::server {

using TaskValues = std::vector<std::pair<std::string, ParamValue>>;

// The program of one task: HOTPLATE_TASK and HOTPLATE_<NAME> in its environment, and each "{name}" in its arguments
// replaced by the value. What else is in braces stays.
Program ProgramOfTask(const Program& program, std::uint64_t task, const TaskValues& values);

// The streams of a sweep's tasks. Thread-safe.
class TaskStreams {
 public:
  static constexpr std::size_t kMostKept = std::size_t{16} << 20;  // of those that ended, the oldest go first

  void Begin(std::uint64_t task, std::shared_ptr<ProgramStreams> streams);
  void End(std::uint64_t task);
  std::shared_ptr<ProgramStreams> Of(std::uint64_t task) const;  // null: nothing is kept of it
  bool HasEnded(std::uint64_t task) const;                       // false too where nothing is kept
  std::size_t kept_bytes() const;

 private:
  struct One {
    std::shared_ptr<ProgramStreams> streams;
    bool ended = false;
    std::size_t times_in_ended = 0;  // one that ran again is there for each time
  };
  mutable Mutex mutex_;
  std::map<std::uint64_t, One> tasks_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<std::uint64_t, std::size_t>> ended_ ABSL_GUARDED_BY(mutex_);  // with their bytes
  std::size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Never runs itself.
class ProgramSweep final : public core::OutsideWork {
 public:
  ProgramSweep(Supervisor& supervisor, WarmPythons* pythons, ProgramJob::Kind kind, Program program)
      : supervisor_(supervisor), pythons_(pythons), kind_(kind), program_(std::move(program)) {}

  core::RunResult Run(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs, const Daemon& daemon,
                      TaskControl& control) override;
  std::shared_ptr<core::OutsideWork> ForTask(std::uint64_t task, const TaskValues& values) const override;
  bool Keeps(const std::string& /*output*/) const override { return false; }
  SharedSpec spec() const override { return ProgramJob::SpecOf(kind_); }
  std::uint64_t kept_bytes() const override { return streams_->kept_bytes(); }
  std::uint64_t most_kept_bytes() const override { return TaskStreams::kMostKept; }
  const TaskStreams& streams() const { return *streams_; }

 private:
  Supervisor& supervisor_;
  WarmPythons* const pythons_;
  const ProgramJob::Kind kind_;
  const Program program_;
  const std::shared_ptr<TaskStreams> streams_ = std::make_shared<TaskStreams>();
};

}  // namespace hotplate::server
