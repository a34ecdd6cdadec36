// A program that ran under a daemon before this one: what it printed can be read.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/workers/printing_work.h"
#include "server/workers/program_job.h"

namespace hotplate::server {

class PastProgram final : public PrintingWork {
 public:
  PastProgram(ProgramJob::Kind kind, ProgramStreams::Everything printed)
      : kind_(kind), streams_(std::make_shared<ProgramStreams>(std::move(printed))) {}

  core::RunResult Run(const DeviceInfo& /*device*/, const std::vector<core::OutsideInput>& /*inputs*/,
                      const Daemon& /*daemon*/, TaskControl& /*control*/) override {
    core::RunResult result;
    result.kind = core::RunResult::Kind::kFailed;
    result.error = absl::InternalError("a program that has ended was to run again");
    return result;
  }
  bool Keeps(const std::string& /*output*/) const override { return false; }
  SharedSpec spec() const override { return ProgramJob::SpecOf(kind_); }
  std::uint64_t kept_bytes() const override { return streams_->kept_bytes(); }
  std::uint64_t most_kept_bytes() const override { return streams_->kept_bytes(); }
  const std::shared_ptr<ProgramStreams>& streams() const override { return streams_; }

 private:
  const ProgramJob::Kind kind_;
  const std::shared_ptr<ProgramStreams> streams_;
};

}  // namespace hotplate::server
