// The gRPC server: all services, health and reflection behind one token, over TLS with a certificate at each end or
// (insecure) on a unix socket, which the owner alone can open.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "server/net/tls.h"
#include "server/service/context.h"

namespace hotplate::server {

struct ListenOptions {
  std::string address = "127.0.0.1";  // numeric
  std::uint16_t port = 0;             // 0: any that is free
  std::string unix_socket;            // instead of the two
  // None: plaintext, which takes a unix socket: on TCP every user of this machine could connect.
  std::optional<Identity> identity;
  // With `identity`: the certificate that signs clients', without which the TLS handshake fails; and one such client.
  std::string client_roots;
  Identity client;
  // The longest for TLS and the first bytes of HTTP/2. Until then a peer is a stranger.
  std::chrono::milliseconds handshake = std::chrono::seconds(10);
  // gRPC itself accepts kRoomToRefuse more, so that handlers can refuse larger messages by name.
  std::uint64_t message_bytes = std::uint64_t{8} << 20;
  // Memory for what gRPC holds of all connections, mostly messages that come in. Beyond it gRPC closes idle connections
  // and then ends calls, whosever they are. 0: no bound.
  std::uint64_t transport_bytes = 0;
  // A connection silent for this long gets a probe, and is ended without an answer: its peer has vanished.
  std::chrono::nanoseconds keepalive = std::chrono::seconds(30);
  // Called now and then with a sentence on why new connections wait. May be empty.
  std::function<void(const std::string&)> warn;
};

inline constexpr char kHealthOfDevice[] = "hotplate.device.";  // "hotplate.device.gpu0"

inline constexpr std::uint64_t kRoomToRefuse = std::uint64_t{64} << 20;

class GrpcServer {
 public:
  // Listens and serves when it returns. `context` must outlive the server. UNAVAILABLE: it cannot listen there.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const ServiceContext& context, const ListenOptions& options);
  virtual ~GrpcServer() = default;

  virtual std::uint16_t port() const = 0;  // 0 for a unix socket
  // Sets the answer of health checks: NOT_SERVING if `serving` is false or no device is left that runs jobs. Each
  // device, as the service kHealthOfDevice + its id, is NOT_SERVING while it is lost.
  virtual void SetServing(bool serving) = 0;
  // Checks again for lost devices, and for those that are back.
  virtual void RefreshHealth() = 0;
  // Lets calls end by themselves until the deadline, then cancels them; returns when none is left.
  virtual void Shutdown(std::chrono::system_clock::time_point deadline) = 0;
};

}  // namespace hotplate::server
