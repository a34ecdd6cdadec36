// A call of a function of a user's as a job of the core. Its first input is the pickled arguments, the others are the
// arrays among them; its first output is the pickled result, the others are the arrays in it.
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
  static constexpr char kArguments[] = "arguments", kValue[] = "value";

  struct Call {
    std::shared_ptr<const FunctionCode> function;
    std::shared_ptr<const FunctionEnvironment> environment;
    std::size_t arrays = 0;  // among its arguments; they are the inputs "a0", "a1", …
    bool keep = false;       // the arrays in its result stay
  };

  // All outlive the job.
  FunctionJob(WarmPythons& pythons, WorkerPool& pool, SegmentCache& segments, Call call)
      : pythons_(pythons),
        pool_(pool),
        segments_(segments),
        call_(std::move(call)),
        streams_(std::make_shared<ProgramStreams>(/*has_client=*/false)) {}

  core::RunResult Run(const DeviceInfo& device, const std::vector<core::OutsideInput>& inputs, const Allocate& allocate,
                      TaskControl& control) override;
  bool Keeps(const std::string& output) const override { return call_.keep && output != kValue; }
  SharedSpec spec() const override;
  std::uint64_t kept_bytes() const override { return streams_->kept_bytes(); }
  std::uint64_t most_kept_bytes() const override { return ProgramStreams::kMostKept; }
  const std::shared_ptr<ProgramStreams>& streams() const override { return streams_; }

 private:
  absl::StatusOr<CallReply> RunIn(CallWorker& worker, const std::vector<core::OutsideInput>& inputs,
                                  TaskControl& control) const;
  // Of a reply that is a result.
  absl::Status TakeOutputs(const CallReply& reply, const Allocate& allocate, core::RunResult& result) const;
  std::string Named(absl::string_view why) const;

  WarmPythons& pythons_;
  WorkerPool& pool_;
  SegmentCache& segments_;
  Call call_;  // whose function and environment go when it has run
  const std::shared_ptr<ProgramStreams> streams_;
};

}  // namespace hotplate::server
