#include "server/service/auth.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <string_view>

#include "kernels/base/status.h"

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

absl::StatusOr<const Token*> Authenticator::FindToken(const CallMetadata& metadata) const {
  const auto [first, last] = metadata.equal_range("authorization");
  if (first == last) return absl::UnauthenticatedError(kNoToken);
  const std::string_view text = View(first->second);
  if (std::next(first) != last || !text.starts_with(kScheme)) return absl::UnauthenticatedError(kNoToken);
  const std::string_view given = text.substr(kScheme.size());
  const Token* found = nullptr;
  for (const Token& token : tokens_) {  // compares all of them, so that the time does not reveal the match
    if (!token.secret.empty() && given.size() == token.secret.size() &&
        CRYPTO_memcmp(given.data(), token.secret.data(), given.size()) == 0) {
      found = &token;
    }
  }
  if (found == nullptr) return absl::UnauthenticatedError(kWrongToken);
  return found;
}

absl::StatusOr<core::Principal> Authenticator::Identify(const CallMetadata& metadata, core::Scope needed) const {
  const absl::StatusOr<const Token*> token = FindToken(metadata);
  if (!token.ok()) return token.status();
  if (absl::Status status = CheckScope((*token)->name, (*token)->scope, needed); !status.ok()) return status;
  core::Principal who{(*token)->name, core::SessionId("shared"), (*token)->scope};
  const auto session = metadata.find("hotplate-session");
  if (session != metadata.end()) {
    const std::string_view text = View(session->second);
    if (text.size() != kSessionDigits || !IsHex(text)) {
      return InvalidField(
          "hotplate-session",
          "the metadata hotplate-session must be 32 hexadecimal digits, made at random by the client; it has " +
              std::to_string(text.size()) + " characters");
    }
    who.session = core::SessionId(std::string(text));
  }
  return who;
}

}  // namespace hotplate::server
