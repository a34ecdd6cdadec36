#include "client/lib/content_digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "client/lib/wire.h"

namespace hotplate::client {

namespace {

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    Require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_blake2b512(), nullptr) == 1);
  }

  // Each part is preceded by its length, so that no two parts run together.
  void Begin(std::uint64_t bytes) { Add(&bytes, sizeof bytes); }
  void Add(const void* data, std::size_t bytes) { Require(EVP_DigestUpdate(context_.get(), data, bytes) == 1); }
  void AddText(const std::string& text) {
    Begin(text.size());
    Add(text.data(), text.size());
  }

  std::string Hexadecimal() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    Require(EVP_DigestFinal_ex(context_.get(), digest, nullptr) == 1);
    return Hex({digest, kDigestBytes});
  }

 private:
  static void Require(bool done) {
    if (!done) std::abort();  // no memory for a hundred bytes, or a libcrypto without BLAKE2
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

Digest Begun(const std::string& request_id, const Signature& signature, std::uint64_t bytes) {
  Digest digest;
  digest.AddText(request_id);
  digest.AddText(ToString(signature));
  digest.Begin(bytes);
  return digest;
}

}  // namespace

std::string ContentDigest(const std::string& request_id, const ArrayView& view) {
  Digest digest = Begun(request_id, view.signature, view.bytes.size());
  digest.Add(view.bytes.data(), view.bytes.size());
  return digest.Hexadecimal();
}

absl::StatusOr<std::string> ContentDigest(const std::string& request_id, const ArraySource& source) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::size_t bytes = ByteSize(source.signature).value_or(0);
  Digest digest = Begun(request_id, source.signature, bytes);
  std::vector<std::byte> piece(std::min(bytes, kPiece));
  for (std::size_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min(kPiece, bytes - at));
    if (absl::Status status = source.read(at, piece); !status.ok()) return status;
    digest.Add(piece.data(), piece.size());
  }
  return digest.Hexadecimal();
}

}  // namespace hotplate::client
