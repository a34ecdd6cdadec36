#include "server/workers/function_job.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/run_program.h"
#include "kernels/base/status.h"
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

absl::Status FunctionJob::LostError(const FoundRef& ref) const {
  return Refused(absl::StatusCode::kNotFound,
                 {{"ref", Named(absl::StrCat("the Ref of a ", ref.words(), " is lost: ", ref.lost))}});
}

absl::Status FunctionJob::CheckRef(const core::Principal& who, const FoundRef& ref, const std::string& device) const {
  if (ref.session != who.session) {
    return InvalidField("ref", Named(absl::StrCat("the Ref of a ", ref.words(), " belongs to session ",
                                                  ref.session.value(), ", and the call to ", who.session.value())));
  }
  if (!ref.lost.empty()) return LostError(ref);
  if (holder_ != nullptr && holder_->id != ref.worker->id) {
    return InvalidField("ref", Named(absl::StrCat("of the Refs among its arguments one is a ", ref.words(),
                                                  ", and another is in worker ", holder_->pid, " on ", holder_->device,
                                                  ": a call runs in one worker; make both in one call, or one by a "
                                                  "function that takes the other")));
  }
  const FunctionEnvironment& environment = *ref.worker->environment;
  if (call_.environment != nullptr && call_.environment->id != environment.id) {
    return InvalidField(
        "ref", Named(absl::StrCat("the Ref of a ", ref.words(), " is in another environment (", environment.python.file,
                                  ") than the call's (", call_.environment->python.file, ")")));
  }
  if (!device.empty() && device != core::kAnyDevice && device != ref.worker->device) {
    return InvalidField(
        "device", Named(absl::StrCat("device is \"", device, "\", and the Ref of a ", ref.words(),
                                     " is among its arguments: leave the device out, or have the object made there")));
  }
  if (call_.cpus > 0 && call_.cpus != ref.worker->cpus) {
    return InvalidField("cpus", Named(absl::StrCat("cpus is ", call_.cpus, ", and the Ref of a ", ref.words(),
                                                   " is among its arguments, whose worker has ", ref.worker->cpus,
                                                   ": leave cpus out, or have the object made with it")));
  }
  return absl::OkStatus();
}

absl::StatusOr<FunctionJob::Place> FunctionJob::PlaceFor(const core::Principal& who,
                                                         const std::vector<std::shared_ptr<const HostBuffer>>& inputs,
                                                         const std::string& device) {
  session_ = who.session;
  for (const std::shared_ptr<const HostBuffer>& input : inputs) {
    if (input == nullptr) continue;
    std::optional<FoundRef> ref = pool_.refs().Find(*input);
    if (!ref) continue;
    if (holder_ == nullptr) {
      pool_.Look(ref->worker->id);
      ref = pool_.refs().Find(*input);
    }
    if (absl::Status status = CheckRef(who, *ref, device); !status.ok()) return status;
    holder_ = ref->worker;
  }
  if (call_.alone) {
    if (absl::Status status = pool_.RoomForAlone(); !status.ok()) return status;
  }
  if (holder_ == nullptr) {
    if (call_.environment != nullptr) return Place{device, 0, std::max(call_.cpus, 1U)};
    return InvalidField("environment",
                        Named("environment is empty, and there is no Ref among its arguments whose it could be"));
  }
  call_.environment = holder_->environment;
  return Place{holder_->device, holder_->id, holder_->cpus};
}

core::RunResult FunctionJob::Run(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs,
                                 const Daemon& daemon, TaskControl& control) {
  core::RunResult result;
  core::ProcessUse use;
  const Steady::time_point begin = Steady::now();
  const Program& python = call_.environment->python;
  use.python_environment = python.named_environment.empty() ? python.file : python.named_environment;
  absl::StatusOr<WorkerPool::Taken> taken = TakeWorker(device, inputs, daemon, control, use);
  use.start = Steady::now() - begin;
  result.error = taken.status();
  if (taken.ok()) {
    const std::uint64_t id = taken->worker->id();
    RunIn(*taken->worker, inputs, daemon, control, use, result);
    result.report.kernel_ns = static_cast<std::uint64_t>((Steady::now() - begin).count());
    pool_.Return(std::move(taken->worker),
                 control.cancel_requested() || result.error.ok()
                     ? "it was ended with a call that was cancelled, or had reached its time limit, and went on"
                     : std::string(result.error.message()));
    if (taken->has_turn) daemon.leave_turn(id);
  }
  streams_->Over();
  // The job may be listed for an hour: what it would have to keep of its client's need not be.
  call_.function.reset();
  call_.environment.reset();
  holder_.reset();
  result.process = use;
  if (result.error.ok()) return result;
  result.outputs.clear();
  result.kind = control.cancel_requested() ? core::RunResult::Kind::kCancelled : core::RunResult::Kind::kFailed;
  return result;
}

int FunctionJob::ThreadsOn(const DeviceInfo& device) const {
  if (call_.cpus > 0) return static_cast<int>(call_.cpus);
  return device.uuid.empty() ? 1 : call_.environment->python.threads_beside_gpu;
}

std::string FunctionJob::KeyOn(const DeviceInfo& device) const {
  return absl::StrCat(call_.environment->id, " ", device.id, " ", ThreadsOn(device));
}

absl::StatusOr<WorkerPool::Taken> FunctionJob::TakeWorker(const DeviceInfo& device,
                                                          const std::vector<core::OutsideInput>& inputs,
                                                          const Daemon& daemon, TaskControl& control,
                                                          core::ProcessUse& use) {
  WorkerPool::Taken taken;
  use.warm = true;
  if (call_.alone) {  // others may have been queued beside this one
    if (absl::Status status = pool_.RoomForAlone(); !status.ok()) return status;
  }
  if (holder_ != nullptr) {
    taken.worker = pool_.TakeHolder(holder_->id, call_.alone);
    if (taken.worker != nullptr) return taken;
    for (const core::OutsideInput& input : inputs) {
      const std::optional<FoundRef> ref = pool_.refs().Find(*input.buffer);
      if (ref) return LostError(*ref);
    }
  }
  taken = pool_.Take(KeyOn(device), call_.alone, daemon.claim_turn);
  if (taken.worker != nullptr) return taken;
  absl::StatusOr<std::unique_ptr<CallWorker>> started = StartWorker(device, daemon, control, use);
  if (!started.ok()) return started.status();
  taken.worker = *std::move(started);
  const auto facts = std::make_shared<const WorkerFacts>(WorkerFacts{taken.worker->id(), taken.worker->pid(), device.id,
                                                                     call_.environment,
                                                                     static_cast<std::uint32_t>(ThreadsOn(device))});
  pool_.Add(KeyOn(device), *taken.worker, facts, !device.uuid.empty(), call_.alone);
  return taken;
}

absl::StatusOr<std::unique_ptr<CallWorker>> FunctionJob::StartWorker(const DeviceInfo& device, const Daemon& daemon,
                                                                     TaskControl& control, core::ProcessUse& use) {
  use.warm = false;
  if (absl::Status status = CheckShared(device); !status.ok()) return status;
  if (!device.host_memory) daemon.give_back();
  Program python = call_.environment->python;
  python.environment = EnvironmentOn(device, ThreadsOn(device), python.environment, OwnVariables(),
                                     call_.cpus > 0 ? Threads::kAsAsked : Threads::kUnlessSet);
  absl::StatusOr<std::unique_ptr<CallWorker>> started =
      CallWorker::Start(pool_.NewId(), pythons_, std::move(python), [&control] { return control.cancel_requested(); });
  if (!started.ok()) return started.status();
  use.why_cold = (*started)->why_cold();
  use.warm = use.why_cold.empty();
  return started;
}

void FunctionJob::RunIn(CallWorker& worker, const std::vector<core::OutsideInput>& inputs, const Daemon& daemon,
                        TaskControl& control, core::ProcessUse& use, core::RunResult& result) {
  absl::StatusOr<CallReply> reply = CallIn(worker, inputs, control);
  result.error = reply.status();
  if (!reply.ok()) return;
  use.user = reply->user;
  use.system = reply->system;
  use.peak_bytes = reply->peak_bytes;
  if (reply->kind == CallReply::Kind::kResult) {
    worker.Learn(call_.function->id);
    result.error = TakeOutputs(*reply, pool_.FactsOf(worker), daemon, result);
  } else {
    result.error = absl::AbortedError(Named(absl::StrCat(reply->error.type, ": ", reply->error.message)));
    AddTo(result.error, reply->error);
  }
}

absl::StatusOr<CallReply> FunctionJob::CallIn(CallWorker& worker, const std::vector<core::OutsideInput>& inputs,
                                              TaskControl& control) const {
  std::vector<CallArray> arrays;
  for (const core::OutsideInput& input : inputs) {
    CallArray& one = arrays.emplace_back(CallArray{input.signature, input.buffer->bytes(), input.buffer});
    if (holder_ == nullptr) continue;
    if (const std::optional<FoundRef> ref = pool_.refs().Find(*input.buffer)) one.object = ref->object.number;
  }
  const FunctionCode& function = *call_.function;
  const absl::StatusOr<CallMessage> message =
      MessageOfCall(function.id, worker.Knows(function.id) ? std::string_view() : function.code, arrays, segments_);
  if (!message.ok()) return message.status();
  absl::StatusOr<CallReply> reply = worker.Call(*message, *streams_, control);
  if (reply.ok() || absl::IsCancelled(reply.status())) return reply;
  return absl::Status(reply.status().code(), Named(reply.status().message()));
}

absl::Status FunctionJob::TakeOutputs(const CallReply& reply, const std::shared_ptr<const WorkerFacts>& worker,
                                      const Daemon& daemon, core::RunResult& result) const {
  // First, so that the worker is told to let go of them whatever fails.
  absl::Status no_room;
  std::vector<core::JobOutputValue> refs;
  for (const CallRef& object : reply.refs) {
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = daemon.allocate(1);
    if (!buffer.ok()) no_room = buffer.status();
    std::shared_ptr<HostBuffer> memory = buffer.ok() ? *std::move(buffer) : HostBuffer::Allocate(1);
    *memory->data() = std::byte{0};
    core::JobOutputValue& ref = refs.emplace_back();
    ref.name = absl::StrCat(kRef, refs.size() - 1);
    ref.signature = {DType::kUInt8, {1}};
    ref.data = pool_.Hold(worker, object, session_, std::move(memory));
  }
  if (!no_room.ok()) return absl::Status(no_room.code(), Named(no_room.message()));
  for (std::size_t i = 0; i < reply.outputs.size(); ++i) {
    const CallArray& from = reply.outputs[i];
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = daemon.allocate(from.data.size());
    if (!buffer.ok()) return absl::Status(buffer.status().code(), Named(buffer.status().message()));
    if (!from.data.empty()) std::memcpy((*buffer)->data(), from.data.data(), from.data.size());
    result.outputs.push_back(
        {i == 0 ? kValue : absl::StrCat(kArray, i - 1), from.signature, *std::move(buffer), core::ArrayId(), ""});
  }
  for (core::JobOutputValue& ref : refs) result.outputs.push_back(std::move(ref));
  return absl::OkStatus();
}

}  // namespace hotplate::server
