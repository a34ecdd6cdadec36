// A channel to the bare server, as a careful user would make it: certificate pinned, no proxy.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "tests/bench/peer_record.h"

namespace hotplate::bench {

inline std::shared_ptr<grpc::Channel> PeerChannel(const PeerRecord& record, bool tls) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(8 << 20);
  if (!tls) {
    return grpc::CreateCustomChannel("unix:" + record.plain_socket, grpc::InsecureChannelCredentials(), arguments);
  }
  const std::string address = "127.0.0.1:" + std::to_string(record.tls_port);
  arguments.SetSslTargetNameOverride(kPeerName);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = record.certificate_pem;
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

}  // namespace hotplate::bench
