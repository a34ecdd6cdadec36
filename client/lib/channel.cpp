#include "client/lib/channel.h"

#include <arpa/inet.h>
#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

namespace hotplate::client {
namespace {

constexpr char kUnix[] = "unix:";

bool IsUnix(const v1::Endpoint& endpoint) { return endpoint.address().rfind(kUnix, 0) == 0; }

bool IsSocketHere(const v1::Endpoint& endpoint) {
  struct stat info;
  return stat(endpoint.address().c_str() + sizeof kUnix - 1, &info) == 0 && S_ISSOCK(info.st_mode);
}

bool IsLoopback(const std::string& address) {
  in_addr four;
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return address == "::1";
}

std::string Escaped(const std::string& address) {
  // An IPv6 zone ("%eth0") stands in a URI.
  std::string text;
  for (const char c : address) text += c == '%' ? std::string("%25") : std::string(1, c);
  return text;
}

int Milliseconds(nanoseconds duration) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, std::numeric_limits<int>::max()));
}

grpc::ChannelArguments Arguments(const ConnectOptions& options) {
  grpc::ChannelArguments arguments;
  // Login nodes set http_proxy; the way to a compute node does not go through it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // This library makes the retries: it knows which calls are safe to repeat.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Two clients of one process share no connection, so that neither inherits the other's back-off.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Answers are bounded by the daemon's own limits on a message; arrays come in chunks.
  arguments.SetMaxReceiveMessageSize(256 << 20);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kSilenceBound) - 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Milliseconds(options.connect_timeout));
  // Bulk: one frame per chunk, and a window that does not make the sender wait for the receiver.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (16 << 20) - 1);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20);
  // Otherwise the window grows with the connection's speed, up to a whole array in memory while it is written to a
  // disk.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return arguments;
}

// gRPC logs errors to standard error, worded for its authors, in the middle of a program's output. Our statuses say the
// same. Set GRPC_VERBOSITY to see both.
void QuietTransport() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
  }
}

}  // namespace

std::string TargetOf(const v1::EndpointRecord& record) {
  std::string four, six;
  for (const v1::Endpoint& endpoint : record.endpoints()) {
    if (IsUnix(endpoint)) {
      if (IsSocketHere(endpoint) || record.endpoints_size() == 1) return endpoint.address();
      continue;
    }
    const std::string port = std::to_string(endpoint.port());
    if (endpoint.address().find(':') != std::string::npos) {
      six += (six.empty() ? "ipv6:[" : ",[") + Escaped(endpoint.address()) + "]:" + port;
    } else {
      four += (four.empty() ? "ipv4:" : ",") + endpoint.address() + ":" + port;
    }
  }
  return four.empty() ? six : four;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const v1::EndpointRecord& record,
                                                           const ConnectOptions& options) {
  QuietTransport();
  grpc::ChannelArguments arguments = Arguments(options);
  const std::string target = TargetOf(record);
  if (record.certificate_pem().empty()) {
    for (const v1::Endpoint& endpoint : record.endpoints()) {
      if (IsUnix(endpoint) || IsLoopback(endpoint.address())) continue;
      return absl::UnauthenticatedError("the record of \"" + record.name() + "\" has no certificate, and its address " +
                                        endpoint.address() +
                                        " is not this host's own: the token would cross the network in the clear. "
                                        "Start the daemon without --insecure");
    }
    return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
  }
  // The daemon's self-signed certificate is the only root. The name in it is the same for all daemons.
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = record.certificate_pem();
  tls.pem_cert_chain = record.client_certificate_pem();
  tls.pem_private_key = record.client_key_pem();
  arguments.SetSslTargetNameOverride("hotplate");
  return grpc::CreateCustomChannel(target, grpc::SslCredentials(tls), arguments);
}

}  // namespace hotplate::client
