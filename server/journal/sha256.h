// SHA-256 (FIPS 180-4) of payloads: the same that sha256sum prints for a file.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hotplate::journal {

struct Sha256 {
  std::array<std::byte, 32> bytes{};

  std::string Hex() const;
  // Nothing unless `hex` has exactly 64 digits.
  static std::optional<Sha256> FromHex(std::string_view hex);

  friend bool operator==(const Sha256&, const Sha256&) = default;
  friend auto operator<=>(const Sha256&, const Sha256&) = default;
};

// Digests bytes as they come.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;

  void Add(std::span<const std::byte> bytes);
  // Once, at the end.
  Sha256 Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Sha256 Sha256Of(std::span<const std::byte> bytes);
Sha256 Sha256Of(std::string_view bytes);

}  // namespace hotplate::journal
