// The sessions that are alive: who has streams open, and for how long the others have been silent. Guarded by its
// owner.
//
// A client that is there has a stream open, a job under way, or has just called. A session without any of these for the
// disconnect grace is abandoned: its client was killed, or has forgotten it. It is ended after the session timeout, and
// before that when others need its place or its memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/core/types.h"

namespace hotplate::core {

struct Session {
  std::uint64_t share = 0;  // its number in the queue; never used twice
  std::uint32_t streams = 0;
  std::uint32_t active_jobs = 0;
  SteadyTime last_seen;
  bool ended = false;
};

struct SessionLimits {
  std::uint32_t sessions, streams;
  nanoseconds timeout, grace;
};

class SessionTable {
 public:
  explicit SessionTable(SessionLimits limits) : limits_(limits) {}

  // A sign of life, of a session that may be new; `streams` are opened (or, below 0, closed) with it.
  // RESOURCE_EXHAUSTED names the limit; closing never fails. A call that only looks is not refused for want of a place:
  // null, or beyond the limit with its stream.
  absl::StatusOr<std::shared_ptr<Session>> Touch(const SessionId& id, int streams, SessionUse use, SteadyTime now);
  // Whoever still has a job of the session sees `ended`. False if it was not there.
  bool End(const SessionId& id);
  bool HasRoomFor(const SessionId& id) const { return sessions_.size() < limits_.sessions || sessions_.contains(id); }
  // Ends the session that was silent longest among those with no stream, no active job and no place in `holders`: it
  // would notice nothing. Every command of a user's is a session, and most of them hold nothing once they are over. If
  // each one holds something, and the place is for more than a look, one that is abandoned. The caller sees to its
  // arrays.
  std::optional<SessionId> EndForPlace(SessionUse use, const ArrayHolders& holders, SteadyTime now);
  // The same for memory: one that is abandoned and whose arrays would free some.
  std::optional<SessionId> EndForMemory(const ArrayHolders& holders, SteadyTime now);
  // The bytes that ending all such sessions would free.
  std::uint64_t AbandonedBytes(const ArrayHolders& holders, SteadyTime now) const;
  // The session is there again if it is not: it may have given way after a call looked for it and before that call
  // left something behind, which must end with a session like everything else. Beyond the limit if need be.
  void Readmit(const SessionId& id, SteadyTime now);
  // Those without a stream, an active job or a sign of life for the timeout.
  std::vector<SessionId> Silent(SteadyTime now) const;

 private:
  using Sessions = std::map<SessionId, std::shared_ptr<Session>>;
  Sessions::iterator Insert(const SessionId& id);
  bool IsAbandoned(const Session& session, SteadyTime now) const {
    return session.streams == 0 && session.active_jobs == 0 && now - session.last_seen >= limits_.grace;
  }
  // Ends the one that was silent longest of those without a stream or an active job that may go.
  std::optional<SessionId> EndLongestSilent(absl::FunctionRef<bool(const SessionId&, const Session&)> may_go);

  const SessionLimits limits_;
  Sessions sessions_;
  std::uint32_t streams_ = 0;
  std::uint64_t next_share_ = 1;
};

}  // namespace hotplate::core
