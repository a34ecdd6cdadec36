// A call of a function of a user's as a job of the core. Its first input is the pickled arguments, the others are the
// arrays among them, or the objects in a worker (ref_table.h) that they mean; its first output is the pickled result,
// the others are the arrays in it, and such objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/workers/call_worker.h"
#include "server/workers/function_table.h"
#include "server/workers/printing_work.h"
#include "server/workers/worker_pool.h"

namespace hotplate::server {

class FunctionJob final : public PrintingWork {
 public:
  static constexpr std::size_t kMostArrays = 63;  // among the arguments
  static constexpr char kArguments[] = "arguments", kValue[] = "value", kArray[] = "a", kRef[] = "r";

  struct Call {
    std::shared_ptr<const FunctionCode> function;
    std::shared_ptr<const FunctionEnvironment> environment;  // null: that of the objects among its arguments
    std::size_t arrays = 0;                                  // among its arguments; they are the inputs "a0", "a1", …
    bool keep = false;                                       // the arrays in its result stay
    bool alone = false;      // in a worker that nobody else uses while somebody has an object in its result
    std::uint32_t cpus = 0;  // v1::FunctionCall::cpus
  };

  // All outlive the job.
  FunctionJob(WarmPythons& pythons, WorkerPool& pool, SegmentCache& segments, Call call)
      : pythons_(pythons),
        pool_(pool),
        segments_(segments),
        call_(std::move(call)),
        called_(call_.function->name + " " + call_.function->id),
        streams_(std::make_shared<ProgramStreams>(/*has_client=*/false)) {}

  // Where the objects among its arguments are. NOT_FOUND, with the field "ref": they are lost.
  absl::StatusOr<Place> PlaceFor(const core::Principal& who,
                                 const std::vector<std::shared_ptr<const HostBuffer>>& inputs,
                                 const std::string& device) override;
  core::RunResult Run(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs, const Daemon& daemon,
                      TaskControl& control) override;
  bool Keeps(const std::string& output) const override {
    return output.front() == kRef[0] || (call_.keep && output != kValue);
  }
  SharedSpec spec() const override;
  std::string called() const override { return called_; }
  std::uint64_t kept_bytes() const override { return streams_->kept_bytes(); }
  std::uint64_t most_kept_bytes() const override { return ProgramStreams::kMostKept; }
  const std::shared_ptr<ProgramStreams>& streams() const override { return streams_; }

 private:
  // Why a call of this session cannot have this object beside those before it.
  absl::Status CheckRef(const core::Principal& who, const FoundRef& ref, const std::string& device) const;
  absl::Status LostError(const FoundRef& ref) const;
  // A worker for the call. NOT_FOUND: that of its objects is gone.
  absl::StatusOr<WorkerPool::Taken> TakeWorker(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs,
                                               const Daemon& daemon, TaskControl& control, core::ProcessUse& use);
  absl::StatusOr<std::unique_ptr<CallWorker>> StartWorker(const DeviceInfo& device, const Daemon& daemon,
                                                          TaskControl& control, core::ProcessUse& use);
  void RunIn(CallWorker& worker, const std::vector<core::OutsideInput>& inputs, const Daemon& daemon,
             TaskControl& control, core::ProcessUse& use, core::RunResult& result);
  absl::StatusOr<CallReply> CallIn(CallWorker& worker, const std::vector<core::OutsideInput>& inputs,
                                   TaskControl& control) const;
  // Of a reply that is a result.
  absl::Status TakeOutputs(const CallReply& reply, const std::shared_ptr<const WorkerFacts>& worker,
                           const Daemon& daemon, core::RunResult& result) const;
  std::string Named(absl::string_view why) const;
  // The processor's, that its worker uses.
  int ThreadsOn(const DeviceInfo& device) const;
  std::string KeyOn(const DeviceInfo& device) const;  // WorkerPool's

  WarmPythons& pythons_;
  WorkerPool& pool_;
  SegmentCache& segments_;
  Call call_;  // whose function and environment go when it has run
  const std::string called_;
  core::SessionId session_;
  std::shared_ptr<const WorkerFacts> holder_;  // of the objects among its arguments; null: there are none
  const std::shared_ptr<ProgramStreams> streams_;
};

}  // namespace hotplate::server
