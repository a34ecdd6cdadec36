#include "client/lib/content_digest.h"

#include <openssl/evp.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "client/lib/wire.h"

namespace hotplate::client {

std::string ContentDigest(const std::string& request_id, const ArrayView& view) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const auto require = [](bool done) {
    if (!done) std::abort();  // no memory for a hundred bytes, or a libcrypto without BLAKE2
  };
  require(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_blake2b512(), nullptr) == 1);
  // Its length before each part, so that none runs into the next.
  const auto add = [&](const void* data, std::uint64_t bytes) {
    require(EVP_DigestUpdate(context.get(), &bytes, sizeof bytes) == 1 &&
            EVP_DigestUpdate(context.get(), data, bytes) == 1);
  };
  const std::string signature = ToString(view.signature);
  add(request_id.data(), request_id.size());
  add(signature.data(), signature.size());
  add(view.bytes.data(), view.bytes.size());
  unsigned char digest[EVP_MAX_MD_SIZE];
  require(EVP_DigestFinal_ex(context.get(), digest, nullptr) == 1);
  return Hex({digest, kDigestBytes});
}

}  // namespace hotplate::client
