// Identifies callers: the token that every RPC carries (health and reflection too), and the session it belongs to. Each
// handler asks, through ServiceContext, before it does anything. Not a metadata processor of gRPC's credentials: for
// that, gRPC 1.51 converts all metadata, and a header grpclb_client_stats aborts the process there (CVE-2023-1428).
// Immutable, thread-safe.
#pragma once

#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/types.h"

namespace hotplate::server {

struct Token {
  std::string name;    // for the log and as part of the principal; never secret
  std::string secret;  // hexadecimal
  core::Scope scope = core::Scope::kAdmin;
};

using CallMetadata = std::multimap<grpc::string_ref, grpc::string_ref>;

// The name of the token in the endpoint record.
inline constexpr char kOwnerToken[] = "owner";

// PERMISSION_DENIED, naming the token, if its scope does not include the one that a call needs.
absl::Status CheckScope(const std::string& token, core::Scope has, core::Scope needed);

class Authenticator {
 public:
  explicit Authenticator(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // UNAUTHENTICATED without exactly one good token; compares in constant time.
  absl::StatusOr<const Token*> FindToken(const CallMetadata& metadata) const;

  // UNAUTHENTICATED as above; PERMISSION_DENIED below the scope; INVALID_ARGUMENT for a session that is not 32
  // hexadecimal digits. A call without a session (grpcurl) is of the session "shared".
  absl::StatusOr<core::Principal> Identify(const CallMetadata& metadata, core::Scope needed) const;

 private:
  std::vector<Token> tokens_;
};

}  // namespace hotplate::server
