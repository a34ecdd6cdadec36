// Whose client a call comes from, as TLS has checked it.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

namespace hotplate::server {

// The client's name (ClientAuthority::MakeClient); empty without TLS.
std::string ClientInCertificate(const grpc::CallbackServerContext& call);
// The certificate itself, as PEM; empty without TLS.
std::string CertificateOf(const grpc::CallbackServerContext& call);

}  // namespace hotplate::server
