// Credentials of a daemon and its clients: fresh keys, self-signed certificates, and random secrets.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hotplate::server {

// The name in every daemon's certificate; clients override the target's name with it and pin the certificate.
inline constexpr char kCertificateName[] = "hotplate";

struct Identity {
  std::string certificate_pem;
  std::string key_pem;
};

// The owner: a certificate cannot be used in the other role.
enum class Role { kDaemon, kClient };

// A new EC P-256 key with its certificate, valid from a day ago (clocks of nodes differ) for ten years: the
// certificate dies with its daemon, not by the calendar.
absl::StatusOr<Identity> MakeIdentity(Role role);

// `bytes` from the system's generator for secrets, as hexadecimal digits.
absl::StatusOr<std::string> RandomHex(std::size_t bytes);

}  // namespace hotplate::server
