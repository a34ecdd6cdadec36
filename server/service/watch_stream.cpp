#include "server/service/watch_stream.h"

#include "server/service/refusal.h"

namespace hotplate::server {
namespace {

using WatchReactor = grpc::ServerWriteReactor<v1::WatchJobResponse>;

}  // namespace

WatchReactor* WatchStream::Start(const ServiceContext& context, grpc::CallbackServerContext* call,
                                 const v1::WatchJobRequest& request) {
  const absl::StatusOr<core::Principal> who = context.Admit(*call, core::Scope::kObserve, "Jobs.Watch");
  if (!who.ok()) return new Refusal<WatchReactor>(who.status());
  const core::JobId id(request.job_id().substr(0, 128));
  DurableJobs* const durable = context.durable();
  const bool recall = durable != nullptr && durable->MustRecall(*who, id, /*result=*/false);
  if (!recall) {
    const absl::Status job = context.engine().Get(*who, id).status();
    if (!job.ok()) return new Refusal<WatchReactor>(context.AboutJob(*who, job, id.value()));
  }
  absl::StatusOr<StreamTicket> ticket = StreamTicket::Take(context, who->session, core::SessionUse::kLooks);
  if (!ticket.ok()) return new Refusal<WatchReactor>(ticket.status());

  const auto stream = std::make_shared<WatchStream>(context, *std::move(ticket));
  stream->Begin();
  const std::uint64_t from = std::max<std::uint64_t>(request.from_sequence(), 1);
  if (!recall) {
    stream->Follow(*who, id, from);
    return stream.get();
  }
  const absl::Status posted = context.PostQuestion(*who, 1, [=, &context, who = *who] {
    context.durable()->Recall(who, id, /*result=*/false).IgnoreError();  // then it is not found
    stream->Follow(who, id, from);
  });
  if (!posted.ok()) {
    MutexLock lock(stream->mutex_);
    stream->CloseWhenSent(lock, posted);
  }
  return stream.get();
}

void WatchStream::Follow(const core::Principal& who, const core::JobId& id, std::uint64_t from_sequence) {
  absl::StatusOr<core::JobSnapshot> job = context_.engine().Get(who, id);
  absl::Status status = context_.AboutJob(who, job.status(), id.value());
  if (status.ok()) {
    {
      MutexLock lock(mutex_);
      kernel_ = job->kernel;
    }
    status = context_.engine().Watch(who, id, from_sequence, this->shared_from_this(), 0);
  }
  // A job that ended before `from_sequence` has nothing more to tell.
  if (status.ok()) job = context_.engine().Get(who, id);
  if (status.ok() && job.ok() && !job->end) return;
  MutexLock lock(mutex_);
  CloseWhenSent(lock, status);
}

WatchStream::WatchStream(const ServiceContext& context, StreamTicket ticket)
    : UpdateStream(context, std::move(ticket), Outbox::StatesBeforeEnd::kSent) {}

std::string WatchStream::EndedLocked(std::uint64_t) {
  CloseAfterEndLocked();
  return kernel_;
}

}  // namespace hotplate::server
