#include "server/journal/sha256.h"

#include <openssl/evp.h>

#include <new>

namespace hotplate::journal {

struct Sha256Stream::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();

  Context() {
    if (digest == nullptr || EVP_DigestInit_ex(digest, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(digest); }
};

std::string Sha256::Hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return hex;
}

std::optional<Sha256> Sha256::FromHex(std::string_view hex) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Sha256 sha;
  if (hex.size() != 2 * sha.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < sha.bytes.size(); ++i) {
    const std::size_t high = kDigits.find(hex[2 * i]), low = kDigits.find(hex[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    sha.bytes[i] = static_cast<std::byte>(high << 4 | low);
  }
  return sha;
}

Sha256Stream::Sha256Stream() : context_(std::make_unique<Context>()) {}
Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::Add(std::span<const std::byte> bytes) {
  // It fails only for a digest that was not begun.
  static_cast<void>(EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size()));
}

Sha256 Sha256Stream::Finish() {
  Sha256 sha;
  static_cast<void>(EVP_DigestFinal_ex(context_->digest, reinterpret_cast<unsigned char*>(sha.bytes.data()), nullptr));
  return sha;
}

Sha256 Sha256Of(std::span<const std::byte> bytes) {
  Sha256Stream stream;
  stream.Add(bytes);
  return stream.Finish();
}

Sha256 Sha256Of(std::string_view bytes) { return Sha256Of(std::as_bytes(std::span(bytes))); }

}  // namespace hotplate::journal
