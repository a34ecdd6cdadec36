// Credentials of a daemon and its clients: fresh keys, certificates, and random secrets. The daemon's certificate is
// self-signed; clients' are signed by an authority that lives in the daemon's memory alone.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotplate::server {

// The name in every daemon's certificate; clients override the target's name with it and pin the certificate.
inline constexpr char kCertificateName[] = "hotplate";

struct Identity {
  std::string certificate_pem;
  std::string key_pem;
};

// A daemon's. As all here: a new EC P-256 key with its certificate, valid from a day ago (clocks of nodes differ) for
// ten years, since it dies with its daemon, not by the calendar; and good for its own role alone.
absl::StatusOr<Identity> MakeDaemonIdentity();

// The name in the certificate of a client: "hotplate client anna".
std::string ClientCertificateName(const std::string& client);

// Signs certificates of clients. Copies are the same authority; thread-safe.
class ClientAuthority {
 public:
  static absl::StatusOr<ClientAuthority> Make();
  // A server that trusts it takes all clients whose certificates it signed.
  const std::string& certificate_pem() const { return own_.certificate_pem; }
  absl::StatusOr<Identity> MakeClient(const std::string& client) const;

 private:
  explicit ClientAuthority(Identity own) : own_(std::move(own)) {}
  Identity own_;
};

// Whether a server takes that client and says its first word of HTTP/2 to it. `connection`: the client's end of one
// that the server was given; blocking. Waits for either step for so long. The process ignores SIGPIPE, since a
// server may hang up.
absl::Status TryHandshake(int connection, const Identity& client, std::chrono::milliseconds patience);

// `bytes` from the system's generator for secrets, as hexadecimal digits.
absl::StatusOr<std::string> RandomHex(std::size_t bytes);

}  // namespace hotplate::server
