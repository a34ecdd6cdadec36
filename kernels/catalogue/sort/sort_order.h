// The sort order as unsigned numbers, whose bits a radix sort goes through. For both back-ends.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "kernels/call/for_type.h"
#include "kernels/call/host_device.h"

namespace hotplate::sort {

// From this length on a GPU sorts each row of several by itself, and numbers none of its elements.
inline constexpr std::uint64_t kLongRow = std::uint64_t{1} << 20;

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

// T: bool, an integer, float or double. Two elements compare as their keys do; every NaN has the last key of all.
template <typename T>
struct Order {
  using Key = BitsOf<T>;
  static constexpr Key kLast = static_cast<Key>(~Key{0});
  static constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);

  bool descending = false;

  // -0 comes before 0.
  HOTPLATE_HOST_DEVICE Key KeyOf(T x) const {
    Key bits;
    if constexpr (std::is_floating_point_v<T>) {
      std::memcpy(&bits, &x, sizeof bits);
      if (x != x) return kLast;
      bits = (bits & kSign) != 0 ? static_cast<Key>(~bits) : bits | kSign;
    } else {
      bits = static_cast<Key>(x);
      if constexpr (std::is_signed_v<T>) bits ^= kSign;
    }
    return descending ? static_cast<Key>(~bits) : bits;
  }

  // Equal where elements are: of -0 and 0 too.
  HOTPLATE_HOST_DEVICE Key TieKeyOf(T x) const { return KeyOf(x == T(0) ? T(0) : x); }

  // The inverse of KeyOf, except for a NaN's sign and payload.
  HOTPLATE_HOST_DEVICE T ElementOf(Key key) const {
    Key bits = descending ? static_cast<Key>(~key) : key;
    if constexpr (std::is_floating_point_v<T>) {
      bits = (bits & kSign) != 0 ? bits & ~kSign : static_cast<Key>(~bits);
      if (key == kLast) bits = sizeof(T) == 4 ? Key{0x7fc00000} : static_cast<Key>(0x7ff8000000000000);
      T x;
      std::memcpy(&x, &bits, sizeof x);
      return x;
    } else {
      if constexpr (std::is_signed_v<T>) bits ^= kSign;
      return static_cast<T>(bits);
    }
  }
};

// Returns body.operator()<T>() for the type T that a sort takes, all but complex numbers and the short floats.
// Bools are sorted as their bytes, any of which may be in an array.
template <typename Body>
Outcome ForSorted(std::string_view kernel, DType dtype, const Body& body) {
  if (dtype == DType::kBool) return body.template operator()<std::uint8_t>();
  return ForType<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                 std::uint64_t, float, double>(kernel, dtype, body);
}

}  // namespace hotplate::sort
