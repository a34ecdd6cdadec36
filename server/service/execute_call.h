// Jobs.Execute: one job in one unary call. Answers when the job ends; the handler's thread does not wait for that.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "hotplate/v1/jobs.pb.h"
#include "server/service/context.h"

namespace hotplate::server {

class ExecuteCall final : public grpc::ServerUnaryReactor,
                          public core::JobObserver,
                          public std::enable_shared_from_this<ExecuteCall> {
 public:
  static grpc::ServerUnaryReactor* Start(const ServiceContext& context, grpc::CallbackServerContext* call,
                                         const v1::ExecuteJobRequest& request, v1::ExecuteJobResponse& response);

  ExecuteCall(const ServiceContext& context, core::Principal who, std::string peer,
              const v1::ExecuteJobRequest& request, v1::ExecuteJobResponse& response);

  void OnChange(const core::JobId& id, std::uint64_t tag, const core::StateChange& event,
                const std::shared_ptr<const core::JobEnd>& end) override;
  bool WantsStatesBeforeEnd() const override { return false; }
  void OnProgress(const core::JobId&, std::uint64_t, const core::JobProgress&) override {}
  void OnNotice(const std::string&, std::optional<double>) override {}

  void OnCancel() noexcept override;
  void OnDone() noexcept override;

 private:
  void Run();
  absl::StatusOr<core::JobId> Submit();
  // The first answer counts.
  void Answer(const grpc::Status& status);
  // True for the first caller, which then fills the response, if it is the answer, and calls FinishOrLeaveIt.
  bool Close();
  void FinishOrLeaveIt(const grpc::Status& status);
  void GiveUp();

  const ServiceContext& context_;
  const core::Principal who_;
  const std::string peer_;
  // The request lives until Finish, which a cancel may call while the files' thread still reads the job: then a copy.
  const v1::JobSpec copy_;
  const v1::JobSpec& spec_;
  const std::string kernel_;
  v1::ExecuteJobResponse& response_;
  std::atomic<bool> closed_{false};
  grpc::Status status_;  // of the answer
  // Set by Start when it returns and by the answer when it is there: whichever comes second finishes the call.
  std::atomic<bool> half_answered_{false};
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<ExecuteCall> self_;
};

}  // namespace hotplate::server
