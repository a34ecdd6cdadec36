// The sessions that are alive: who has streams open, who has jobs under way, and for how long the others have been
// silent. Ending a session and freeing its arrays is one step here: nobody sees the one without the other.
//
// A client that is there has a stream open, a job under way, or has just called. A session without any of these for the
// disconnect grace is abandoned: its client was killed, or has forgotten it. It is ended after the session timeout, and
// before that when others need its place or its memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/allowances.h"
#include "server/core/arrays/arrays.h"
#include "server/core/log_sink.h"
#include "server/core/types.h"

namespace hotplate::core {

// Guarded by the lock of Sessions, but for `share`.
struct Session {
  std::uint64_t share = 0;  // its number in the queue; never used twice, and never changed
  std::uint32_t streams = 0;
  std::uint32_t active_jobs = 0;
  SteadyTime last_seen;
  bool ended = false;
};

struct SessionLimits {
  std::uint32_t sessions, streams;
  nanoseconds timeout, grace;
};

// Thread-safe. Takes the arrays' lock under its own, and no other.
class Sessions {
 public:
  Sessions(SessionLimits limits, ArrayStore& arrays, const Clock& clock, const LogSink& log)
      : limits_(limits), arrays_(arrays), clock_(clock), log_(log) {}

  // A sign of life, of a session that may be new; `streams` are opened (or, below 0, closed) with it.
  // RESOURCE_EXHAUSTED names the limit; closing never fails. Where there are too many sessions, one that would notice
  // nothing, or that is abandoned, ends for it. A call that only looks is not refused for want of a place.
  absl::Status Touch(const SessionId& id, int streams, SessionUse use);
  // The same, with a job that is under way from now until EndJob.
  absl::StatusOr<std::shared_ptr<Session>> BeginJob(const SessionId& id);
  void EndJob(Session& session, SteadyTime now);

  // Frees its arrays.
  void End(const SessionId& id);
  // The id of a guest's session: no two tokens have the same. The owner's sessions have their ids as they are.
  static SessionId IdOfGuest(const std::string& guest, const std::string& session) {
    return SessionId(PrefixOf(guest) + session);
  }
  std::vector<SessionId> AllOfGuest(const std::string& guest) const;
  // Ends abandoned sessions, and uploads that nobody goes on with, until so many bytes are free; false, and none has
  // ended, if that is not enough.
  bool Reclaim(std::uint64_t bytes);
  // The bytes that this would free at most.
  std::uint64_t AbandonedBytes() const;
  // Ends sessions that were silent for the timeout, and frees arrays whose lease or upload is over.
  void Expire();

  // Runs `place` with whether the session has ended, which it does not do meanwhile.
  void WhetherEnded(const Session& session, absl::FunctionRef<void(bool ended)> place) const;

 private:
  static std::string PrefixOf(const std::string& guest) { return guest + "/"; }
  static std::string PrefixIn(const SessionId& id);  // a guest's; empty: the owner's
  struct OfGuest {
    std::uint32_t sessions = 0, streams = 0;
  };
  OfGuest CountOf(const std::string& prefix) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckShare(const SessionId& id, int streams) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  using Table = std::map<SessionId, std::shared_ptr<Session>>;
  using Arrays = std::vector<std::shared_ptr<const void>>;  // to be let go of without the lock

  absl::StatusOr<std::shared_ptr<Session>> TouchLocked(const SessionId& id, int streams, SessionUse use)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Table::iterator Insert(const SessionId& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its arrays are the caller's to see to.
  void Forget(const SessionId& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsAbandoned(const Session& session, SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The session that was silent longest of those without a stream or a job that may go.
  std::optional<SessionId> LongestSilent(absl::FunctionRef<bool(const SessionId&, const Session&)> may_go) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a place for one more session. One that holds nothing goes first: every command of a user's is a session, and
  // most of them hold nothing once they are over. Where each holds something, one that is abandoned goes, but not for
  // a look.
  void MakePlace(const SessionId& id, SessionUse use, Arrays& gone, std::vector<std::string>& said)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One whose id begins so.
  void EndOne(const std::string& of, SessionUse use, Arrays& gone, std::vector<std::string>& said)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndForOthers(const SessionId& id, std::string_view needed, Arrays& gone, std::vector<std::string>& said)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::uint64_t AbandonedBytes(const ArrayHolders& holders, SteadyTime now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FreeExpired(nanoseconds upload_grace);
  void Say(const std::vector<std::string>& said) const;

  const SessionLimits limits_;
  ArrayStore& arrays_;
  const Clock& clock_;
  const LogSink& log_;

  mutable Mutex mutex_;
  Table sessions_ ABSL_GUARDED_BY(mutex_);
  std::uint32_t streams_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_share_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace hotplate::core
