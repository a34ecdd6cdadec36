#include "server/service/watch_stream.h"

#include "server/service/refusal.h"

namespace hotplate::server {
namespace {

using WatchReactor = grpc::ServerWriteReactor<v1::WatchJobResponse>;

}  // namespace

WatchReactor* WatchStream::Start(const ServiceContext& context, grpc::CallbackServerContext* call,
                                 const v1::WatchJobRequest& request) {
  const absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kObserve);
  if (!who.ok()) return new Refusal<WatchReactor>(who.status());
  const core::JobId id(request.job_id().substr(0, 128));
  const absl::StatusOr<core::JobSnapshot> job = context.engine().Get(*who, id);
  if (!job.ok()) return new Refusal<WatchReactor>(context.AboutJob(job.status(), id.value()));
  absl::StatusOr<StreamTicket> ticket = StreamTicket::Take(context, who->session, core::SessionUse::kLooks);
  if (!ticket.ok()) return new Refusal<WatchReactor>(ticket.status());

  const auto stream = std::make_shared<WatchStream>(context, *std::move(ticket), job->kernel);
  stream->Begin();
  const std::uint64_t from = std::max<std::uint64_t>(request.from_sequence(), 1);
  if (absl::Status status = context.engine().Watch(*who, id, from, stream, 0); !status.ok()) {
    MutexLock lock(stream->mutex_);
    stream->CloseWhenSent(lock, status);
    return stream.get();
  }
  // A job that ended before `from_sequence` has nothing more to tell.
  const absl::StatusOr<core::JobSnapshot> now = context.engine().Get(*who, id);
  if (!now.ok() || now->end) {
    MutexLock lock(stream->mutex_);
    stream->CloseWhenSent(lock, absl::OkStatus());
  }
  return stream.get();
}

WatchStream::WatchStream(const ServiceContext& context, StreamTicket ticket, std::string kernel)
    : UpdateStream(context, std::move(ticket), Outbox::StatesBeforeEnd::kSent), kernel_(std::move(kernel)) {}

std::string WatchStream::EndedLocked(std::uint64_t) {
  CloseAfterEndLocked();
  return kernel_;
}

}  // namespace hotplate::server
