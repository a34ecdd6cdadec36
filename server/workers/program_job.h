// A program as a job of the core: runs it on a lane, with the lane's device and threads in its environment, and moves
// its standard streams.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kernels/spec/spec.h"
#include "server/workers/printing_work.h"
#include "server/workers/program.h"
#include "server/workers/program_streams.h"
#include "server/workers/supervisor.h"
#include "server/workers/warm_pythons.h"

namespace hotplate::server {

class ProgramJob final : public PrintingWork {
 public:
  // Between the signal that asks a program to end, when its job is cancelled, and the end of it and all its processes.
  static constexpr std::chrono::milliseconds kGrace{500};

  enum class Kind { kExec, kPython };  // the name that the job goes by
  static SharedSpec SpecOf(Kind kind);

  // `pythons`: for a Python program; null: it starts anew.
  ProgramJob(Supervisor& supervisor, WarmPythons* pythons, Kind kind, Program program,
             std::shared_ptr<ProgramStreams> streams)
      : supervisor_(supervisor),
        pythons_(pythons),
        kind_(kind),
        program_(std::move(program)),
        called_(CommandOf(program_)),
        terminal_(program_.terminal.has_value()),
        streams_(std::move(streams)) {}

  core::RunResult Run(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs, const Daemon& daemon,
                      TaskControl& control) override;
  bool Keeps(const std::string&) const override { return false; }
  SharedSpec spec() const override { return SpecOf(kind_); }
  std::string called() const override { return called_; }
  std::uint64_t kept_bytes() const override { return streams_->kept_bytes(); }
  std::uint64_t most_kept_bytes() const override { return ProgramStreams::kMostKept; }
  const std::shared_ptr<ProgramStreams>& streams() const override { return streams_; }
  std::optional<core::SteadyTime> quiet_since() const override;

 private:
  // The start of its command line.
  static std::string CommandOf(const Program& program);
  void LookAtUse(pid_t program);
  absl::StatusOr<WarmPythons::Started> Start(TaskControl& control);
  // Moves what can be moved and obeys the client and `control`; returns when the program and its output have ended.
  absl::StatusOr<ProgramEnd> Attend(RunningProgram& running, TaskControl& control);

  Supervisor& supervisor_;
  WarmPythons* const pythons_;
  const Kind kind_;
  Program program_;
  const std::string called_;
  const bool terminal_;
  // Of the processor, by one with a terminal; of the thread that attends.
  std::chrono::nanoseconds processor_time_{};
  std::chrono::steady_clock::time_point next_look_;
  std::atomic<std::chrono::steady_clock::rep> last_worked_ = 0;
  const std::shared_ptr<ProgramStreams> streams_;
};

// FAILED_PRECONDITION: the device belongs to one process alone, and that is the daemon.
absl::Status CheckShared(const DeviceInfo& device);

// The environment of a program on this device: the client's variables, but those that are the node's or the lane's to
// say.
//   from the node        SLURM_*, TMPDIR
//   from the lane        CUDA_VISIBLE_DEVICES, and OMP_NUM_THREADS and the like (`threads`): by default unless the
//                        client has set them
// `client` and `node` are NAME=value.
enum class Threads { kUnlessSet, kAsAsked };
std::vector<std::string> EnvironmentOn(const DeviceInfo& device, int threads, const std::vector<std::string>& client,
                                       const std::vector<std::string>& node, Threads rule = Threads::kUnlessSet);

}  // namespace hotplate::server
