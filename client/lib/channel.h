// The connection: TLS with the record's certificate pinned and its client certificate, numeric addresses, no proxy.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/lib/client.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::client {

// The gRPC target of a record: its sockets that exist on this host, else its IPv4 addresses, else its IPv6 ones.
std::string TargetOf(const v1::EndpointRecord& record);

// Opens nothing yet: the first call connects. UNAUTHENTICATED: the record has no certificate, but an address where
// others could listen; the token would be sent in the clear.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const v1::EndpointRecord& record,
                                                           const ConnectOptions& options);

}  // namespace hotplate::client
