// The sessions that are alive: who has streams open, and for how long the others have been silent. Guarded by its
// owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

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

class SessionTable {
 public:
  SessionTable(std::uint32_t max_sessions, std::uint32_t max_streams, nanoseconds timeout)
      : max_sessions_(max_sessions), max_streams_(max_streams), timeout_(timeout) {}

  // A sign of life, of a session that may be new; `streams` are opened (or, below 0, closed) with it.
  // RESOURCE_EXHAUSTED names the limit; closing never fails.
  absl::StatusOr<std::shared_ptr<Session>> Touch(const SessionId& id, int streams, SteadyTime now);
  // Whoever still has a job of the session sees `ended`. False if it was not there.
  bool End(const SessionId& id);
  bool HasRoomFor(const SessionId& id) const { return sessions_.size() < max_sessions_ || sessions_.contains(id); }
  // Ends the session that was silent longest among those with no stream, no active job and no place in `holders`: it
  // would notice nothing. Every command of a user's is a session, and most of them hold nothing once they are over.
  // False if each one holds something.
  bool MakeRoom(const std::set<SessionId>& holders);
  // The session is there again if it is not: it may have given way after a call looked for it and before that call
  // left something behind, which must end with a session like everything else. Beyond the limit if need be.
  void Readmit(const SessionId& id, SteadyTime now);
  // Those without a stream, an active job or a sign of life for the timeout.
  std::vector<SessionId> Silent(SteadyTime now) const;

 private:
  using Sessions = std::map<SessionId, std::shared_ptr<Session>>;
  Sessions::iterator Insert(const SessionId& id);

  const std::uint32_t max_sessions_, max_streams_;
  const nanoseconds timeout_;
  Sessions sessions_;
  std::uint32_t streams_ = 0;
  std::uint64_t next_share_ = 1;
};

}  // namespace hotplate::core
