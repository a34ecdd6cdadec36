#include "server/core/sessions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hotplate::core {

absl::StatusOr<std::shared_ptr<Session>> SessionTable::Touch(const SessionId& id, int streams, SteadyTime now) {
  auto at = sessions_.find(id);
  if (at == sessions_.end()) {
    if (streams < 0) return absl::NotFoundError(absl::StrCat("no session ", id.value()));
    if (sessions_.size() >= max_sessions_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the daemon has ", sessions_.size(),
                       " sessions with arrays, jobs or streams, its limit max-sessions; try again later"));
    }
  }
  if (streams > 0 && streams_ + static_cast<std::uint32_t>(streams) > max_streams_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the daemon has ", streams_, " streams open, its limit max-streams; close some or try later"));
  }
  if (at == sessions_.end()) at = Insert(id);
  Session& session = *at->second;
  session.last_seen = now;
  if (streams >= 0) {
    session.streams += static_cast<std::uint32_t>(streams);
    streams_ += static_cast<std::uint32_t>(streams);
  } else {
    const std::uint32_t closed = std::min(session.streams, static_cast<std::uint32_t>(-streams));
    session.streams -= closed;
    streams_ -= closed;
  }
  return at->second;
}

SessionTable::Sessions::iterator SessionTable::Insert(const SessionId& id) {
  const auto at = sessions_.emplace(id, std::make_shared<Session>()).first;
  at->second->share = next_share_++;
  return at;
}

void SessionTable::Readmit(const SessionId& id, SteadyTime now) {
  if (!sessions_.contains(id)) Insert(id)->second->last_seen = now;
}

bool SessionTable::End(const SessionId& id) {
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) return false;
  at->second->ended = true;
  streams_ -= at->second->streams;
  sessions_.erase(at);
  return true;
}

bool SessionTable::MakeRoom(const std::set<SessionId>& holders) {
  auto longest = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    const Session& session = *at->second;
    if (session.streams > 0 || session.active_jobs > 0 || holders.contains(at->first)) continue;
    if (longest == sessions_.end() || session.last_seen < longest->second->last_seen) longest = at;
  }
  return longest != sessions_.end() && End(SessionId(longest->first));
}

std::vector<SessionId> SessionTable::Silent(SteadyTime now) const {
  std::vector<SessionId> silent;
  for (const auto& [id, session] : sessions_) {
    if (session->streams == 0 && session->active_jobs == 0 && now - session->last_seen >= timeout_) {
      silent.push_back(id);
    }
  }
  return silent;
}

}  // namespace hotplate::core
