#include "server/core/run/task_runner.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
#include "server/core/arrays/counted_memory.h"
#include "server/core/named_status.h"
#include "server/core/run/outputs.h"
#include "server/core/run/outside_work.h"
#include "server/core/schedule/scheduler.h"

namespace hotplate::core {
namespace {

// With `may_be_absent`, for a device that has memory of its own, the bytes may be there alone.
hotplate_array ViewOf(const std::string& name, const Signature& signature, const HostBuffer& buffer,
                      bool may_be_absent) {
  hotplate_array view{};
  view.name = name.c_str();
  view.dtype = static_cast<std::int32_t>(signature.dtype);
  view.rank = static_cast<std::int32_t>(signature.shape.size());
  std::copy(signature.shape.begin(), signature.shape.end(), view.shape);
  // Kernels read inputs only; the plain view has one pointer for both.
  view.data = const_cast<std::byte*>(buffer.data());
  view.bytes = ByteSize(signature).value_or(0);
  view.identity = buffer.identity();
  if (may_be_absent && view.identity != 0) view.absent = buffer.absent_flag();
  return view;
}

hotplate_param PlainParam(const ParamSpec& spec, const ParamValue& value) {
  hotplate_param plain{};
  plain.name = spec.name.c_str();
  plain.type = static_cast<std::int32_t>(spec.type);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    plain.integer = *integer;
    if (spec.type == ParamType::kFloat) plain.real = static_cast<double>(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) plain.real = *real;
  if (const auto* truth = std::get_if<bool>(&value)) plain.integer = *truth ? 1 : 0;
  if (const auto* text = std::get_if<std::string>(&value)) plain.text = text->c_str();
  return plain;
}

// A code for people and retries: only what may pass by itself is worth another try.
absl::Status ErrorOf(const Outcome& outcome, const std::string& kernel, const std::string& device) {
  const absl::string_view message = ToAbsl(outcome.message());
  switch (outcome.code()) {
    case HOTPLATE_INVALID:
      return absl::InvalidArgumentError(absl::StrCat(kernel, ": ", message));
    case HOTPLATE_OUT_OF_MEMORY:
      return NoMemory(
          absl::StrCat(kernel, ": ", device, " had no memory left for it: ", message, "; free arrays or try later"));
    case HOTPLATE_DEVICE_LOST:
      return absl::InternalError(absl::StrCat("device ", device, " was lost while it ran ", kernel, ": ", message));
    default:
      return absl::InternalError(absl::StrCat(kernel, " failed on ", device, ": ", message));
  }
}

bool HasFiles(const Job& job) {
  return std::any_of(job.bound.outputs.begin(), job.bound.outputs.end(),
                     [](const BoundOutput& output) { return output.file != nullptr; });
}

}  // namespace

RunResult TaskRunner::Run(Job& job, const std::string& spec_hash, const DeviceNeed& need,
                          absl::FunctionRef<Report(const Task&)> run) {
  RunResult result;
  const BoundCall& call = job.bound.call;
  result.error = Gather(job, result);
  if (absl::IsCancelled(result.error)) {
    result.kind = RunResult::Kind::kCancelled;
  } else if (!result.error.ok()) {
    result.kind = RunResult::Kind::kFailed;
  } else {
    Describe(job);
    Task task;
    task.kernel = call.spec->name().c_str();
    task.spec_hash = spec_hash.c_str();
    task.scratch_bytes = need.scratch_bytes;
    task.call = {.params = params_.data(),
                 .inputs = input_views_.data(),
                 .outputs = output_views_.data(),
                 .param_count = static_cast<std::int32_t>(params_.size()),
                 .input_count = static_cast<std::int32_t>(input_views_.size()),
                 .output_count = static_cast<std::int32_t>(output_views_.size()),
                 .precision = call.precision,
                 .scratch = nullptr,
                 .scratch_bytes = 0,
                 .deterministic = call.deterministic ? 1 : 0,
                 .reserved = 0};
    result.report = run(task);
    const Outcome& outcome = result.report.outcome;
    if (outcome.ok()) {
      result.kind = RunResult::Kind::kCompleted;
    } else if (outcome.code() == HOTPLATE_CANCELLED) {
      result.kind = RunResult::Kind::kCancelled;
    } else {
      const bool lost = outcome.code() == HOTPLATE_DEVICE_LOST;
      result.kind = lost ? RunResult::Kind::kDeviceLost : RunResult::Kind::kFailed;
      result.error = ErrorOf(outcome, call.spec->name(), device_.id);
    }
  }

  if (result.kind == RunResult::Kind::kCompleted) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i]->absent()) arrays_.Stayed(*outputs_[i], device_.id);
      JobOutputValue& value = result.outputs.emplace_back();
      value.name = call.spec->outputs()[i].name;
      value.signature = call.outputs[i];
      value.data = std::move(outputs_[i]);
      if (call.spec->output_rules()[i].shape.at_most && result.error.ok()) result.error = CutToSize(job, i, value);
    }
    const SteadyTime start = clock_.Now();
    if (result.error.ok() && HasFiles(job)) {
      result.error = WriteFiles(job.bound, job.control, result.outputs);
      result.store = clock_.Now() - start;
    }
    if (!result.error.ok()) {
      result.kind = absl::IsCancelled(result.error) ? RunResult::Kind::kCancelled : RunResult::Kind::kFailed;
      result.outputs.clear();
    }
  }
  holds_.clear();
  inputs_.clear();
  outputs_.clear();
  return result;
}

RunResult TaskRunner::RunOutside(Job& job, Device& device, Scheduler& scheduler) {
  RunResult result;
  result.error = Gather(job, result);
  if (result.error.ok()) {
    const std::optional<nanoseconds> load = result.load;
    std::vector<OutsideInput> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs.push_back({job.bound.call.inputs[i], inputs_[i]});
    }
    result = job.work->Run(device_, inputs,
                           {.allocate = [this](std::size_t bytes) { return arrays_.AllocateArray(bytes); },
                            .claim_turn = [&scheduler](std::uint64_t turn) { return scheduler.ClaimTurn(turn); },
                            .leave_turn = [&scheduler](std::uint64_t turn) { scheduler.LeaveTurn(turn); },
                            .give_back = [&device] { device.GiveBack(); }},
                           job.control);
    result.load = load;
    for (const JobOutputValue& output : result.outputs) {
      BoundOutput& bound = job.bound.outputs.emplace_back();
      bound.bytes = output.data->size();
      bound.keep = job.work->Keeps(output.name);
    }
  } else {
    result.kind = absl::IsCancelled(result.error) ? RunResult::Kind::kCancelled : RunResult::Kind::kFailed;
  }
  holds_.clear();
  inputs_.clear();
  return result;
}

absl::Status TaskRunner::CutToSize(const Job& job, std::size_t output, JobOutputValue& value) {
  const std::int64_t size = actual_sizes_[output];
  std::int64_t& planned = value.signature.shape.front();
  if (size < 0 || size > planned) {
    return absl::InternalError(absl::StrCat(job.bound.call.spec->name(), ": of ", value.name, ", which may have ",
                                            planned, ", there are said to be ", size));
  }
  planned = size;
  const std::size_t bytes = ByteSize(value.signature).value_or(0);
  const std::size_t planned_bytes = value.data->size();
  if (bytes == planned_bytes) return absl::OkStatus();
  // The planned buffer goes as soon as it is copied: what was computed does not fail for want of room for both.
  absl::StatusOr<std::shared_ptr<HostBuffer>> exact = job.bound.outputs[output].stays()
                                                          ? arrays_.AllocateArray(bytes, planned_bytes)
                                                          : arrays_.AllocateBuffer(bytes, planned_bytes);
  if (!exact.ok()) return Named(value.name, exact.status());
  if (bytes > 0) std::memcpy((*exact)->data(), value.data->data(), bytes);
  value.data = *std::move(exact);
  return absl::OkStatus();
}

absl::Status TaskRunner::Gather(Job& job, RunResult& result) {
  const BoundCall& call = job.bound.call;
  const auto cancelled = [&job] { return job.control.cancel_requested(); };
  // Said again when they are there; but by then it would have run in vain.
  const std::uint64_t to_keep = job.task_of == nullptr ? ArrayBytesOf(job.bound, inline_bytes_) : 0;
  if (to_keep > 0) {
    absl::Status status = arrays_.CheckQuota(job.owner, to_keep, ArrayStore::Beside::kArrays);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < job.bound.inputs.size(); ++i) {
    const BoundInput& input = job.bound.inputs[i];
    const SteadyTime start = clock_.Now();
    const std::string& name = call.spec->inputs()[i].name;
    std::shared_ptr<const NpyFile> file = input.file;
    if (!input.stored.empty()) {
      std::variant<NpyFile, NpyError> opened = NpyFile::Open(input.stored);
      if (const auto* error = std::get_if<NpyError>(&opened)) {
        return absl::FailedPreconditionError(absl::StrCat(name, ": ", input.stored, ": ", error->message));
      }
      file = std::make_shared<const NpyFile>(std::get<NpyFile>(std::move(opened)));
      if (file->signature() != call.inputs[i]) {
        return absl::DataLossError(absl::StrCat(name, ": ", input.stored, " has changed since it was written"));
      }
    }
    if (file == nullptr) {
      if (input.buffer->absent()) {
        // The processes of work that is no kernel's read arrays on the host.
        const std::string device = job.work != nullptr ? "" : device_.id;
        const bool comes = arrays_.DeviceOf(*input.buffer) != device;
        absl::StatusOr<DeviceCopies::Hold> hold = arrays_.BringTo(device, input.buffer);
        if (!hold.ok()) return Named(name, hold.status());
        holds_.push_back(*std::move(hold));
        if (comes) result.load = result.load.value_or(nanoseconds::zero()) + (clock_.Now() - start);
      }
      inputs_.push_back(input.buffer);
      continue;
    }
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = arrays_.AllocateBuffer(ByteSize(call.inputs[i]).value_or(0));
    if (!buffer.ok()) return Named(name, buffer.status());
    if (const std::optional<NpyError> error = file->Read((*buffer)->bytes(), cancelled)) {
      if (error->system_error == ECANCELED && cancelled()) return absl::CancelledError(error->message);
      return absl::FailedPreconditionError(absl::StrCat(name, ": ", error->message));
    }
    inputs_.push_back(*std::move(buffer));
    result.load = result.load.value_or(nanoseconds::zero()) + (clock_.Now() - start);
  }
  for (std::size_t i = 0; i < job.bound.outputs.size(); ++i) {
    const BoundOutput& output = job.bound.outputs[i];
    // One that is not kept goes to the client, however large: it is not to take a device's memory from those that stay.
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer =
        output.stays() ? arrays_.AllocateArray(output.bytes) : arrays_.AllocateBuffer(output.bytes);
    if (!buffer.ok()) return Named(call.spec->outputs()[i].name, buffer.status());
    outputs_.push_back(*std::move(buffer));
  }
  return absl::OkStatus();
}

void TaskRunner::Describe(const Job& job) {
  const BoundCall& call = job.bound.call;
  const bool own_memory = !device_.host_memory;
  params_.clear();
  input_views_.clear();
  output_views_.clear();
  for (std::size_t i = 0; i < call.params.size(); ++i) {
    params_.push_back(PlainParam(call.spec->params()[i], call.params[i]));
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    input_views_.push_back(ViewOf(call.spec->inputs()[i].name, call.inputs[i], *inputs_[i], own_memory));
  }
  actual_sizes_.assign(outputs_.size(), -1);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    output_views_.push_back(ViewOf(call.spec->outputs()[i].name, call.outputs[i], *outputs_[i], own_memory));
    if (call.spec->output_rules()[i].shape.at_most) output_views_.back().actual_size = &actual_sizes_[i];
  }
}

}  // namespace hotplate::core
