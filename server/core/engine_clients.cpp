// Clients as they come and go: observers, sessions, notices.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/engine_impl.h"

namespace hotplate::core {

absl::Status Engine::Impl::Watch(const Principal& who, const JobId& id, std::uint64_t from_sequence,
                                 std::shared_ptr<JobObserver> observer, std::uint64_t tag) {
  std::shared_ptr<Job> job;
  {
    std::scoped_lock lock(mutex_);
    job = table_.Find(who, id.value());
    if (job == nullptr) return NoJob(id);
    // The end is told to everybody, or nobody would know that nothing more comes.
    const unsigned newest = IsEnd(job->state) ? job->event_count - 1 : Job::kMaxEvents - 1;
    const std::uint64_t next = from_sequence == 0 ? 0 : from_sequence - 1;
    observers_.Add(*job, std::move(observer), tag, static_cast<unsigned>(std::min<std::uint64_t>(next, newest)),
                   /*owner=*/false);
  }
  Tell(*job);
  return absl::OkStatus();
}

void Engine::Impl::Subscribe(std::shared_ptr<JobObserver> observer) {
  std::scoped_lock lock(mutex_);
  observers_.Stay(std::move(observer));
}

void Engine::Impl::Unsubscribe(const std::shared_ptr<JobObserver>& observer, OnDisconnect policy) {
  Aftermath after;
  std::shared_ptr<Subscriber> subscriber;
  {
    std::unique_lock lock(mutex_);
    subscriber = observers_.Close(observer, [&](Job& job, bool owner) {
      if (owner) CancelAttached(job, policy, after);
    });
    if (subscriber != nullptr) observers_.WaitUntilQuiet(lock, *subscriber);
  }
  Perform(after);
}

absl::Status Engine::Impl::TouchSession(const SessionId& session, int streams) {
  std::scoped_lock lock(mutex_);
  const absl::StatusOr<std::shared_ptr<Session>> touched = Touch(session, streams);
  return streams < 0 ? absl::OkStatus() : touched.status();
}

absl::StatusOr<std::shared_ptr<Session>> Engine::Impl::Touch(const SessionId& session, int streams) {
  if (streams >= 0 && !sessions_.HasRoomFor(session)) sessions_.MakeRoom(arrays_.SessionsWithArrays());
  return sessions_.Touch(session, streams, clock_.Now());
}

void Engine::Impl::EndSession(const SessionId& session) {
  Aftermath after;
  std::vector<std::shared_ptr<const void>> gone;  // after the lock
  {
    // Its arrays under the same lock: a session that still had some would be readmitted.
    std::scoped_lock lock(mutex_);
    sessions_.End(session);
    gone = arrays_.EndSession(session);
    for (Job* job : ActiveJobs()) {
      if (job->owner.session == session && job->attached) {
        RequestCancel(*job, "was cancelled: its session ended", after);
      }
    }
  }
  gone.clear();
  Perform(after);
}

void Engine::Impl::Announce(const std::string& text, std::optional<double> seconds_left) {
  observers_.TellAll(text, seconds_left);
}

}  // namespace hotplate::core
