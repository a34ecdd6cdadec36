// The connection: TLS pinned to the record's certificate and with its client's, numeric addresses, no proxy.
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

// Opens nothing yet: the first call connects. UNAUTHENTICATED: the record has no certificate, and an address that
// others could listen at, so that the token would cross in the clear.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const v1::EndpointRecord& record,
                                                           const ConnectOptions& options);

}  // namespace hotplate::client
