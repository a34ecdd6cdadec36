// Shared by Run and Watch: a reactor that observes jobs and writes their updates, one message at a time, each with all
// updates that have gathered during the previous write. How it ends:
//   by itself     CloseWhenSent: after the last update
//   from outside  OnCancel or a failed write: the engine deals with its jobs, then the call is finished
// Owned by itself until gRPC is done with it, and by the engine during its callbacks; later callbacks find it closed.
// No lock is held across a call into gRPC or the engine.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/mutex.h"
#include "server/service/context.h"
#include "server/service/outbox.h"
#include "server/service/reused_message.h"
#include "server/wire/status.h"

namespace hotplate::server {

template <typename Reactor, typename Response>
class UpdateStream : public Reactor,
                     public core::JobObserver,
                     public std::enable_shared_from_this<UpdateStream<Reactor, Response>> {
 public:
  // Once, after construction: the stream lives until OnDone, and hears of notices.
  void Begin() {
    self_ = this->shared_from_this();
    context_.engine().Subscribe(observer());
  }

  void OnChange(const core::JobId& id, std::uint64_t tag, const core::StateChange& event,
                const std::shared_ptr<const core::JobEnd>& end) final {
    MutexLock lock(mutex_);
    if (closed_) return;
    if (end) {
      outbox_.AddEnd(tag, id, EndedLocked(tag), event.sequence, end);
    } else {
      outbox_.AddState(tag, id, event);
    }
  }

  bool WantsStatesBeforeEnd() const final { return states_before_end_ == Outbox::StatesBeforeEnd::kSent; }

  void OnProgress(const core::JobId& id, std::uint64_t tag, const core::JobProgress& progress) final {
    MutexLock lock(mutex_);
    if (!closed_) outbox_.AddProgress(tag, id, progress);
  }

  void OnNotice(const std::string& text, std::optional<double> seconds_left) final {
    MutexLock lock(mutex_);
    if (!closed_) outbox_.AddNotice(text, seconds_left);
  }

  // The engine has no more to say for now: all updates of a tiny job go into one message.
  void OnFlush() final {
    MutexLock lock(mutex_);
    Advance(lock);
  }

  bool HasUnsent() final {
    MutexLock lock(mutex_);
    return !closed_ && (writing_ || !outbox_.empty());
  }

  void OnWriteDone(bool ok) noexcept final {
    response_.TakeBack();
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok || broken_) return Break(lock);
    if (!outbox_.empty()) context_.engine().NoteUse();  // there is more, and a client that takes it
    const bool resume = starved_ && !outbox_.overfull();
    if (resume) starved_ = false;
    Advance(lock);
    if (!resume) return;
    if (lock.held()) lock.Unlock();
    OnRoom();
  }

  void OnCancel() noexcept final {
    MutexLock lock(mutex_);
    Break(lock);
  }

  void OnDone() noexcept final {
    const std::shared_ptr<UpdateStream> last = std::move(self_);
    OnGone();
    // However it ended, the engine forgets it.
    context_.engine().Unsubscribe(last, core::Engine::OnDisconnect::kCancelAfterGrace);
    // Now, not with the last reference: a lane may hold that longer than the server lives.
    ticket_.reset();
  }

 protected:
  UpdateStream(const ServiceContext& context, StreamTicket ticket, Outbox::StatesBeforeEnd states_before_end)
      : context_(context),
        states_before_end_(states_before_end),
        outbox_(states_before_end),
        ticket_(std::move(ticket)) {}

  // Called under the lock when a job ends: forgets it, and returns its kernel's name.
  virtual std::string EndedLocked(std::uint64_t tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Closes an unneeded stream, and makes room for another at once. Releases the lock.
  void GiveUp(MutexLock& lock, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    std::optional<StreamTicket> ticket = std::move(ticket_);
    ticket_.reset();
    CloseWhenSent(lock, status);
    if (lock.held()) lock.Unlock();  // before the ticket goes
  }

  // Called without the lock, at the end.
  virtual void OnGone() {}

  // Called without the lock, once after HasRoomLocked said no.
  virtual void OnRoom() {}

  // False while the client takes less than it is sent: make no more updates then, until OnRoom. Under the lock.
  bool HasRoomLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Something is on its way then, or will be, and when it is gone OnWriteDone looks again.
    starved_ = starved_ || outbox_.overfull();
    return !starved_;
  }

  std::shared_ptr<core::JobObserver> observer() { return this->shared_from_this(); }

  void AddPrintedLocked(std::uint64_t tag, const core::JobId& id, std::vector<OutputPiece> pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (OutputPiece& piece : pieces) outbox_.AddPrinted(tag, id, std::move(piece));
  }

  void Refuse(std::uint64_t tag, const absl::Status& status) {
    MutexLock lock(mutex_);
    if (closed_) return;
    outbox_.AddRefusal(tag, status);
    Advance(lock);
  }

  // Finishes with `status` when all that is in the outbox has been sent.
  void CloseWhenSent(MutexLock& lock, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!close_) close_ = status;
    Advance(lock);
  }

  // Finish was called, or will be once pending writes are sent.
  bool ClosingLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || close_.has_value(); }

  // The same from EndedLocked: the end that is being added is the last update.
  void CloseAfterEndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!close_) close_ = absl::OkStatus();
  }

  // Lets gRPC do the next thing, if there is one to do now; releases the lock if so, which the analysis cannot follow.
  void Advance(MutexLock& lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (closed_ || writing_ || held_) return;
    if (!outbox_.empty()) {
      writing_ = true;
      const Outbox::Batch batch = outbox_.Take();
      lock.Unlock();
      Response& response = response_.Renew();
      if (!std::exchange(told_generation_, true)) response.set_generation(context_.generation());
      batch.FillInto(*response.mutable_updates(), context_.facts());
      this->StartWrite(response_.Lend());
    } else if (close_ && outbox_.empty()) {
      closed_ = true;
      const absl::Status status = *close_;
      lock.Unlock();
      this->Finish(wire::ToGrpc(status));
    }
  }

  const ServiceContext& context_;
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called, or will be once the write is back
  bool held_ ABSL_GUARDED_BY(mutex_) = false;    // nothing is to be written now: more is about to come

 private:
  void Break(MutexLock& lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    broken_ = true;
    const bool owed = !std::exchange(closed_, true) || finish_after_write_;
    const bool finish = owed && !writing_;
    finish_after_write_ = owed && writing_;
    lock.Unlock();
    context_.engine().Unsubscribe(observer(), core::Engine::OnDisconnect::kCancelAfterGrace);
    if (finish) this->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
  }

  const Outbox::StatesBeforeEnd states_before_end_;
  Outbox outbox_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool starved_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool finish_after_write_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> close_ ABSL_GUARDED_BY(mutex_);
  // These two belong to the thread that set writing_.
  ReusedMessage<Response> response_;
  bool told_generation_ = false;

  std::optional<StreamTicket> ticket_;
  std::shared_ptr<UpdateStream> self_;
};

}  // namespace hotplate::server
