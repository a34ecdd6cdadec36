// Identifies callers: the token that every RPC carries (health and reflection too), and the session it belongs to. Each
// handler asks, through ServiceContext, before it does anything. Not a metadata processor of gRPC's credentials: for
// that, gRPC 1.51 converts all metadata, and a header grpclb_client_stats aborts the process there (CVE-2023-1428).
// Thread-safe.
#pragma once

#include <grpcpp/support/string_ref.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/mutex.h"
#include "server/core/types.h"

namespace hotplate::server {

struct Token {
  std::string name;    // for the log and as part of the principal; never secret
  std::string secret;  // hexadecimal
  core::Scope scope = core::Scope::kAdmin;
  // The name in the one client certificate that a guest's goes with. Empty: any that the daemon takes.
  std::string certificate_name = {};
  std::optional<core::WallTime> expires = {};
  std::uint64_t serial = 0;  // core::Allowance::serial; 0: the owner's
};

using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// The name of the token in the endpoint record.
inline constexpr char kOwnerToken[] = "owner";

// PERMISSION_DENIED, naming the token, if its scope does not include the one that a call needs.
absl::Status CheckScope(const std::string& token, core::Scope has, core::Scope needed);

class Authenticator {
 public:
  explicit Authenticator(std::vector<Token> tokens);

  // From now on its callers are known. One of the same name must have ended.
  void Add(Token token);
  // From now on its callers are told that it `ended_how`: "was revoked". Nothing happens if none of the name lives.
  void End(const std::string& name, const std::string& ended_how);
  // The name of the token that comes with a call, whether it is good or has ended; empty: of none that is known.
  std::string NameOf(const CallMetadata& metadata) const;
  // When the token last came with a call; nothing: never.
  std::optional<core::WallTime> LastCall(const std::string& name) const;

  // UNAUTHENTICATED without exactly one good token; compares in constant time.
  absl::StatusOr<std::shared_ptr<const Token>> FindToken(const CallMetadata& metadata) const;

  // UNAUTHENTICATED as above; PERMISSION_DENIED below the scope; INVALID_ARGUMENT for a session that is not 32
  // hexadecimal digits. A call without a session (grpcurl) is of the session "shared". No session is two tokens'
  // (Sessions::IdOfGuest). `token`, if not null: the token that was found.
  absl::StatusOr<core::Principal> Identify(const CallMetadata& metadata, core::Scope needed,
                                           std::shared_ptr<const Token>* token = nullptr) const;

 private:
  struct Known : Token {
    explicit Known(Token of) : Token(std::move(of)) {}
    std::string ended_how;                                  // empty: it lives
    mutable std::atomic<core::WallTime::rep> last_call{0};  // 0: none yet
  };
  using All = std::vector<std::shared_ptr<const Known>>;

  // UNAUTHENTICATED without exactly one token that is known, be it good or ended.
  absl::StatusOr<std::shared_ptr<const Known>> Match(const CallMetadata& metadata) const;

  std::shared_ptr<const All> all() const {
    MutexLock lock(mutex_);
    return all_;
  }

  mutable Mutex mutex_;
  std::shared_ptr<const All> all_ ABSL_GUARDED_BY(mutex_);  // a new one with each change
};

}  // namespace hotplate::server
