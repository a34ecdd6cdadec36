#include "kernels/array/shape.h"

#include <utility>

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

std::optional<Shape> BroadcastShape(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Shape shape(a.begin(), a.end());
  const std::size_t missing = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    std::int64_t& size = shape[missing + i];
    if (size == 1) {
      size = b[i];
    } else if (b[i] != size && b[i] != 1) {
      return std::nullopt;
    }
  }
  return shape;
}

}  // namespace hotplate
