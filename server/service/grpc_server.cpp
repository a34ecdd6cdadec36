#include "server/service/grpc_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "kernels/base/descriptor.h"
#include "kernels/base/status.h"
#include "server/net/acceptor.h"
#include "server/net/drop_connection.h"
#include "server/net/listening_socket.h"
#include "server/service/arrays_service.h"
#include "server/service/call_watch.h"
#include "server/service/catalogue_service.h"
#include "server/service/health_service.h"
#include "server/service/jobs_service.h"
#include "server/service/programs_service.h"
#include "server/service/reflection_service.h"
#include "server/service/server_service.h"
#include "server/service/telemetry_service.h"
#include "server/service/tokens_service.h"

namespace hotplate::server {
namespace {

constexpr int kLargestFrame = (1 << 24) - 1;  // HTTP/2's own limit
constexpr int kLookahead = 16 << 20;          // bytes that a peer may be ahead on one stream
constexpr int kStreamsPerConnection = 2048;   // calls of all kinds
constexpr int kCallsOfAll = 16'384;           // of all connections, in some 400 MiB
constexpr std::chrono::milliseconds kLongestKeepaliveTimeout(20'000);
constexpr int kShortestClientPingMs = 10'000;

std::shared_ptr<grpc::ServerCredentials> CredentialsFor(const ListenOptions& options) {
  if (!options.identity) return grpc::InsecureServerCredentials();
  // Strangers end here: nothing from them reaches HTTP/2, which offers much to attack before a token is checked.
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = options.client_roots;
  tls.pem_key_cert_pairs.push_back({options.identity->key_pem, options.identity->certificate_pem});
  return grpc::SslServerCredentials(tls);
}

absl::StatusOr<ListeningSocket> ListenOn(const ListenOptions& options, std::chrono::milliseconds unacknowledged) {
  if (!options.unix_socket.empty()) return ListeningSocket::OnUnix(options.unix_socket);
  return ListeningSocket::OnTcp(options.address, options.port, unacknowledged);
}

class Implementation final : public GrpcServer {
 public:
  explicit Implementation(const ServiceContext& context)
      : engine_(context.engine()),
        catalogue_(context),
        arrays_(context),
        jobs_(context),
        programs_(context),
        telemetry_(context),
        server_service_(context),
        tokens_(context),
        health_(context),
        reflection_(context, {v1::Catalogue::service_full_name(), v1::Arrays::service_full_name(),
                              v1::Jobs::service_full_name(), v1::Programs::service_full_name(),
                              v1::Telemetry::service_full_name(), v1::Server::service_full_name(),
                              v1::Tokens::service_full_name(), grpc::health::v1::Health::service_full_name(),
                              grpc::reflection::v1alpha::ServerReflection::service_full_name()}) {}

  ~Implementation() override { Shutdown(std::chrono::system_clock::now()); }

  absl::Status Listen(const ListenOptions& options) {
    if (!options.identity && options.unix_socket.empty()) {
      return absl::InvalidArgumentError("without TLS a server listens on a unix socket alone");
    }
    const auto keepalive = std::chrono::ceil<std::chrono::milliseconds>(options.keepalive);
    const auto keepalive_timeout = std::min(keepalive, kLongestKeepaliveTimeout);
    absl::StatusOr<ListeningSocket> socket = ListenOn(options, keepalive_timeout);
    if (!socket.ok()) return socket.status();
    port_ = socket->port();

    grpc::ServerBuilder builder;
    connections_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, CredentialsFor(options));
    for (grpc::Service* service : {static_cast<grpc::Service*>(&catalogue_), static_cast<grpc::Service*>(&arrays_),
                                   static_cast<grpc::Service*>(&jobs_), static_cast<grpc::Service*>(&programs_),
                                   static_cast<grpc::Service*>(&telemetry_),
                                   static_cast<grpc::Service*>(&server_service_), static_cast<grpc::Service*>(&tokens_),
                                   static_cast<grpc::Service*>(&health_), static_cast<grpc::Service*>(&reflection_)}) {
      builder.RegisterService(service);
    }
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.message_bytes + kRoomToRefuse));
    builder.SetMaxSendMessageSize(-1);
    if (options.transport_bytes > 0) {
      builder.SetResourceQuota(grpc::ResourceQuota("hotplated").Resize(options.transport_bytes));
    }
    CallWatch::Options watch;
    watch.most_of_one = 2 * kStreamsPerConnection;
    watch.most = kCallsOfAll;
    watch.drop = [port = port_](const std::string& peer) { return DropConnection(peer, port); };
    watch.warn = options.warn;
    CallWatch::Install(builder, std::move(watch));
    // gRPC bounds a message before it is unpacked, not after.
    for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
      builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
    }
    builder.AddChannelArgument(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kLargestFrame);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookahead);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(options.handshake.count()));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(keepalive.count()));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(keepalive_timeout.count()));
    // As many as it takes: a stream may have nothing to say for hours. By its documentation gRPC wants data after two.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kShortestClientPingMs);
    server_ = builder.BuildAndStart();
    if (!server_) return absl::InternalError("gRPC's server could not be built");
    if (absl::Status status = TryClient(options); !status.ok()) return status;
    Acceptor::Options accepting;
    accepting.take = [this](int descriptor) { Take(descriptor); };
    accepting.warn = options.warn;
    auto acceptor = Acceptor::Start(*std::move(socket), std::move(accepting));
    if (!acceptor.ok()) return acceptor.status();
    acceptor_ = *std::move(acceptor);
    return absl::OkStatus();
  }

  std::uint16_t port() const override { return port_; }

  void SetServing(bool serving) override {
    serving_ = serving;
    RefreshHealth();
  }

  void RefreshHealth() override {
    bool any = false;
    for (const core::EngineStatus::DeviceStatus& device : engine_.Status().devices) {
      any = any || device.lost.empty();
      health_.Tell(kHealthOfDevice + device.id, device.lost.empty());
    }
    health_.Tell("", serving_ && any);
  }

  void Shutdown(std::chrono::system_clock::time_point deadline) override {
    if (!server_) return;
    acceptor_.reset();  // first: gRPC does not close connections that it gets after its end
    server_->Shutdown(deadline);
    server_.reset();
  }

 private:
  // The descriptor, which does not block, is its own from then on.
  void Take(int descriptor) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    connections_->HandleNewConnection(&connection);
  }

  // gRPC (1.51) starts also without the TLS context that it could not make (Server::Start drops what AddPortToServer
  // says of an external acceptor), keeps every connection, and never says a word on it. And what OpenSSL sets up with
  // the first handshake of a process stays broken if memory is short then. So the first one is the server's own.
  absl::Status TryClient(const ListenOptions& options) {
    if (!options.identity) return absl::OkStatus();
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return absl::ResourceExhaustedError(ToAbsl(std::string("cannot connect to itself: ") + std::strerror(errno)));
    }
    const Descriptor mine(ends[0]);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    Take(ends[1]);
    const absl::Status tried = TryHandshake(mine.get(), options.client, options.handshake);
    if (tried.ok()) return tried;
    return absl::InternalError(
        ToAbsl("no client could connect: the server does not answer its own over TLS: " + std::string(tried.message()) +
               "; memory may be short on this node: start it again"));
  }

  core::Engine& engine_;
  CatalogueService catalogue_;
  ArraysService arrays_;
  JobsService jobs_;
  ProgramsService programs_;
  TelemetryService telemetry_;
  ServerService server_service_;
  TokensService tokens_;
  HealthService health_;
  ReflectionService reflection_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;  // the way into server_
  std::unique_ptr<Acceptor> acceptor_;
  std::uint16_t port_ = 0;
  bool serving_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const ServiceContext& context,
                                                              const ListenOptions& options) {
  auto server = std::make_unique<Implementation>(context);
  if (absl::Status status = server->Listen(options); !status.ok()) return status;
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace hotplate::server
