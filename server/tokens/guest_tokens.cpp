#include "server/tokens/guest_tokens.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/array/replaceable.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/quantity.h"
#include "kernels/base/status.h"
#include "kernels/base/stoppable_sleep.h"
#include "proto/codec/json_file.h"
#include "server/endpoint.h"
#include "server/tokens/record_file.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

constexpr std::size_t kLongestName = 48;  // with "hotplate client ", as many as a certificate's name may have
constexpr std::size_t kSecretBytes = 32;
constexpr std::chrono::hours kKeptAfterEnd{30 * 24};

// A file that may be longer than others of HOTPLATE_DIR. One that is not there has no tokens.
absl::StatusOr<v1::GuestTokens> ReadTokens(const std::string& file) {
  v1::GuestTokens tokens;
  std::error_code error;
  if (!std::filesystem::exists(file, error) && !error) return tokens;
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream || !codec::FromJson(text, tokens))
    return absl::FailedPreconditionError(absl::StrCat(file, " cannot be read, or is damaged; remove it to begin anew"));
  return tokens;
}

core::WallTime Now() { return std::chrono::system_clock::now(); }

bool HasExpired(const v1::Token& token) {
  return token.has_expire_time() && wire::FromProto(token.expire_time()) <= Now();
}

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
  if (token.scope() == v1::TOKEN_SCOPE_CODE) return core::Scope::kCode;
  if (token.scope() == v1::TOKEN_SCOPE_ADMIN) return core::Scope::kAdmin;
  return InvalidField("token.scope",
                      absl::StrCat("scope must be TOKEN_SCOPE_OBSERVE, _SUBMIT, _CODE or _ADMIN; it is ",
                                   v1::TokenScope_Name(token.scope()), " (", static_cast<int>(token.scope()), ")"));
}

// Code runs with the owner's user id, so that nothing that a token says can bound it.
absl::Status CheckFullAccount(core::Scope scope, bool full_account) {
  const bool is_shell = scope >= core::Scope::kCode;
  if (is_shell == full_account) return absl::OkStatus();
  return InvalidField("full_account",
                      is_shell ? "a token of scope code or admin is a shell on your account: its programs read and "
                                 "write all that you can. If you mean that, say so: --full-account (full_account)"
                               : "full_account (--full-account) is for the scopes code and admin alone");
}

// A file's path, with the links in its folder resolved: two tokens are never of one file.
absl::StatusOr<std::string> CanonicalFile(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path(file), folder = std::filesystem::canonical(path.parent_path(), error);
  if (path.is_absolute() && path.has_filename() && !error) return (folder / path.filename()).string();
  return InvalidField(
      "token.record_file",
      absl::StrCat("record_file must be the absolute path of a file in a folder of the daemon's node; it is ",
                   Quoted(file)));
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

core::Allowance AllowanceOf(const v1::Token& token, std::uint64_t serial) {
  const v1::TokenLimits& limits = token.limits();
  core::Allowance allowance;
  allowance.jobs = limits.jobs();
  allowance.array_bytes = limits.array_bytes();
  allowance.devices.assign(limits.devices().begin(), limits.devices().end());
  allowance.path_root = limits.path_root();
  if (token.has_expire_time()) allowance.expires = wire::FromProto(token.expire_time());
  allowance.revoked = token.has_end_time();
  allowance.serial = serial;
  return allowance;
}

}  // namespace

GuestTokens::GuestTokens(Options options) : options_(std::move(options)) {
  MutexLock lock(mutex_);
  const absl::StatusOr<v1::GuestTokens> kept = ReadTokens(file());
  if (!kept.ok()) {
    unread_ = std::string(kept.status().message());
    options_.warn(absl::StrCat("no guest is known: ", unread_));
    return;
  }
  for (v1::Token token : kept->tokens()) {
    if (!token.has_end_time() && HasExpired(token)) {
      *token.mutable_end_time() = token.expire_time();
      options_.note(absl::StrCat("token ", Quoted(token.name()), " has expired"));
    }
    if (token.has_end_time()) {  // its jobs in the journal are not run
      options_.allowances->Set(token.name(), AllowanceOf(token, ++last_serial_));
      ended_.push_back(std::move(token));
      continue;
    }
    absl::StatusOr<Guest> guest = Make(token);
    if (!guest.ok()) {
      unread_ = std::string(guest.status().message());
      options_.warn(absl::StrCat("token ", Quoted(token.name()), " is not good for this daemon: ", unread_));
      continue;
    }
    guests_.push_back(*std::move(guest));
    Admit(guests_.back());
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
  if (guest.token.has_expire_time()) token.expires = wire::FromProto(guest.token.expire_time());
  token.serial = ++last_serial_;
  options_.allowances->Set(token.name, AllowanceOf(guest.token, token.serial));
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
    if (Now() - wire::FromProto(token.end_time()) < kKeptAfterEnd) *kept.add_tokens() = token;
  }
  if (absl::Status status = PrivateFolder(options_.directory + "/tokens"); !status.ok()) return status;
  return WriteWhole(file(), codec::ToJson(kept));
}

void GuestTokens::Publish(const v1::EndpointRecord& own) {
  MutexLock lock(mutex_);
  if (!own_) looking_ = std::jthread([this](const std::stop_token& stop) { LookForExpired(stop); });
  own_ = own;
  for (const Guest& guest : guests_) {
    if (absl::Status status = WriteGuestFile(guest.token.record_file(), RecordOf(guest)); !status.ok()) {
      options_.warn(
          absl::StrCat("guest ", Quoted(guest.token.name()), " cannot reach this daemon: ", status.message()));
    }
  }
}

absl::StatusOr<v1::Token> GuestTokens::Create(const v1::Token& wanted, bool full_account) {
  if (absl::Status status = CheckName(wanted.name()); !status.ok()) return status;
  const absl::StatusOr<core::Scope> scope = ScopeOf(wanted);
  if (!scope.ok()) return scope.status();
  if (absl::Status status = CheckFullAccount(*scope, full_account); !status.ok()) return status;
  if (HasExpired(wanted)) {
    return InvalidField("token.expire_time",
                        absl::StrCat("expire_time ", UtcText(wire::FromProto(wanted.expire_time())), " is over"));
  }
  absl::StatusOr<std::string> root = CanonicalRoot(wanted.limits().path_root());
  if (!root.ok()) return root.status();
  v1::Token token;
  token.set_name(wanted.name());
  token.set_scope(wanted.scope());
  *token.mutable_limits() = wanted.limits();
  token.mutable_limits()->set_path_root(*std::move(root));
  absl::StatusOr<std::string> record_file = CanonicalFile(wanted.record_file());
  if (!record_file.ok()) return record_file.status();
  token.set_record_file(*std::move(record_file));
  // As the guest will, who may come by the links.
  const std::string why = WhyReplaceable(
      {.path = wanted.record_file(), .owner = geteuid(), .what = "the record of guest " + Quoted(token.name())});
  if (!why.empty()) return absl::FailedPreconditionError(absl::StrCat(why, "; hotplate join refuses such a record"));
  wire::ToProto(Now(), *token.mutable_create_time());
  if (wanted.has_expire_time()) *token.mutable_expire_time() = wanted.expire_time();
  absl::StatusOr<Guest> guest = Make(token);
  if (!guest.ok()) return guest.status();

  MutexLock lock(mutex_);
  if (!own_) return absl::UnavailableError("the daemon is starting; try again");
  if (!unread_.empty()) return absl::FailedPreconditionError(absl::StrCat("no token is made: ", unread_));
  MoveExpired();
  for (const Guest& other : guests_) {
    if (other.token.name() == token.name()) {
      return absl::AlreadyExistsError(absl::StrCat("there is a token ", Quoted(token.name()), ", whose record is ",
                                                   other.token.record_file(),
                                                   ": revoke it first, or choose another name"));
    }
    if (other.token.record_file() == token.record_file()) {
      return InvalidField("token.record_file", absl::StrCat("record_file ", token.record_file(), " is that of token ",
                                                            Quoted(other.token.name())));
    }
  }
  if (guests_.size() >= kMost)
    return absl::ResourceExhaustedError(absl::StrCat("there are ", kMost, " tokens, the most that a daemon has"));
  if (absl::Status status = WriteGuestFile(token.record_file(), RecordOf(*guest)); !status.ok()) return status;
  guests_.push_back(*std::move(guest));
  const std::vector<v1::Token> ended = ended_;
  std::erase_if(ended_, [&](const v1::Token& one) { return one.name() == token.name(); });
  if (absl::Status kept = Keep(); !kept.ok()) {
    guests_.pop_back();
    ended_ = ended;
    RemoveGuestFile(token.record_file(), token.name(), options_.daemon);
    return kept;
  }
  Admit(guests_.back());
  return token;
}

void GuestTokens::MoveExpired() {
  for (const Guest& guest : guests_) {
    if (!HasExpired(guest.token)) continue;
    expired_.push_back(guest.token.name());
    v1::Token& token = ended_.emplace_back(guest.token);
    *token.mutable_end_time() = token.expire_time();
    RemoveGuestFile(token.record_file(), token.name(), options_.daemon);
  }
  std::erase_if(guests_, [](const Guest& guest) { return HasExpired(guest.token); });
  std::erase_if(ended_,
                [](const v1::Token& token) { return Now() - wire::FromProto(token.end_time()) >= kKeptAfterEnd; });
}

void GuestTokens::LookForExpired(const std::stop_token& stop) {
  while (SleepUnlessStopped(stop, kLook)) {
    std::vector<std::string> names;
    {
      MutexLock lock(mutex_);
      MoveExpired();
      names.swap(expired_);
    }
    for (const std::string& name : names) {
      const std::uint32_t jobs = options_.end(name, "was cancelled: its token has expired");
      options_.note(absl::StrCat("token ", Quoted(name), " has expired; ", jobs, " of its jobs are cancelled"));
      if (options_.expired) options_.expired(name);
    }
    options_.end_streams();
  }
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

absl::StatusOr<GuestTokens::Revoked> GuestTokens::Revoke(const std::string& name) {
  Revoked revoked;
  absl::Status kept;
  {
    MutexLock lock(mutex_);
    const auto at =
        std::find_if(guests_.begin(), guests_.end(), [&](const Guest& one) { return one.token.name() == name; });
    const auto ended =
        std::find_if(ended_.begin(), ended_.end(), [&](const v1::Token& one) { return one.name() == name; });
    if (at == guests_.end() && ended == ended_.end()) return NoSuchToken(name);
    if (at != guests_.end()) {
      revoked.token = at->token;
      options_.authenticator->End(name, "was revoked");
      wire::ToProto(Now(), *revoked.token.mutable_end_time());
      options_.allowances->Set(name, AllowanceOf(revoked.token, ++last_serial_));
      guests_.erase(at);
      ended_.push_back(revoked.token);
      RemoveGuestFile(revoked.token.record_file(), name, options_.daemon);
    } else {
      revoked.token = *ended;
    }
    kept = Keep();
  }
  revoked.cancelled_jobs = options_.end(name, "was cancelled: its token was revoked");
  if (kept.ok()) return revoked;
  return absl::Status(kept.code(), absl::StrCat("token ", Quoted(name),
                                                " is revoked and its jobs are cancelled, but the "
                                                "next daemon of this name would have it again: ",
                                                kept.message(), ". Then revoke it once more"));
}

absl::Status GuestTokens::NoSuchToken(const std::string& name) const {
  std::vector<std::string> names;
  for (const Guest& guest : guests_) names.push_back(guest.token.name());
  const std::vector<std::string> nearest = NearestNames(name, names);
  std::string text = absl::StrCat("there is no token ", Quoted(name));
  if (!nearest.empty()) absl::StrAppend(&text, "; did you mean ", Alternatives(nearest), "?");
  return absl::NotFoundError(text);
}

}  // namespace hotplate::server
