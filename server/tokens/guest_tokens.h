// The tokens of guests: made, listed, revoked, and kept for the next daemon of the name. Secrets and certificates are
// new at each start; a guest's record file is written anew then, which clients that follow it do not notice.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
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
  // Until then jobs of a token that has expired may go on, and of one that was revoked uploads and downloads that stand
  // still; its calls are refused at once.
  static constexpr std::chrono::seconds kLook{5};

  struct Options {
    std::string directory;                     // HOTPLATE_DIR
    std::string daemon;                        // its name
    std::optional<ClientAuthority> authority;  // none: without TLS there are no guests
    std::shared_ptr<Authenticator> authenticator;
    std::shared_ptr<core::Allowances> allowances;
    // Ends the jobs and sessions of a token, for this reason; returns how many jobs. Called without a lock.
    std::function<std::uint32_t(const std::string& token, const std::string& why)> end;
    // Ends the uploads and downloads of tokens that have ended. Called without a lock, every kLook.
    std::function<void()> end_streams;
    std::function<void(const std::string& line)> note;  // for the log
    std::function<void(const std::string& line)> warn;
    std::function<void(const std::string& token)> expired;  // while this daemon ran; may be empty
  };
  // Reads the tokens that the daemon before this one had. Those that cannot be had again are named in the log.
  explicit GuestTokens(Options options);

  // From now on records can be written: those of all living tokens are. Again whenever the daemon's own record changes.
  void Publish(const v1::EndpointRecord& own);

  // ALREADY_EXISTS, INVALID_ARGUMENT, FAILED_PRECONDITION (also where others could replace the record) and
  // RESOURCE_EXHAUSTED name the field, the folder or the limit; then nothing has changed. The devices are the caller's
  // to check. `full_account`: as in v1::CreateTokenRequest.
  absl::StatusOr<v1::Token> Create(const v1::Token& wanted, bool full_account = false);
  // By name, with those that ended, for 30 days.
  std::vector<v1::Token> List() const;
  // Ends its jobs in any case, and says so if the next daemon would have the token again: then call it once more.
  // NOT_FOUND names the nearest living ones.
  struct Revoked {
    v1::Token token;
    std::uint32_t cancelled_jobs = 0;
  };
  absl::StatusOr<Revoked> Revoke(const std::string& name);

 private:
  struct Guest {
    v1::Token token;
    std::string secret;
    Identity identity;
  };

  absl::StatusOr<Guest> Make(const v1::Token& token) const;
  void Admit(const Guest& guest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the tokens that have expired to those that ended. LookForExpired ends their jobs.
  void MoveExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LookForExpired(const std::stop_token& stop);
  v1::EndpointRecord RecordOf(const Guest& guest) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoSuchToken(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Keep() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);  // in the file
  std::string file() const { return options_.directory + "/tokens/" + options_.daemon + ".json"; }

  const Options options_;
  mutable Mutex mutex_;
  std::string unread_ ABSL_GUARDED_BY(mutex_);  // why the file of tokens cannot be read; empty: it was
  std::uint64_t last_serial_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Guest> guests_ ABSL_GUARDED_BY(mutex_);  // living ones
  std::vector<v1::Token> ended_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> expired_ ABSL_GUARDED_BY(mutex_);       // names of some of them, whose jobs go on
  std::optional<v1::EndpointRecord> own_ ABSL_GUARDED_BY(mutex_);  // none: not published yet
  std::jthread looking_;                                           // the first to go
};

}  // namespace hotplate::server
