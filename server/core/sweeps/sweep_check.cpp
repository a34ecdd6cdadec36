// The checks of a sweep, before anything of it runs.
#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "server/core/named_status.h"
#include "server/core/run/outside_work.h"
#include "server/core/sweeps/sweep_run.h"

namespace hotplate::core {
namespace {

// The refusal of one task, with its number and values.
absl::Status OfTask(const std::string& task, const absl::Status& status) {
  std::vector<FieldViolation> violations = Violations(status);
  if (violations.empty()) return Named(task, status);
  for (FieldViolation& one : violations) one.description = absl::StrCat(task, ": ", one.description);
  return Refused(status.code(), violations);
}

// An input in a file is read once for all tasks, which then see the same, whatever becomes of the file.
absl::StatusOr<std::shared_ptr<const HostBuffer>> ReadOnce(const BoundInput& input, const Signature& signature,
                                                           ArrayStore& arrays) {
  std::shared_ptr<const NpyFile> file = input.file;
  if (file == nullptr) {
    std::variant<NpyFile, NpyError> opened = NpyFile::Open(input.stored);
    if (const auto* error = std::get_if<NpyError>(&opened)) {
      return absl::FailedPreconditionError(absl::StrCat(input.stored, ": ", error->message));
    }
    file = std::make_shared<const NpyFile>(std::get<NpyFile>(std::move(opened)));
  }
  absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = arrays.AllocateBuffer(ByteSize(signature).value_or(0));
  if (!buffer.ok()) return buffer.status();
  if (file->signature() != signature) {
    return absl::FailedPreconditionError(
        absl::StrCat("the file has ", hotplate::ToString(file->signature()), " by now"));
  }
  if (const auto error = file->Read((*buffer)->bytes())) return absl::FailedPreconditionError(error->message);
  return std::shared_ptr<const HostBuffer>(*std::move(buffer));
}

// A request whose inputs are those of a job that was bound: any number of tasks can be made of it.
absl::StatusOr<JobRequest> BaseOf(const JobRequest& request, BoundJob& first, SweepRun::Memory memory,
                                  ArrayStore& arrays) {
  JobRequest base = request;
  base.sweep = nullptr;
  base.outputs.clear();
  base.request_id.clear();
  base.after.clear();
  base.durable = false;
  base.attached = false;
  base.inputs.clear();
  for (std::size_t i = 0; i < first.inputs.size(); ++i) {
    JobInput& input = base.inputs.emplace_back();
    input.name = first.call.spec->inputs()[i].name;
    input.signature = first.call.inputs[i];
    BoundInput& bound = first.inputs[i];
    if (bound.buffer == nullptr && (bound.file != nullptr || !bound.stored.empty()) &&
        memory == SweepRun::Memory::kTake) {
      absl::StatusOr<std::shared_ptr<const HostBuffer>> read = ReadOnce(bound, input.signature, arrays);
      if (!read.ok()) return Named(input.name, read.status());
      bound = BoundInput{.buffer = *std::move(read), .file = nullptr};
    }
    if (bound.buffer != nullptr) input.source = bound.buffer;
  }
  return base;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SweepRun>> SweepRun::Prepare(const Parts& parts, const Principal& who,
                                                            const JobRequest& request, BoundJob& first, Memory memory) {
  absl::StatusOr<JobRequest> base = BaseOf(request, first, memory, parts.arrays);
  if (!base.ok()) return base.status();
  std::shared_ptr<SweepRun> run(new SweepRun(parts, who, *std::move(base), request.sweep));
  // First what the first task tells: a million tasks take seconds.
  if (absl::Status status = run->TakeOutputs(first, memory); !status.ok()) return status;
  if (absl::Status status = run->CheckTasks(memory); !status.ok()) return status;
  MutexLock lock(run->mutex_);
  run->states_.resize(run->plan_->rows(), State::kToRun);
  return run;
}

JobRequest SweepRun::RequestOf(std::uint64_t row) const {
  JobRequest request = base_;
  const std::uint64_t task = plan_->TaskOf(row);
  SweepPlan::Values values = plan_->ValuesOf(task);
  if (request.work != nullptr) {
    request.work = request.work->ForTask(task, values);
    return request;
  }
  for (auto& [name, value] : values) request.params[name] = std::move(value);
  return request;
}

absl::Status SweepRun::CheckTasks(Memory memory) const {
  if (base_.work != nullptr) return absl::OkStatus();  // its tasks differ in what they are told alone
  const auto data = memory == Memory::kLeave ? Binder::Data::kSignaturesSuffice : Binder::Data::kRequired;
  const std::vector<std::string> lost = parts_.scheduler.LostDevices();
  const std::string first_task = TaskText(plan_->TaskOf(0), plan_->ValuesOf(plan_->TaskOf(0)));
  for (std::uint64_t row = 1; row < plan_->rows(); ++row) {
    JobRequest request = RequestOf(row);
    const absl::StatusOr<BoundJob> bound = parts_.binder.Bind(who_, request, data, lost);
    const std::uint64_t task = plan_->TaskOf(row);
    if (!bound.ok()) return OfTask(TaskText(task, plan_->ValuesOf(task)), bound.status());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Signature& one = bound->call.outputs[i];
      Signature other = outputs_[i].signature;
      other.shape.erase(other.shape.begin());
      if (one == other) continue;
      const std::string& name = outputs_[i].name;
      return InvalidField("outputs." + name,
                          absl::StrCat(name, " of ", TaskText(task, plan_->ValuesOf(task)), " is ",
                                       hotplate::ToString(one), ", of ", first_task, " ", hotplate::ToString(other),
                                       ": they cannot become one array; submit them as jobs of their own"));
    }
  }
  return absl::OkStatus();
}

absl::Status SweepRun::TakeOutputs(BoundJob& first, Memory memory) {
  const ArrayLimits& limits = parts_.arrays.limits();
  const KernelSpec& spec = *first.call.spec;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < first.call.outputs.size(); ++i) {
    const std::string& name = spec.outputs()[i].name;
    const std::string field = "outputs." + name;
    if (spec.output_rules()[i].shape.at_most) {
      return InvalidField(field, absl::StrCat(name,
                                              ": its size depends on the data, so that the tasks' cannot become "
                                              "one array; submit them as jobs of their own"));
    }
    Signature& signature = first.call.outputs[i];
    const std::uint64_t row_bytes = first.outputs[i].bytes;
    signature.shape.insert(signature.shape.begin(), static_cast<std::int64_t>(plan_->rows()));
    const std::optional<std::size_t> bytes = ByteSize(signature);
    if (!bytes) {
      return InvalidField(field,
                          absl::StrCat(name, ": the array of all tasks' would be ", hotplate::ToString(signature),
                                       ", which has too many dimensions or bytes"));
    }
    // Each task that is under way has its output by itself.
    const std::uint64_t under_way = std::min<std::uint64_t>(window_, plan_->rows()) * row_bytes;
    total += *bytes + under_way;
    const bool array_too_large = limits.array_bytes != 0 && *bytes > limits.array_bytes;
    if (array_too_large || (limits.total_bytes != 0 && total > limits.total_bytes)) {
      return Refused(absl::StatusCode::kResourceExhausted,
                     {{field, absl::StrCat(name, ": of all ", plan_->rows(), " tasks it is ",
                                           hotplate::ToString(signature), " and has ", *bytes,
                                           " bytes, and those that run have ", under_way, "; the daemon's limit ",
                                           array_too_large ? absl::StrCat("max-array-bytes is ", limits.array_bytes)
                                                           : absl::StrCat("array-bytes is ", limits.total_bytes))}});
    }
    first.outputs[i].bytes = *bytes;
    Output& output = outputs_.emplace_back(Output{name, signature, row_bytes, nullptr});
    if (memory == Memory::kLeave) continue;
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer =
        first.outputs[i].stays() ? parts_.arrays.AllocateArray(*bytes) : parts_.arrays.AllocateBuffer(*bytes);
    if (!buffer.ok()) {
      return Named(absl::StrCat(name, ": ", hotplate::ToString(signature), " of all ", plan_->rows(), " tasks"),
                   buffer.status());
    }
    output.buffer = *std::move(buffer);
  }
  return absl::OkStatus();
}

bool SweepRun::Restore(const TaskRow& done, std::span<const std::byte> bytes) {
  const std::uint64_t row = done.row;
  std::uint64_t expected = 0;
  for (const Output& output : outputs_) expected += output.row_bytes;
  MutexLock lock(mutex_);
  if (row >= states_.size() || plan_->TaskOf(row) != done.task) return false;
  const bool again = states_[row] != State::kToRun;  // it was written down twice
  if (done.state != JobState::kCompleted) {
    if (!again) Fail(row, done.state, done.error);
    return true;
  }
  if (base_.work == nullptr && bytes.size() != expected) return false;
  for (const Output& output : outputs_) {
    if (output.row_bytes > 0)
      std::memcpy(output.buffer->data() + row * output.row_bytes, bytes.data(), output.row_bytes);
    bytes = bytes.subspan(output.row_bytes);
  }
  if (again) return true;
  states_[row] = State::kCompleted;
  ++completed_;
  return true;
}

}  // namespace hotplate::core
