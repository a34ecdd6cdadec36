// The tokens of guests: made, listed, revoked, and kept for the next daemon of the name. Secrets and certificates are
// new at each start; a guest's record file is written anew then, so that who follows it notices nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotplate/v1/endpoint.pb.h"
#include "hotplate/v1/tokens.pb.h"
#include "kernels/base/mutex.h"
#include "server/core/allowances.h"
#include "server/net/tls.h"
#include "server/service/auth.h"

namespace hotplate::server {

// Thread-safe. All calls may wait for the file system.
class GuestTokens {
 public:
  static constexpr std::size_t kMost = 1000;  // living ones

  struct Options {
    std::string directory;                     // HOTPLATE_DIR
    std::string daemon;                        // its name
    std::optional<ClientAuthority> authority;  // none: without TLS there are no guests
    std::shared_ptr<Authenticator> authenticator;
    std::shared_ptr<core::Allowances> allowances;
    std::function<void(const std::string&line)> note, warn;  // for the log
  };
  // Reads the tokens that the daemon before this one had. Those that cannot be had again are named in the log.
  explicit GuestTokens(Options options);

  // From now on records can be written: those of all living tokens are. Again whenever the daemon's own record changes.
  void Publish(const v1::EndpointRecord& own);

  // ALREADY_EXISTS, INVALID_ARGUMENT, FAILED_PRECONDITION and RESOURCE_EXHAUSTED name the field or the limit; then
  // nothing has changed. The devices are the caller's to check.
  absl::StatusOr<v1::Token> Create(const v1::Token& wanted);
  // By name, with those that ended, for 30 days.
  std::vector<v1::Token> List() const;
  // NOT_FOUND names the nearest living ones.
  absl::StatusOr<v1::Token> Revoke(const std::string& name);

 private:
  struct Guest {
    v1::Token token;
    std::string secret;
    Identity identity;
  };

  absl::StatusOr<Guest> Make(const v1::Token& token) const;
  void Admit(const Guest& guest);
  v1::EndpointRecord RecordOf(const Guest& guest) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Keep() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // in the file
  std::string file() const { return options_.directory + "/tokens/" + options_.daemon + ".json"; }

  const Options options_;
  mutable Mutex mutex_;
  std::vector<Guest> guests_ ABSL_GUARDED_BY(mutex_);  // living, or expired since
  std::vector<v1::Token> ended_ ABSL_GUARDED_BY(mutex_);
  std::optional<v1::EndpointRecord> own_ ABSL_GUARDED_BY(mutex_);  // none: not published yet
};

}  // namespace hotplate::server
