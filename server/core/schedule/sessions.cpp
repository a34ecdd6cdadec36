#include "server/core/schedule/sessions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"

namespace hotplate::core {
namespace {

// The digits of a session's id to show: the full id lets its reader act as that session, and others read the log.
constexpr std::size_t kShownDigits = 8;

std::string ShownPart(const SessionId& session) { return session.value().substr(0, kShownDigits); }

}  // namespace

absl::Status Sessions::Touch(const SessionId& id, int streams, SessionUse use) {
  Arrays gone;
  std::vector<std::string> said;
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (streams >= 0) MakePlace(id, use, gone, said);
    status = TouchLocked(id, streams, use).status();
  }
  gone.clear();
  Say(said);
  return streams < 0 ? absl::OkStatus() : status;
}

absl::StatusOr<std::shared_ptr<Session>> Sessions::BeginJob(const SessionId& id) {
  Arrays gone;
  std::vector<std::string> said;
  absl::StatusOr<std::shared_ptr<Session>> session;
  {
    MutexLock lock(mutex_);
    MakePlace(id, SessionUse::kHolds, gone, said);
    session = TouchLocked(id, 0, SessionUse::kHolds);
    if (session.ok()) ++(*session)->active_jobs;
  }
  gone.clear();
  Say(said);
  return session;
}

void Sessions::EndJob(Session& session, SteadyTime now) {
  MutexLock lock(mutex_);
  --session.active_jobs;
  session.last_seen = now;
}

absl::StatusOr<std::shared_ptr<Session>> Sessions::TouchLocked(const SessionId& id, int streams, SessionUse use) {
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
  if (absl::Status status = CheckShare(id, streams); !status.ok()) {
    if (streams == 0 && use == SessionUse::kLooks) return nullptr;
    return status;
  }
  if (streams > 0 && streams_ + static_cast<std::uint32_t>(streams) > limits_.streams) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the daemon has ", streams_, " streams open, its limit max-streams; close some or try later"));
  }
  if (at == sessions_.end()) at = Insert(id);
  Session& session = *at->second;
  session.last_seen = clock_.Now();
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

std::string Sessions::PrefixIn(const SessionId& id) {
  const std::size_t slash = id.value().find('/');
  return slash == std::string::npos ? "" : id.value().substr(0, slash + 1);
}

Sessions::OfGuest Sessions::CountOf(const std::string& prefix) const {
  OfGuest of;
  for (auto at = sessions_.lower_bound(SessionId(prefix));
       at != sessions_.end() && at->first.value().starts_with(prefix); ++at) {
    ++of.sessions;
    of.streams += at->second->streams;
  }
  return of;
}

absl::Status Sessions::CheckShare(const SessionId& id, int streams) const {
  const std::string guest = PrefixIn(id);
  const bool is_new = !sessions_.contains(id);
  if (guest.empty() || streams < 0 || (!is_new && streams == 0)) return absl::OkStatus();
  const OfGuest of = CountOf(guest);
  const std::uint32_t most = PartOf(limits_.sessions), most_streams = PartOf(limits_.streams);
  const std::string token = absl::StrCat("token \"", guest.substr(0, guest.size() - 1), "\" has ");
  if (is_new && of.sessions >= most) {
    return absl::ResourceExhaustedError(absl::StrCat(
        token, of.sessions, " sessions with arrays, jobs or streams, and may have ", most, "; try again later"));
  }
  if (streams > 0 && of.streams >= most_streams) {
    return absl::ResourceExhaustedError(
        absl::StrCat(token, of.streams, " streams open, and may have ", most_streams, "; close some or try later"));
  }
  return absl::OkStatus();
}

Sessions::Table::iterator Sessions::Insert(const SessionId& id) {
  const auto at = sessions_.emplace(id, std::make_shared<Session>()).first;
  at->second->share = next_share_++;
  return at;
}

void Sessions::Forget(const SessionId& id) {
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) return;
  at->second->ended = true;
  streams_ -= at->second->streams;
  sessions_.erase(at);
}

void Sessions::End(const SessionId& id) {
  Arrays gone;  // go after the lock
  MutexLock lock(mutex_);
  Forget(id);
  gone = arrays_.EndSession(id);
}

std::vector<SessionId> Sessions::AllOfGuest(const std::string& guest) const {
  const std::string prefix = PrefixOf(guest);
  std::vector<SessionId> found;
  MutexLock lock(mutex_);
  for (auto at = sessions_.lower_bound(SessionId(prefix));
       at != sessions_.end() && at->first.value().starts_with(prefix); ++at) {
    found.push_back(at->first);
  }
  return found;
}

bool Sessions::IsAbandoned(const Session& session, SteadyTime now) const {
  return session.streams == 0 && session.active_jobs == 0 && now - session.last_seen >= limits_.grace;
}

std::optional<SessionId> Sessions::LongestSilent(
    absl::FunctionRef<bool(const SessionId&, const Session&)> may_go) const {
  auto longest = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    const Session& session = *at->second;
    if (session.streams > 0 || session.active_jobs > 0 || !may_go(at->first, session)) continue;
    if (longest == sessions_.end() || session.last_seen < longest->second->last_seen) longest = at;
  }
  if (longest == sessions_.end()) return std::nullopt;
  return longest->first;
}

void Sessions::MakePlace(const SessionId& id, SessionUse use, Arrays& gone, std::vector<std::string>& said) {
  if (sessions_.contains(id)) return;
  if (const std::string guest = PrefixIn(id); !guest.empty()) {
    // In the guest's part, one of the guest's own goes.
    if (CountOf(guest).sessions >= PartOf(limits_.sessions)) return EndOne(guest, use, gone, said);
  }
  if (sessions_.size() >= limits_.sessions) EndOne("", use, gone, said);
}

void Sessions::EndOne(const std::string& of, SessionUse use, Arrays& gone, std::vector<std::string>& said) {
  const ArrayHolders holders = arrays_.SessionsWithArrays();
  std::optional<SessionId> ending = LongestSilent(
      [&](const SessionId& id, const Session&) { return id.value().starts_with(of) && !holders.contains(id); });
  if (ending) return Forget(*ending);
  if (use == SessionUse::kLooks) return;
  const SteadyTime now = clock_.Now();
  ending = LongestSilent([&](const SessionId& id, const Session& session) {
    mutex_.AssertHeld();
    return id.value().starts_with(of) && IsAbandoned(session, now);
  });
  if (ending) EndForOthers(*ending, "place", gone, said);
}

void Sessions::EndForOthers(const SessionId& id, std::string_view needed, Arrays& gone,
                            std::vector<std::string>& said) {
  Forget(id);
  Arrays arrays = arrays_.EndSession(id);
  said.push_back(absl::StrCat("session ", ShownPart(id), " has no connection any more and is ended, with its ",
                              arrays.size(), " arrays: others need its ", ToAbsl(needed)));
  gone.insert(gone.end(), std::make_move_iterator(arrays.begin()), std::make_move_iterator(arrays.end()));
}

std::uint64_t Sessions::AbandonedBytes(const ArrayHolders& holders, SteadyTime now) const {
  std::uint64_t all = arrays_.StalledUploadBytes(limits_.grace);
  for (const auto& [id, bytes] : holders) {
    const auto at = sessions_.find(id);
    if (at != sessions_.end() && IsAbandoned(*at->second, now)) all += bytes;
  }
  return all;
}

std::uint64_t Sessions::AbandonedBytes() const {
  MutexLock lock(mutex_);
  return AbandonedBytes(arrays_.SessionsWithArrays(), clock_.Now());
}

bool Sessions::Reclaim(std::uint64_t bytes) {
  Arrays gone;
  std::vector<std::string> said;
  {
    MutexLock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const ArrayHolders holders = arrays_.SessionsWithArrays();
    if (AbandonedBytes(holders, now) < bytes) return false;
    std::uint64_t freed = arrays_.StalledUploadBytes(limits_.grace);
    while (freed < bytes) {
      const std::optional<SessionId> id = LongestSilent([&](const SessionId& one, const Session& session) {
        mutex_.AssertHeld();
        const auto holder = holders.find(one);
        return holder != holders.end() && holder->second > 0 && IsAbandoned(session, now);
      });
      if (!id) break;
      freed += holders.at(*id);
      EndForOthers(*id, "memory", gone, said);
    }
  }
  FreeExpired(limits_.grace);
  gone.clear();
  Say(said);
  return true;
}

void Sessions::Expire() {
  std::vector<Arrays> gone;
  std::vector<std::string> said;
  {
    // Under one lock, so that a call that comes meanwhile is before the end of its session or after it. Silent ones
    // have no jobs.
    MutexLock lock(mutex_);
    const SteadyTime now = clock_.Now();
    const ArrayHolders holders = arrays_.SessionsWithArrays();
    // A session may have given way after a call looked for it and before that call left an array behind, which must end
    // with a session like everything else: it is there again, beyond the limit if need be.
    for (const auto& [holder, bytes] : holders) {
      if (!sessions_.contains(holder)) Insert(holder)->second->last_seen = now;
    }
    std::vector<SessionId> silent;
    for (const auto& [id, session] : sessions_) {
      const bool busy = session->streams > 0 || session->active_jobs > 0;
      if (!busy && now - session->last_seen >= limits_.timeout) silent.push_back(id);
    }
    for (const SessionId& id : silent) {
      said.push_back(
          absl::StrCat("session ", ShownPart(id), " was silent for ", DurationText(limits_.timeout), " and is ended"));
      Forget(id);
      if (holders.contains(id)) gone.push_back(arrays_.EndSession(id));
    }
  }
  gone.clear();
  FreeExpired(nanoseconds::max());
  Say(said);
}

void Sessions::FreeExpired(nanoseconds upload_grace) {
  for (const ArraySnapshot& array : arrays_.Expire(upload_grace)) {
    log_(LogLevel::kInfo, absl::StrCat("array ", array.id.value(),
                                       array.state == ArrayState::kReady ? " is freed: its lease has run out"
                                                                         : " is freed: its upload was not finished"));
  }
}

void Sessions::Say(const std::vector<std::string>& said) const {
  for (const std::string& text : said) log_(LogLevel::kInfo, text);
}

void Sessions::WhetherEnded(const Session& session, absl::FunctionRef<void(bool ended)> place) const {
  MutexLock lock(mutex_);
  place(session.ended);
}

}  // namespace hotplate::core
