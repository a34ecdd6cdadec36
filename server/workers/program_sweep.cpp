#include "server/workers/program_sweep.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

class TaskOfProgram final : public PrintingWork {
 public:
  TaskOfProgram(std::uint64_t task, std::shared_ptr<TaskStreams> all, std::unique_ptr<ProgramJob> program)
      : task_(task), all_(std::move(all)), program_(std::move(program)) {}

  core::RunResult Run(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs, const Daemon& daemon,
                      TaskControl& control) override {
    all_->Begin(task_, program_->streams());
    core::RunResult result = program_->Run(device, inputs, daemon, control);
    all_->End(task_);
    return result;
  }
  bool Keeps(const std::string& output) const override { return program_->Keeps(output); }
  SharedSpec spec() const override { return program_->spec(); }
  std::uint64_t kept_bytes() const override { return program_->kept_bytes(); }
  std::uint64_t most_kept_bytes() const override { return program_->most_kept_bytes(); }
  const std::shared_ptr<ProgramStreams>& streams() const override { return program_->streams(); }

 private:
  const std::uint64_t task_;
  const std::shared_ptr<TaskStreams> all_;
  const std::unique_ptr<ProgramJob> program_;
};

}  // namespace

Program ProgramOfTask(const Program& program, std::uint64_t task, const TaskValues& values) {
  Program made = program;
  made.task_variables = {absl::StrCat("HOTPLATE_TASK=", task)};
  std::vector<std::pair<std::string, std::string>> replaced;
  for (const auto& [name, value] : values) {
    made.task_variables.push_back(
        absl::StrCat("HOTPLATE_", absl::AsciiStrToUpper(name), "=", hotplate::ToString(value)));
    replaced.emplace_back(absl::StrCat("{", name, "}"), hotplate::ToString(value));
  }
  for (std::size_t i = 1; i < made.arguments.size(); ++i) {
    made.arguments[i] = absl::StrReplaceAll(made.arguments[i], replaced);
  }
  return made;
}

void TaskStreams::Begin(std::uint64_t task, std::shared_ptr<ProgramStreams> streams) {
  MutexLock lock(mutex_);
  One& one = tasks_[task];
  one.streams = std::move(streams);
  one.ended = false;
}

void TaskStreams::End(std::uint64_t task) {
  std::vector<std::shared_ptr<ProgramStreams>> gone;  // after the lock
  MutexLock lock(mutex_);
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return;
  at->second.ended = true;
  ++at->second.times_in_ended;
  const std::size_t bytes = at->second.streams->kept_bytes() + sizeof(ProgramStreams);
  ended_.emplace_back(task, bytes);
  bytes_ += bytes;
  while (bytes_ > kMostKept && ended_.size() > 1) {
    const std::uint64_t oldest = ended_.front().first;
    bytes_ -= ended_.front().second;
    ended_.pop_front();
    const auto old = tasks_.find(oldest);
    // One that runs again, or has, has streams of its own.
    if (--old->second.times_in_ended > 0 || !old->second.ended) continue;
    gone.push_back(std::move(old->second.streams));
    tasks_.erase(old);
  }
}

std::shared_ptr<ProgramStreams> TaskStreams::Of(std::uint64_t task) const {
  MutexLock lock(mutex_);
  const auto at = tasks_.find(task);
  return at == tasks_.end() ? nullptr : at->second.streams;
}

bool TaskStreams::HasEnded(std::uint64_t task) const {
  MutexLock lock(mutex_);
  const auto at = tasks_.find(task);
  return at != tasks_.end() && at->second.ended;
}

std::size_t TaskStreams::kept_bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

core::RunResult ProgramSweep::Run(const DeviceInfo& /*device*/, const std::vector<core::OutsideInput>& /*inputs*/,
                                  const Daemon& /*daemon*/, TaskControl& /*control*/) {
  core::RunResult result;
  result.kind = core::RunResult::Kind::kFailed;
  result.error = absl::InternalError("a sweep was to run as if it were one task");
  return result;
}

std::shared_ptr<core::OutsideWork> ProgramSweep::ForTask(std::uint64_t task, const TaskValues& values) const {
  auto streams = std::make_shared<ProgramStreams>(/*has_client=*/false);
  return std::make_shared<TaskOfProgram>(
      task, streams_,
      std::make_unique<ProgramJob>(supervisor_, pythons_, kind_, ProgramOfTask(program_, task, values),
                                   std::move(streams)));
}

}  // namespace hotplate::server
