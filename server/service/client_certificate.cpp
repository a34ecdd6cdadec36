#include "server/service/client_certificate.h"

#include <grpc/grpc_security_constants.h>

#include <string_view>

#include "server/net/tls.h"

namespace hotplate::server {
namespace {

std::string FactOfTls(const grpc::CallbackServerContext& call, const char* name) {
  const std::shared_ptr<const grpc::AuthContext> facts = call.auth_context();
  if (facts == nullptr) return "";
  const std::vector<grpc::string_ref> values = facts->FindPropertyValues(name);
  return values.empty() ? "" : std::string(values[0].data(), values[0].size());
}

}  // namespace

std::string ClientInCertificate(const grpc::CallbackServerContext& call) {
  static const std::string prefix = ClientCertificateName("");
  const std::string name = FactOfTls(call, GRPC_X509_CN_PROPERTY_NAME);
  return name.starts_with(prefix) ? name.substr(prefix.size()) : "";
}

std::string CertificateOf(const grpc::CallbackServerContext& call) {
  return FactOfTls(call, GRPC_X509_PEM_CERT_PROPERTY_NAME);
}

}  // namespace hotplate::server
