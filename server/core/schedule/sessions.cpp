#include "server/core/schedule/sessions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hotplate::core {

absl::StatusOr<std::shared_ptr<Session>> SessionTable::Touch(const SessionId& id, int streams, SessionUse use,
                                                             SteadyTime now) {
  auto at = sessions_.find(id);
  if (at == sessions_.end()) {
    if (streams < 0) return absl::NotFoundError(absl::StrCat("no session ", id.value()));
    if (sessions_.size() >= limits_.sessions) {
      if (use == SessionUse::kHolds) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the daemon has ", sessions_.size(),
                         " sessions with arrays, jobs or streams, its limit max-sessions; try again later"));
      }
      if (streams == 0) return nullptr;
    }
  }
  if (streams > 0 && streams_ + static_cast<std::uint32_t>(streams) > limits_.streams) {
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

std::optional<SessionId> SessionTable::EndLongestSilent(
    absl::FunctionRef<bool(const SessionId&, const Session&)> may_go) {
  auto longest = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    const Session& session = *at->second;
    if (session.streams > 0 || session.active_jobs > 0 || !may_go(at->first, session)) continue;
    if (longest == sessions_.end() || session.last_seen < longest->second->last_seen) longest = at;
  }
  if (longest == sessions_.end()) return std::nullopt;
  SessionId id = longest->first;
  End(id);
  return id;
}

std::optional<SessionId> SessionTable::EndForPlace(SessionUse use, const ArrayHolders& holders, SteadyTime now) {
  std::optional<SessionId> ended =
      EndLongestSilent([&](const SessionId& id, const Session&) { return !holders.contains(id); });
  if (ended || use == SessionUse::kLooks) return ended;
  return EndLongestSilent([&](const SessionId&, const Session& session) { return IsAbandoned(session, now); });
}

std::optional<SessionId> SessionTable::EndForMemory(const ArrayHolders& holders, SteadyTime now) {
  return EndLongestSilent([&](const SessionId& id, const Session& session) {
    const auto holder = holders.find(id);
    return holder != holders.end() && holder->second > 0 && IsAbandoned(session, now);
  });
}

std::uint64_t SessionTable::AbandonedBytes(const ArrayHolders& holders, SteadyTime now) const {
  std::uint64_t all = 0;
  for (const auto& [id, bytes] : holders) {
    const auto at = sessions_.find(id);
    if (at != sessions_.end() && IsAbandoned(*at->second, now)) all += bytes;
  }
  return all;
}

std::vector<SessionId> SessionTable::Silent(SteadyTime now) const {
  std::vector<SessionId> silent;
  for (const auto& [id, session] : sessions_) {
    if (session->streams == 0 && session->active_jobs == 0 && now - session->last_seen >= limits_.timeout) {
      silent.push_back(id);
    }
  }
  return silent;
}

}  // namespace hotplate::core
