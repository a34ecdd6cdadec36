#include "server/workers/function_job.h"

#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/run_program.h"
#include "server/workers/program_job.h"

namespace hotplate::server {
namespace {

using Steady = std::chrono::steady_clock;

// One for each number of arrays: they are of any dtype and shape.
SharedSpec SpecFor(std::size_t arrays) {
  KernelSpecBuilder builder("function", "a Python function of yours");
  std::vector<DType> all;
  for (int number = 1; number <= kDTypeCount; ++number) {
    if (const std::optional<DType> dtype = DTypeFromNumber(number)) all.push_back(*dtype);
  }
  builder.Type("B", {DType::kUInt8}).Input(FunctionJob::kArguments, "B", "n", "pickled");
  for (std::size_t i = 0; i < arrays; ++i) {
    const std::string variable = absl::StrCat("T", i);
    builder.Type(variable, all).Input(absl::StrCat("a", i), variable, "...", "an array among the arguments");
  }
  builder.NoOutputs()
      .Shapes([](BoundCall&) { return absl::OkStatus(); })
      .Chunked(static_cast<int>(CallWorker::kGrace.count()));
  return std::make_shared<const KernelSpec>(*builder.Build());
}

}  // namespace

SharedSpec FunctionJob::spec() const {
  static const std::vector<SharedSpec> specs = [] {
    std::vector<SharedSpec> made;
    for (std::size_t arrays = 0; arrays <= kMostArrays; ++arrays) made.push_back(SpecFor(arrays));
    return made;
  }();
  return specs[std::min(call_.arrays, kMostArrays)];
}

std::string FunctionJob::Named(absl::string_view why) const { return absl::StrCat(call_.function->name, ": ", why); }

core::RunResult FunctionJob::Run(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs,
                                 const Allocate& allocate, TaskControl& control) {
  core::RunResult result;
  core::ProcessUse use;
  const auto give_up = [&control] { return control.cancel_requested(); };
  const Steady::time_point begin = Steady::now();
  const std::string key = absl::StrCat(call_.environment->id, " ", device.id);
  std::unique_ptr<CallWorker> worker = pool_.Take(key);
  use.warm = worker != nullptr;
  const Program& python_of_it = call_.environment->python;
  use.python_environment = python_of_it.named_environment.empty() ? python_of_it.file : python_of_it.named_environment;
  absl::Status error;
  if (worker == nullptr) {
    Program python = call_.environment->python;
    python.environment =
        EnvironmentOn(device, device.uuid.empty() ? device.threads_per_lane : python.threads_beside_gpu,
                      python.environment, OwnVariables());
    absl::StatusOr<std::unique_ptr<CallWorker>> started = CallWorker::Start(pythons_, std::move(python), give_up);
    error = started.status();
    if (started.ok()) {
      worker = *std::move(started);
      use.warm = worker->why_cold().empty();
      use.why_cold = worker->why_cold();
      pool_.Add(*worker);
    }
  }
  use.start = Steady::now() - begin;
  if (worker != nullptr) {
    absl::StatusOr<CallReply> reply = RunIn(*worker, inputs, control);
    error = reply.status();
    result.report.kernel_ns = static_cast<std::uint64_t>((Steady::now() - begin).count());
    if (reply.ok()) {
      use.user = reply->user;
      use.system = reply->system;
      use.peak_bytes = reply->peak_bytes;
      if (reply->kind == CallReply::Kind::kResult) {
        worker->Learn(call_.function->id);
        error = TakeOutputs(*reply, allocate, result);
      } else {
        error = absl::AbortedError(Named(absl::StrCat(reply->error.type, ": ", reply->error.message)));
        AddTo(error, reply->error);
      }
    }
    pool_.Return(key, std::move(worker));
  }
  streams_->Over();
  // The job may be listed for an hour: what it would have to keep of its client's need not be.
  call_.function.reset();
  call_.environment.reset();
  result.process = use;
  if (error.ok()) return result;
  result.outputs.clear();
  if (control.cancel_requested()) {
    result.kind = core::RunResult::Kind::kCancelled;
  } else {
    result.kind = core::RunResult::Kind::kFailed;
  }
  result.error = std::move(error);
  return result;
}

absl::StatusOr<CallReply> FunctionJob::RunIn(CallWorker& worker, const std::vector<core::OutsideInput>& inputs,
                                             TaskControl& control) const {
  std::vector<CallArray> arrays;
  for (const core::OutsideInput& input : inputs) {
    arrays.push_back({input.signature, input.buffer->bytes(), input.buffer});
  }
  const FunctionCode& function = *call_.function;
  const absl::StatusOr<CallMessage> message =
      MessageOfCall(function.id, worker.Knows(function.id) ? std::string_view() : function.code, arrays, segments_);
  if (!message.ok()) return message.status();
  absl::StatusOr<CallReply> reply = worker.Call(*message, *streams_, control);
  if (reply.ok() || absl::IsCancelled(reply.status())) return reply;
  return absl::Status(reply.status().code(), Named(reply.status().message()));
}

absl::Status FunctionJob::TakeOutputs(const CallReply& reply, const Allocate& allocate, core::RunResult& result) const {
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    const CallArray& from = reply.outputs[i];
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = allocate(from.data.size());
    if (!buffer.ok()) return absl::Status(buffer.status().code(), Named(buffer.status().message()));
    if (!from.data.empty()) std::memcpy((*buffer)->data(), from.data.data(), from.data.size());
    result.outputs.push_back(
        {i == 0 ? kValue : absl::StrCat("a", i - 1), from.signature, *std::move(buffer), core::ArrayId(), ""});
  }
  return absl::OkStatus();
}

}  // namespace hotplate::server
