#include "kernels/array/shape.h"

namespace hotplate {

std::string ToString(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

std::string ToString(const Signature& signature) {
  return std::string(Name(signature.dtype)) + " " + ToString(signature.shape);
}

std::optional<std::size_t> ElementCount(std::span<const std::int64_t> shape) {
  if (shape.size() > kMaxRank) return std::nullopt;
  std::size_t product = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, static_cast<std::size_t>(size), &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

std::optional<std::size_t> ByteSize(const Signature& signature) {
  const std::optional<std::size_t> count = ElementCount(signature.shape);
  std::size_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, SizeOf(signature.dtype), &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace hotplate
