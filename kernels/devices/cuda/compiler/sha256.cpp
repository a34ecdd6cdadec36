#include "kernels/devices/cuda/compiler/sha256.h"

#include <openssl/sha.h>

#include <array>

#include "absl/strings/escaping.h"

namespace hotplate {

std::string Sha256(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace hotplate
