#include "server/core/sweeps/missing_value.h"

#include <cstdint>
#include <cstring>
#include <limits>

namespace hotplate::core {
namespace {

template <typename T>
void Repeat(T value, std::span<std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

}  // namespace

void FillMissing(DType dtype, std::span<std::byte> bytes) {
  switch (dtype) {
    case DType::kFloat16:
      return Repeat<std::uint16_t>(0x7E00, bytes);
    case DType::kBFloat16:
      return Repeat<std::uint16_t>(0x7FC0, bytes);
    case DType::kFloat32:
    case DType::kComplex64:
      return Repeat(std::numeric_limits<float>::quiet_NaN(), bytes);
    case DType::kFloat64:
    case DType::kComplex128:
      return Repeat(std::numeric_limits<double>::quiet_NaN(), bytes);
    default:
      if (!bytes.empty()) std::memset(bytes.data(), 0, bytes.size());
  }
}

}  // namespace hotplate::core
