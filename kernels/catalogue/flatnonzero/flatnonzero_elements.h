// Elements as the bits that say whether they are zero. For both back-ends.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/call/for_type.h"
#include "kernels/call/host_device.h"

namespace hotplate::flatnonzero {

// Elements of `kParts` words each. `mask`: a word's bits without the sign of a float.
template <typename Word, int kParts>
struct Elements {
  const Word* words;
  Word mask;

  HOTPLATE_HOST_DEVICE bool operator()(std::uint64_t i) const {
    if constexpr (kParts == 2) return ((words[2 * i] | words[2 * i + 1]) & mask) != 0;
    return (words[i] & mask) != 0;
  }
};

// Calls body with the Elements of an array.
template <typename Body>
Outcome WithElements(const hotplate_array& x, const Body& body) {
  const auto with = [&]<typename Word, int kParts>(bool is_float) {
    const int bits = 8 * static_cast<int>(sizeof(Word)) - (is_float ? 1 : 0);
    const Word mask = static_cast<Word>(~std::uint64_t{0} >> (64 - bits));
    return body(Elements<Word, kParts>{static_cast<const Word*>(x.data), mask});
  };
  switch (static_cast<DType>(x.dtype)) {
    case DType::kBool:
    case DType::kInt8:
    case DType::kUInt8:
      return with.template operator()<std::uint8_t, 1>(false);
    case DType::kInt16:
    case DType::kUInt16:
      return with.template operator()<std::uint16_t, 1>(false);
    case DType::kFloat16:
    case DType::kBFloat16:
      return with.template operator()<std::uint16_t, 1>(true);
    case DType::kInt32:
    case DType::kUInt32:
      return with.template operator()<std::uint32_t, 1>(false);
    case DType::kFloat32:
      return with.template operator()<std::uint32_t, 1>(true);
    case DType::kInt64:
    case DType::kUInt64:
      return with.template operator()<std::uint64_t, 1>(false);
    case DType::kFloat64:
      return with.template operator()<std::uint64_t, 1>(true);
    case DType::kComplex64:
      return with.template operator()<std::uint32_t, 2>(true);
    case DType::kComplex128:
      return with.template operator()<std::uint64_t, 2>(true);
  }
  return NoCodeFor("flatnonzero", static_cast<DType>(x.dtype));
}

}  // namespace hotplate::flatnonzero
