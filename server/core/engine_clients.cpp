// Clients as they come and go: observers, sessions, notices.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "kernels/base/status.h"
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

absl::Status Engine::Impl::TouchSession(const SessionId& session, int streams, SessionUse use) {
  Aftermath after;
  absl::Status status;
  {
    std::scoped_lock lock(mutex_);
    status = Touch(session, streams, use, after).status();
  }
  Perform(after);
  return streams < 0 ? absl::OkStatus() : status;
}

absl::StatusOr<std::shared_ptr<Session>> Engine::Impl::Touch(const SessionId& session, int streams, SessionUse use,
                                                             Aftermath& after) {
  const SteadyTime now = clock_.Now();
  if (streams >= 0 && !sessions_.HasRoomFor(session)) {
    const ArrayHolders holders = arrays_.SessionsWithArrays();
    const std::optional<SessionId> ended = sessions_.EndForPlace(use, holders, now);
    if (ended && holders.contains(*ended)) FreeArraysOf(*ended, "place", after);
  }
  return sessions_.Touch(session, streams, use, now);
}

void Engine::Impl::FreeArraysOf(const SessionId& session, std::string_view needed, Aftermath& after) {
  std::vector<std::shared_ptr<const void>> arrays = arrays_.EndSession(session);
  Log(after, LogLevel::kInfo,
      absl::StrCat("session ", ShownPart(session), " has no connection any more and is ended, with its ", arrays.size(),
                   " arrays: others need its ", ToAbsl(needed)));
  after.arrays.insert(after.arrays.end(), std::make_move_iterator(arrays.begin()),
                      std::make_move_iterator(arrays.end()));
}

std::uint64_t Engine::Impl::AbandonedBytes(const ArrayHolders& holders, SteadyTime now) const {
  return sessions_.AbandonedBytes(holders, now) + arrays_.StalledUploadBytes(options_.disconnect_grace);
}

bool Engine::Impl::Reclaim(std::uint64_t bytes) {
  Aftermath after;
  {
    std::scoped_lock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const ArrayHolders holders = arrays_.SessionsWithArrays();
    if (AbandonedBytes(holders, now) < bytes) return false;
    std::uint64_t freed = arrays_.StalledUploadBytes(options_.disconnect_grace);
    while (freed < bytes) {
      const std::optional<SessionId> session = sessions_.EndForMemory(holders, now);
      if (!session) break;
      freed += holders.at(*session);
      FreeArraysOf(*session, "memory", after);
    }
  }
  FreeExpired(options_.disconnect_grace, after);
  Perform(after);
  return true;
}

std::uint64_t Engine::Impl::BytesWantedByQueue() const {
  std::uint64_t least = 0;
  queue_.ForEach([&](const QueueEntry& entry) {
    for (const std::unique_ptr<DeviceState>& device : devices_) {
      if (device->running > 0 || !device->device->info().host_memory) continue;
      const DeviceNeed* const need = static_cast<const Job&>(entry).bound.NeedOf(device->index);
      if (need == nullptr || device->room.Fits(need->extra_bytes)) continue;
      const std::uint64_t wanted = need->extra_bytes - device->room.left();
      least = least == 0 ? wanted : std::min(least, wanted);
    }
  });
  return least;
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
