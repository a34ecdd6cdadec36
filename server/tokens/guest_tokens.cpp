#include "server/tokens/guest_tokens.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "proto/codec/json_file.h"
#include "server/endpoint.h"
#include "server/tokens/record_file.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kSecretBytes = 32;
constexpr std::chrono::hours kKeptAfterEnd{30 * 24};

core::WallTime Now() { return std::chrono::system_clock::now(); }

core::WallTime TimeOf(const google::protobuf::Timestamp& time) {
  return core::WallTime(std::chrono::duration_cast<core::WallTime::duration>(std::chrono::seconds(time.seconds()) +
                                                                             std::chrono::nanoseconds(time.nanos())));
}

bool HasExpired(const v1::Token& token) { return token.has_expire_time() && TimeOf(token.expire_time()) <= Now(); }

absl::Status CheckName(const std::string& name) {
  const bool is_plain = !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
                        std::all_of(name.begin(), name.end(), [](unsigned char c) {
                          return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
                        });
  if (!is_plain) {
    return InvalidField("token.name", absl::StrCat("name must be letters, digits, '.', '_' and '-', ", kLongestName,
                                                   " at most, and not begin with a dot; it is ", Quoted(name)));
  }
  if (name == kOwnerToken) return InvalidField("token.name", "name \"owner\" is the owner's own token");
  return absl::OkStatus();
}

absl::StatusOr<core::Scope> ScopeOf(const v1::Token& token) {
  if (token.scope() == v1::TOKEN_SCOPE_OBSERVE) return core::Scope::kObserve;
  if (token.scope() == v1::TOKEN_SCOPE_SUBMIT) return core::Scope::kSubmit;
  return InvalidField("token.scope",
                      absl::StrCat("scope must be TOKEN_SCOPE_OBSERVE or TOKEN_SCOPE_SUBMIT; it is ",
                                   v1::TokenScope_Name(token.scope()), " (", static_cast<int>(token.scope()), ")"));
}

// A folder, with links resolved.
absl::StatusOr<std::string> CanonicalRoot(const std::string& root) {
  if (root.empty()) return root;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(root, error);
  if (root.front() == '/' && !error && std::filesystem::is_directory(path, error)) return path.string();
  return InvalidField("token.limits.path_root",
                      "path_root must be the absolute path of a folder on the daemon's node; it is " + Quoted(root));
}

core::Allowance AllowanceOf(const v1::Token& token) {
  const v1::TokenLimits& limits = token.limits();
  core::Allowance allowance;
  allowance.jobs = limits.jobs();
  allowance.array_bytes = limits.array_bytes();
  allowance.devices.assign(limits.devices().begin(), limits.devices().end());
  allowance.path_root = limits.path_root();
  if (token.has_expire_time()) allowance.expires = TimeOf(token.expire_time());
  allowance.revoked = token.has_end_time() && !HasExpired(token);
  return allowance;
}

}  // namespace

GuestTokens::GuestTokens(Options options) : options_(std::move(options)) {
  v1::GuestTokens kept;
  const absl::Status read = codec::ReadJsonFile(file(), kept);
  if (!read.ok() && std::filesystem::exists(file()))
    options_.warn(absl::StrCat("the tokens of guests are lost: ", ToAbsl(std::string(read.message()))));
  MutexLock lock(mutex_);
  for (v1::Token& token : *kept.mutable_tokens()) {
    // Its jobs may be in the journal: they have its bounds, and no others.
    options_.allowances->Set(token.name(), AllowanceOf(token));
    if (!token.has_end_time() && HasExpired(token)) {
      *token.mutable_end_time() = token.expire_time();
      options_.note(absl::StrCat("token ", Quoted(token.name()), " has expired"));
    }
    if (token.has_end_time()) {
      ended_.push_back(token);
      continue;
    }
    absl::StatusOr<Guest> guest = Make(token);
    if (!guest.ok()) {
      options_.warn(
          absl::StrCat("token ", Quoted(token.name()), " is not good for this daemon: ", guest.status().message()));
      continue;
    }
    Admit(*guest);
    guests_.push_back(*std::move(guest));
  }
}

absl::StatusOr<GuestTokens::Guest> GuestTokens::Make(const v1::Token& token) const {
  if (!options_.authority) {
    return absl::FailedPreconditionError(
        "this daemon speaks without TLS (--insecure), on a socket that is its owner's alone: it has no guests");
  }
  absl::StatusOr<std::string> secret = RandomHex(kSecretBytes);
  if (!secret.ok()) return secret.status();
  absl::StatusOr<Identity> identity = options_.authority->MakeClient(token.name());
  if (!identity.ok()) return identity.status();
  return Guest{token, *std::move(secret), *std::move(identity)};
}

void GuestTokens::Admit(const Guest& guest) {
  Token token;
  token.name = guest.token.name();
  token.secret = guest.secret;
  token.scope = ScopeOf(guest.token).value_or(core::Scope::kObserve);
  token.certificate_name = ClientCertificateName(guest.token.name());
  if (guest.token.has_expire_time()) token.expires = TimeOf(guest.token.expire_time());
  options_.allowances->Set(token.name, AllowanceOf(guest.token));
  options_.authenticator->Add(std::move(token));
}

v1::EndpointRecord GuestTokens::RecordOf(const Guest& guest) const {
  v1::EndpointRecord record = *own_;
  record.set_guest(guest.token.name());
  record.set_token(guest.secret);
  record.set_client_certificate_pem(guest.identity.certificate_pem);
  record.set_client_key_pem(guest.identity.key_pem);
  record.clear_log_file();  // the owner's alone
  return record;
}

absl::Status GuestTokens::Keep() const {
  v1::GuestTokens kept;
  for (const Guest& guest : guests_) *kept.add_tokens() = guest.token;
  for (const v1::Token& token : ended_) {
    if (Now() - TimeOf(token.end_time()) < kKeptAfterEnd) *kept.add_tokens() = token;
  }
  if (absl::Status status = PrivateFolder(options_.directory + "/tokens"); !status.ok()) return status;
  return WriteWhole(file(), codec::ToJson(kept));
}

void GuestTokens::Publish(const v1::EndpointRecord& own) {
  MutexLock lock(mutex_);
  own_ = own;
  for (const Guest& guest : guests_) {
    if (HasExpired(guest.token)) continue;
    if (absl::Status status = WriteGuestFile(guest.token.record_file(), RecordOf(guest)); !status.ok()) {
      options_.warn(
          absl::StrCat("guest ", Quoted(guest.token.name()), " cannot reach this daemon: ", status.message()));
    }
  }
}

absl::StatusOr<v1::Token> GuestTokens::Create(const v1::Token& wanted) {
  if (absl::Status status = CheckName(wanted.name()); !status.ok()) return status;
  if (const auto scope = ScopeOf(wanted); !scope.ok()) return scope.status();
  if (HasExpired(wanted)) {
    return InvalidField("token.expire_time",
                        absl::StrCat("expire_time ", UtcText(TimeOf(wanted.expire_time())), " is over"));
  }
  absl::StatusOr<std::string> root = CanonicalRoot(wanted.limits().path_root());
  if (!root.ok()) return root.status();
  v1::Token token;
  token.set_name(wanted.name());
  token.set_scope(wanted.scope());
  *token.mutable_limits() = wanted.limits();
  token.mutable_limits()->set_path_root(*std::move(root));
  token.set_record_file(wanted.record_file());
  wire::ToProto(Now(), *token.mutable_create_time());
  if (wanted.has_expire_time()) *token.mutable_expire_time() = wanted.expire_time();
  absl::StatusOr<Guest> guest = Make(token);
  if (!guest.ok()) return guest.status();

  MutexLock lock(mutex_);
  if (!own_) return absl::UnavailableError("the daemon is starting; try again");
  const auto same =
      std::find_if(guests_.begin(), guests_.end(), [&](const Guest& one) { return one.token.name() == token.name(); });
  if (same != guests_.end() && !HasExpired(same->token)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a token ", Quoted(token.name()), ", whose record is ",
                                                 same->token.record_file(),
                                                 ": revoke it first, or choose another name"));
  }
  if (guests_.size() >= kMost)
    return absl::ResourceExhaustedError(absl::StrCat("there are ", kMost, " tokens, the most that a daemon has"));
  const auto shares = [&](const Guest& one) {
    return one.token.record_file() == token.record_file() && !HasExpired(one.token);
  };
  if (const auto other = std::find_if(guests_.begin(), guests_.end(), shares); other != guests_.end()) {
    return InvalidField("token.record_file", absl::StrCat("record_file ", token.record_file(), " is that of token ",
                                                          Quoted(other->token.name())));
  }
  if (same != guests_.end()) guests_.erase(same);
  if (absl::Status status = WriteGuestFile(token.record_file(), RecordOf(*guest)); !status.ok()) return status;
  guests_.push_back(*std::move(guest));
  if (absl::Status kept = Keep(); !kept.ok()) {
    guests_.pop_back();
    RemoveGuestFile(token.record_file(), token.name(), options_.daemon);
    return kept;
  }
  std::erase_if(ended_, [&](const v1::Token& one) { return one.name() == token.name(); });
  Admit(guests_.back());
  return token;
}

std::vector<v1::Token> GuestTokens::List() const {
  std::vector<v1::Token> all;
  MutexLock lock(mutex_);
  all = ended_;
  for (const Guest& guest : guests_) {
    v1::Token& token = all.emplace_back(guest.token);
    if (HasExpired(token)) *token.mutable_end_time() = token.expire_time();
  }
  for (v1::Token& token : all) {
    if (const auto last = options_.authenticator->LastCall(token.name()))
      wire::ToProto(*last, *token.mutable_last_call_time());
  }
  std::sort(all.begin(), all.end(), [](const v1::Token& a, const v1::Token& b) { return a.name() < b.name(); });
  return all;
}

absl::StatusOr<v1::Token> GuestTokens::Revoke(const std::string& name) {
  MutexLock lock(mutex_);
  const auto at =
      std::find_if(guests_.begin(), guests_.end(), [&](const Guest& one) { return one.token.name() == name; });
  if (at == guests_.end()) {
    std::vector<std::string> names;
    for (const Guest& guest : guests_) names.push_back(guest.token.name());
    const std::vector<std::string> nearest = NearestNames(name, names);
    std::string text = absl::StrCat("there is no token ", Quoted(name));
    if (!nearest.empty()) absl::StrAppend(&text, "; did you mean ", Alternatives(nearest), "?");
    return absl::NotFoundError(text);
  }
  v1::Token token = at->token;
  options_.authenticator->End(name, "was revoked");
  wire::ToProto(Now(), *token.mutable_end_time());
  options_.allowances->Set(name, AllowanceOf(token));
  guests_.erase(at);
  ended_.push_back(token);
  RemoveGuestFile(token.record_file(), name, options_.daemon);
  if (absl::Status kept = Keep(); !kept.ok()) {
    return absl::Status(kept.code(), absl::StrCat("token ", Quoted(name),
                                                  " is revoked for this daemon, and the next one "
                                                  "of its name would have it again: ",
                                                  kept.message()));
  }
  return token;
}

}  // namespace hotplate::server
