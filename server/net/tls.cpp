#include "server/net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <memory>
#include <vector>

#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

template <auto function>
struct Freed {
  template <typename T>
  void operator()(T* thing) const {
    function(thing);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Freed<X509_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using ConnectionPtr = std::unique_ptr<SSL, Freed<SSL_free>>;

constexpr long kDay = 24 * 3600;

std::string OpenSslReason() {
  char reason[256];
  ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  return reason;
}

absl::Status Failed(const char* what) {
  return absl::InternalError(ToAbsl(std::string("making the TLS certificate: ") + what + ": " + OpenSslReason()));
}

bool AddExtension(X509* certificate, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// The owner of a certificate, and its use.
struct Subject {
  std::string name;
  const char* use;  // extended key usage; null: it signs others
  bool is_daemon = false;
};

bool Fill(X509* certificate, EVP_PKEY* key, const Subject& subject, X509* issuer) {
  unsigned char serial[8];
  if (RAND_bytes(serial, sizeof serial) != 1) return false;
  std::uint64_t number = 0;
  for (unsigned char byte : serial) number = number << 8 | byte;
  const bool signs = subject.use == nullptr;
  X509_NAME* name = X509_get_subject_name(certificate);
  return X509_set_version(certificate, 2) == 1 &&  // which means version 3
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), (number >> 1) | 1) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), 3650 * kDay) != nullptr &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(subject.name.c_str()), -1, -1, 0) == 1 &&
         X509_set_issuer_name(certificate, issuer != nullptr ? X509_get_subject_name(issuer) : name) == 1 &&
         X509_set_pubkey(certificate, key) == 1 &&
         AddExtension(certificate, NID_basic_constraints, signs ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") &&
         AddExtension(certificate, NID_key_usage, signs ? "critical,keyCertSign" : "critical,digitalSignature") &&
         (signs || AddExtension(certificate, NID_ext_key_usage, subject.use)) &&
         (!subject.is_daemon ||
          AddExtension(certificate, NID_subject_alt_name, (std::string("DNS:") + kCertificateName).c_str()));
}

BioPtr Reader(const std::string& text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// A client's, which speaks HTTP/2. Null: OpenSSL has the reason.
ContextPtr ContextOf(const Identity& client) {
  constexpr unsigned char kProtocols[] = {2, 'h', '2'};
  ContextPtr context(SSL_CTX_new(TLS_client_method()));
  const BioPtr certificate_text = Reader(client.certificate_pem), key_text = Reader(client.key_pem);
  if (!context || !certificate_text || !key_text) return nullptr;
  const CertificatePtr certificate(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const KeyPtr key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const bool complete = certificate && key && SSL_CTX_use_certificate(context.get(), certificate.get()) == 1 &&
                        SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
                        SSL_CTX_set_alpn_protos(context.get(), kProtocols, sizeof kProtocols) == 0;
  return complete ? std::move(context) : nullptr;
}

std::string TextOf(BIO* bio) {
  const char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

}  // namespace

namespace {

// Signed by `issuer`; null: by itself.
absl::StatusOr<Identity> Certified(const Subject& subject, const Identity* issuer) {
  CertificatePtr by;
  KeyPtr by_key;
  if (issuer != nullptr) {
    const BioPtr certificate_text = Reader(issuer->certificate_pem), key_text = Reader(issuer->key_pem);
    by.reset(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
    by_key.reset(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
    if (!by || !by_key) return Failed("authority");
  }
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return Failed("key");
  const CertificatePtr certificate(X509_new());
  if (!certificate || !Fill(certificate.get(), key.get(), subject, by.get())) return Failed("content");
  if (X509_sign(certificate.get(), by_key ? by_key.get() : key.get(), EVP_sha256()) == 0) return Failed("signature");

  const BioPtr certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_secmem()));
  if (!certificate_text || !key_text || PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return Failed("encoding");
  }
  return Identity{TextOf(certificate_text.get()), TextOf(key_text.get())};
}

}  // namespace

std::string ClientCertificateName(const std::string& client) {
  return std::string(kCertificateName) + " client " + client;
}

absl::StatusOr<Identity> MakeDaemonIdentity() {
  return Certified({kCertificateName, "serverAuth", /*is_daemon=*/true}, nullptr);
}

absl::StatusOr<ClientAuthority> ClientAuthority::Make() {
  absl::StatusOr<Identity> own = Certified({std::string(kCertificateName) + " clients", nullptr}, nullptr);
  if (!own.ok()) return own.status();
  return ClientAuthority(*std::move(own));
}

absl::StatusOr<Identity> ClientAuthority::MakeClient(const std::string& client) const {
  return Certified({ClientCertificateName(client), "clientAuth"}, &own_);
}

absl::Status TryHandshake(int connection, const Identity& client, std::chrono::milliseconds patience) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(patience);
  const timeval longest{whole.count(), std::chrono::microseconds(patience - whole).count()};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  ERR_clear_error();
  const ContextPtr context = ContextOf(client);
  const ConnectionPtr tls(context ? SSL_new(context.get()) : nullptr);
  if (!tls || SSL_set_fd(tls.get(), connection) != 1) return absl::InternalError(ToAbsl(OpenSslReason()));
  char first = 0;
  // A server of TLS 1.3 looks at the client's certificate when the client is done: only its first word says that it is.
  int done = SSL_connect(tls.get());
  if (done == 1) done = SSL_read(tls.get(), &first, 1);
  if (done == 1) return absl::OkStatus();
  switch (SSL_get_error(tls.get(), done)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return absl::DeadlineExceededError(ToAbsl("nothing arrived within " + std::to_string(patience.count()) + " ms"));
    case SSL_ERROR_SSL:
      return absl::InternalError(ToAbsl(OpenSslReason()));
    default:
      return absl::InternalError("it hung up");
  }
}

absl::StatusOr<std::string> RandomHex(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  if (RAND_priv_bytes(random.data(), static_cast<int>(bytes)) != 1) return Failed("random bytes");
  std::string text;
  for (unsigned char byte : random) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace hotplate::server
