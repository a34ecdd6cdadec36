#include "server/service/auth.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>

#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "server/core/schedule/sessions.h"

namespace hotplate::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr std::size_t kSessionDigits = 32;
constexpr char kNoToken[] =
    "no token: send the metadata \"authorization: Bearer TOKEN\" with the token of the daemon's endpoint record";
constexpr char kWrongToken[] =
    "the token is not this daemon's: send the one of its endpoint record, which is a new one at each start";

std::string_view View(const grpc::string_ref& text) { return {text.data(), text.size()}; }

const char* NameOf(core::Scope scope) {
  switch (scope) {
    case core::Scope::kObserve:
      return "observe";
    case core::Scope::kSubmit:
      return "submit";
    case core::Scope::kCode:
      return "code";
    case core::Scope::kAdmin:
      return "admin";
  }
  return "?";
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

absl::Status CheckScope(const std::string& token, core::Scope has, core::Scope needed) {
  if (has >= needed) return absl::OkStatus();
  return absl::PermissionDeniedError(
      ToAbsl("token \"" + token + "\" has the scope " + NameOf(has) + "; this call needs " + NameOf(needed)));
}

Authenticator::Authenticator(std::vector<Token> tokens) {
  auto all = std::make_shared<All>();
  for (Token& token : tokens) all->push_back(std::make_shared<const Known>(std::move(token)));
  all_ = std::move(all);
}

void Authenticator::Add(Token token) {
  MutexLock lock(mutex_);
  auto all = std::make_shared<All>();
  // An older one of the name is forgotten: who has it is told that it is not the daemon's.
  std::copy_if(all_->begin(), all_->end(), std::back_inserter(*all),
               [&](const std::shared_ptr<const Known>& one) { return one->name != token.name; });
  all->push_back(std::make_shared<const Known>(std::move(token)));
  all_ = std::move(all);
}

void Authenticator::End(const std::string& name, const std::string& ended_how) {
  MutexLock lock(mutex_);
  auto all = std::make_shared<All>(*all_);
  for (std::shared_ptr<const Known>& one : *all) {
    if (one->name != name || !one->ended_how.empty()) continue;
    const auto ended = std::make_shared<Known>(Token(*one));
    ended->ended_how = ended_how;
    ended->last_call = one->last_call.load();
    one = ended;
  }
  all_ = std::move(all);
}

std::optional<core::WallTime> Authenticator::LastCall(const std::string& name) const {
  const std::shared_ptr<const All> tokens = all();
  for (const std::shared_ptr<const Known>& one : *tokens) {
    if (one->name == name && one->last_call.load() != 0)
      return core::WallTime(core::WallTime::duration(one->last_call.load()));
  }
  return std::nullopt;
}

absl::StatusOr<std::shared_ptr<const Authenticator::Known>> Authenticator::Match(const CallMetadata& metadata) const {
  const auto [first, last] = metadata.equal_range("authorization");
  if (first == last) return absl::UnauthenticatedError(kNoToken);
  const std::string_view text = View(first->second);
  if (std::next(first) != last || !text.starts_with(kScheme)) return absl::UnauthenticatedError(kNoToken);
  const std::string_view given = text.substr(kScheme.size());
  const std::shared_ptr<const All> tokens = all();
  std::shared_ptr<const Known> found;
  for (const std::shared_ptr<const Known>& token : *tokens) {  // all, so that the time does not reveal the match
    if (!token->secret.empty() && given.size() == token->secret.size() &&
        CRYPTO_memcmp(given.data(), token->secret.data(), given.size()) == 0) {
      found = token;
    }
  }
  if (found == nullptr) return absl::UnauthenticatedError(kWrongToken);
  return found;
}

std::string Authenticator::NameOf(const CallMetadata& metadata) const {
  const auto known = Match(metadata);
  return known.ok() ? (*known)->name : "";
}

absl::StatusOr<std::shared_ptr<const Token>> Authenticator::FindToken(const CallMetadata& metadata) const {
  const absl::StatusOr<std::shared_ptr<const Known>> known = Match(metadata);
  if (!known.ok()) return known.status();
  const std::shared_ptr<const Known>& found = *known;
  const std::string ask = "; ask the daemon's owner for a new one";
  if (!found->ended_how.empty())
    return absl::UnauthenticatedError(ToAbsl("token \"" + found->name + "\" " + found->ended_how + ask));
  if (found->certificate_name.empty()) return found;  // the owner's
  const core::WallTime now = std::chrono::time_point_cast<core::WallTime::duration>(std::chrono::system_clock::now());
  if (found->expires && *found->expires <= now) {
    return absl::UnauthenticatedError(
        ToAbsl("token \"" + found->name + "\" expired at " + UtcText(*found->expires) + ask));
  }
  found->last_call = now.time_since_epoch().count();
  return found;
}

absl::StatusOr<core::Principal> Authenticator::Identify(const CallMetadata& metadata, core::Scope needed,
                                                        std::shared_ptr<const Token>* found) const {
  absl::StatusOr<std::shared_ptr<const Token>> known = FindToken(metadata);
  if (!known.ok()) return known.status();
  const Token& token = **known;
  if (absl::Status status = CheckScope(token.name, token.scope, needed); !status.ok()) return status;
  std::string session = "shared";
  if (const auto given = metadata.find("hotplate-session"); given != metadata.end()) {
    const std::string_view text = View(given->second);
    if (text.size() != kSessionDigits || !IsHex(text)) {
      return InvalidField(
          "hotplate-session",
          "the metadata hotplate-session must be 32 hexadecimal digits, made at random by the client; it has " +
              std::to_string(text.size()) + " characters");
    }
    session = text;
  }
  core::SessionId id =
      token.name == kOwnerToken ? core::SessionId(std::move(session)) : core::Sessions::IdOfGuest(token.name, session);
  core::Principal who{token.name, std::move(id), token.scope, token.serial};
  if (found != nullptr) *found = *std::move(known);
  return who;
}

}  // namespace hotplate::server
