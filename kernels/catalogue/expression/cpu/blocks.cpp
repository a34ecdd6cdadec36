#include "kernels/catalogue/expression/cpu/blocks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <complex>
#include <cstring>

namespace hotplate::expression {
namespace {

// Calls body(lines' start, number of elements) for the parts of a block that are each in one line.
template <typename Body>
void EachLine(const Geometry& geometry, const Access& access, const Place& place, std::size_t n, const Body& body) {
  std::int64_t at = place.In(geometry, access);
  std::array<std::int64_t, kMaxRank> index = place.index;
  const std::size_t last = static_cast<std::size_t>(geometry.rank) - 1;
  while (n > 0) {
    const std::size_t length = std::min(n, static_cast<std::size_t>(geometry.sizes[last] - index[last]));
    body(at, length);
    n -= length;
    at -= index[last] * access.strides[last];
    index[last] = 0;
    for (std::size_t axis = last; axis-- > 0;) {
      at += access.strides[axis];
      if (++index[axis] < geometry.sizes[axis]) break;
      at -= index[axis] * access.strides[axis];
      index[axis] = 0;
    }
  }
}

template <typename T>
void CopyStrided(const T* from, std::int64_t stride, T* to, std::int64_t to_stride, std::size_t n) {
  const std::int64_t count = static_cast<std::int64_t>(n);
  if (to_stride != 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * stride];
  } else if (stride == 0) {
    std::fill_n(to, n, *from);
  } else if (stride == 1) {
    std::copy_n(from, n, to);
  } else if (stride == -1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[-i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

// Calls body.operator()<T>() for a type of that many bytes.
template <typename Body>
void ForBytes(std::size_t bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body.template operator()<std::uint8_t>();
    case 2:
      return body.template operator()<std::uint16_t>();
    case 4:
      return body.template operator()<std::uint32_t>();
    case 8:
      return body.template operator()<std::uint64_t>();
    default:
      return body.template operator()<std::complex<double>>();
  }
}

void StreamBytes(const void* from, std::byte* to, std::size_t bytes) {
#if defined(__x86_64__)
  constexpr std::size_t kCacheLine = 64;
  if (reinterpret_cast<std::uintptr_t>(to) % kCacheLine == 0 && bytes % kCacheLine == 0) {
    const __m128i* const source = static_cast<const __m128i*>(from);
    __m128i* const target = reinterpret_cast<__m128i*>(to);
    for (std::size_t i = 0; i < bytes / sizeof(__m128i); ++i) {
      _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
    }
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace

Place::Place(const Geometry& geometry, std::size_t position) {
  for (std::size_t axis = static_cast<std::size_t>(geometry.rank) - 1; axis > 0; --axis) {
    const std::size_t size = static_cast<std::size_t>(geometry.sizes[axis]);
    index[axis] = static_cast<std::int64_t>(position % size);
    position /= size;
  }
  index[0] = static_cast<std::int64_t>(position);
}

void Load(const Geometry& geometry, const Array& array, const std::byte* from, const Place& place, std::size_t n,
          void* to) {
  const std::int64_t stride = array.access.strides[static_cast<std::size_t>(geometry.rank) - 1];
  if (array.kind == Array::Kind::kIndex) {
    std::int64_t* next = static_cast<std::int64_t*>(to);
    EachLine(geometry, array.access, place, n, [&](std::int64_t at, std::size_t length) {
      for (std::size_t i = 0; i < length; ++i) next[i] = at + static_cast<std::int64_t>(i) * stride;
      next += length;
    });
    return;
  }
  ForBytes(array.element_bytes, [&]<typename T>() {
    T* next = static_cast<T*>(to);
    EachLine(geometry, array.access, place, n, [&](std::int64_t at, std::size_t length) {
      CopyStrided(reinterpret_cast<const T*>(from) + at, stride, next, 1, length);
      next += length;
    });
  });
}

void StoreBlock(const Geometry& geometry, const Array& array, bool stream, const void* from, const Place& place,
                std::size_t n, std::byte* to) {
  if (array.adjacent) {
    std::byte* const first = to + place.In(geometry, array.access) * array.element_bytes;
    if (stream) return StreamBytes(from, first, n * array.element_bytes);
    std::memcpy(first, from, n * array.element_bytes);
    return;
  }
  const std::int64_t stride = array.access.strides[static_cast<std::size_t>(geometry.rank) - 1];
  ForBytes(array.element_bytes, [&]<typename T>() {
    const T* next = static_cast<const T*>(from);
    EachLine(geometry, array.access, place, n, [&](std::int64_t at, std::size_t length) {
      CopyStrided(next, 1, reinterpret_cast<T*>(to) + at, stride, length);
      next += length;
    });
  });
}

std::size_t Locate(const std::int64_t* before, const std::int64_t* index, std::int64_t size, std::size_t n,
                   std::int64_t* out) {
  const auto inside = [size](std::int64_t i) {
    return static_cast<std::uint64_t>(i < 0 ? i + size : i) < static_cast<std::uint64_t>(size);
  };
  bool all_inside = true;
  for (std::size_t i = 0; i < n; ++i) all_inside &= inside(index[i]);
  if (!all_inside) return static_cast<std::size_t>(std::find_if_not(index, index + n, inside) - index);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t at = index[i] < 0 ? index[i] + size : index[i];
    out[i] = before == nullptr ? at : before[i] * size + at;
  }
  return n;
}

void Fetch(const std::byte* from, const std::int64_t* at, std::size_t element_bytes, std::size_t n, void* to) {
  ForBytes(element_bytes, [&]<typename T>() {
    const T* const element = reinterpret_cast<const T*>(from);
    T* const out = static_cast<T*>(to);
    for (std::size_t i = 0; i < n; ++i) out[i] = element[at[i]];
  });
}

std::optional<std::int64_t> FirstNegative(const void* integers, DType dtype, std::size_t n) {
  const auto first = [&]<typename T>() -> std::optional<std::int64_t> {
    const T* const x = static_cast<const T*>(integers);
    bool any = false;  // a loop that the compiler vectorises
    for (std::size_t i = 0; i < n; ++i) any |= x[i] < 0;
    if (!any) return std::nullopt;
    return *std::find_if(x, x + n, [](T one) { return one < 0; });
  };
  switch (dtype) {
    case DType::kInt8:
      return first.operator()<std::int8_t>();
    case DType::kInt16:
      return first.operator()<std::int16_t>();
    case DType::kInt32:
      return first.operator()<std::int32_t>();
    default:
      return first.operator()<std::int64_t>();
  }
}

bool AnyZero(const void* integers, DType dtype, std::size_t n) {
  bool zero = false;
  ForBytes(SizeOf(dtype), [&]<typename T>() {  // whatever the sign: a 0 is all bits 0
    const T* const x = static_cast<const T*>(integers);
    for (std::size_t i = 0; i < n; ++i) zero |= x[i] == T{};
  });
  return zero;
}

void Fill(const void* element, std::size_t element_bytes, std::size_t n, void* to) {
  ForBytes(element_bytes, [&]<typename T>() {
    T value;
    std::memcpy(&value, element, sizeof value);
    std::fill_n(static_cast<T*>(to), n, value);
  });
}

}  // namespace hotplate::expression
