#include "client/lib/content_digest.h"

#include <bit>
#include <cstdio>
#include <cstring>

namespace hotplate::client {
namespace {

__extension__ typedef unsigned __int128 Product;

// Both halves of the product: every bit of either factor reaches the result.
std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
  const Product product = static_cast<Product>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Two independent chains over words of eight bytes. Odd constants without a pattern: digits of pi and of e.
class Digest {
 public:
  void Add(std::span<const std::byte> bytes) {
    Word(bytes.size());
    std::size_t at = 0;
    for (; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      Word(word);
    }
    std::uint64_t rest = 0;
    if (at < bytes.size()) std::memcpy(&rest, bytes.data() + at, bytes.size() - at);
    Word(rest);
  }

  std::string Hex() const {
    char digits[33];
    std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(Fold(a_, kB)),
                  static_cast<unsigned long long>(Fold(b_, kA)));
    return digits;
  }

 private:
  static constexpr std::uint64_t kA = 0x243f6a8885a308d3, kB = 0xb7e151628aed2a6b;

  // The sum keeps a chain whose product is 0 from forgetting all that came before.
  void Word(std::uint64_t word) {
    a_ = Fold(a_ ^ word, kA) + std::rotl(a_, 23) + 1;
    b_ = Fold(b_ ^ std::rotl(word, 32), kB) + std::rotl(b_, 41) + 1;
  }

  std::uint64_t a_ = kB, b_ = kA;
};

}  // namespace

std::string ContentDigest(const std::string& request_id, const ArrayView& view) {
  Digest digest;
  digest.Add(std::as_bytes(std::span(request_id)));
  const std::string signature = ToString(view.signature);
  digest.Add(std::as_bytes(std::span(signature)));
  digest.Add(view.bytes);
  return digest.Hex();
}

}  // namespace hotplate::client
