#include "server/service/execute_call.h"

#include <utility>

#include "server/service/acts.h"
#include "server/service/programs.h"
#include "server/service/refusal.h"
#include "server/wire/status.h"

namespace hotplate::server {

using Refused = Refusal<grpc::ServerUnaryReactor>;
grpc::ServerUnaryReactor* ExecuteCall::Start(const ServiceContext& context, grpc::CallbackServerContext* call,
                                             const v1::ExecuteJobRequest& request, v1::ExecuteJobResponse& response) {
  absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kSubmit);
  if (!who.ok()) return new Refused(who.status());
  std::string peer = PeerFor(context, *call);
  absl::Status status = context.CheckSize(request);
  if (status.ok()) status = context.AcceptsJobs();
  if (!status.ok()) {
    CountRun(context, *who, peer, request.job(), status);
    return new Refused(status);
  }
  const auto execution = std::make_shared<ExecuteCall>(context, *std::move(who), std::move(peer), request, response);
  if (!wire::NeedsFiles(request.job())) {
    execution->Run();
  } else if (absl::Status full = context.PostForFiles(request.ByteSizeLong(), [execution] { execution->Run(); });
             !full.ok()) {
    CountRun(context, execution->who_, execution->peer_, request.job(), full);
    execution->Answer(wire::ToGrpc(full));
  }
  execution->self_ = execution;
  if (!execution->half_answered_.exchange(true)) return execution.get();
  // Answered already, as tiny jobs are.
  // gRPC's own reactor is done with on this thread, others on another one.
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(execution->status_);
  execution->self_.reset();
  return reactor;
}

ExecuteCall::ExecuteCall(const ServiceContext& context, core::Principal who, std::string peer,
                         const v1::ExecuteJobRequest& request, v1::ExecuteJobResponse& response)
    : context_(context),
      who_(std::move(who)),
      peer_(std::move(peer)),
      copy_(wire::NeedsFiles(request.job()) ? request.job() : v1::JobSpec()),
      spec_(wire::NeedsFiles(request.job()) ? copy_ : request.job()),
      kernel_(request.job().kernel()),
      response_(response) {}

absl::StatusOr<core::JobId> ExecuteCall::Submit() {
  absl::StatusOr<core::JobRequest> request = JobAsRequest(context_, who_, spec_, wire::SignatureInputs::kRefused);
  if (!request.ok()) return request.status();
  request->attached = true;
  return context_.engine().Submit(who_, *std::move(request), shared_from_this(), 0);
}

void ExecuteCall::Run() {
  const std::shared_ptr<ExecuteCall> alive = shared_from_this();
  if (cancelled_.load()) return;  // while it waited for its files
  const absl::StatusOr<core::JobId> id = Submit();
  CountRun(context_, who_, peer_, spec_, id.status());
  if (!id.ok()) return Answer(wire::ToGrpc(id.status()));
  // A client that went away before the engine had the job.
  if (cancelled_.load()) GiveUp();
}

void ExecuteCall::OnChange(const core::JobId& id, std::uint64_t, const core::StateChange&,
                           const std::shared_ptr<const core::JobEnd>& end) {
  if (!end || !Close()) return;
  response_.set_job_id(id.value());
  wire::ToProto(*end, id, kernel_, context_.facts(), *response_.mutable_end());
  response_.set_generation(context_.generation());
  FinishOrLeaveIt(grpc::Status::OK);
}

void ExecuteCall::Answer(const grpc::Status& status) {
  if (Close()) FinishOrLeaveIt(status);
}

void ExecuteCall::FinishOrLeaveIt(const grpc::Status& status) {
  status_ = status;
  if (half_answered_.exchange(true)) Finish(status_);
}

void ExecuteCall::OnCancel() noexcept {
  cancelled_.store(true);
  GiveUp();
  Answer(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
}

void ExecuteCall::GiveUp() {
  context_.engine().Unsubscribe(shared_from_this(), core::Engine::OnDisconnect::kCancelAfterGrace);
}

bool ExecuteCall::Close() { return !closed_.exchange(true); }

void ExecuteCall::OnDone() noexcept { const std::shared_ptr<ExecuteCall> last = std::move(self_); }

}  // namespace hotplate::server
