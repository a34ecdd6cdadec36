// Shapes and signatures: an array's dtype and sizes, and its number of bytes. Nothing here trusts its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/array/dtype.h"

namespace hotplate {

inline constexpr std::size_t kMaxRank = 8;

// Largest array, in bytes, that any signature may ask for; the daemon's own limits are lower.
inline constexpr std::size_t kMaxArrayBytes = std::size_t{1} << 46;

// Sizes in elements, outermost first; empty for a scalar.
using Shape = std::vector<std::int64_t>;

struct Signature {
  DType dtype = DType::kFloat32;
  Shape shape;

  friend bool operator==(const Signature&, const Signature&) = default;
};

// "[3000, 3000]"; "[]" for a scalar.
std::string ToString(std::span<const std::int64_t> shape);
// "float32 [3000, 3000]"
std::string ToString(const Signature& signature);

// The number of elements, or nothing if a size is negative, there are more than kMaxRank, or the product overflows. The
// sizes beside a 0 must not overflow either.
std::optional<std::size_t> ElementCount(std::span<const std::int64_t> shape);

// The number of bytes, or nothing where ElementCount has none or the bytes overflow.
std::optional<std::size_t> ByteSize(const Signature& signature);

// The shape of two arrays by NumPy's broadcasting: counted from the last, sizes are equal or one of them is 1; missing
// sizes count as 1. Nothing if the shapes do not fit.
std::optional<Shape> BroadcastShape(std::span<const std::int64_t> a, std::span<const std::int64_t> b);

}  // namespace hotplate
