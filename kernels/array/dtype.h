// Element types of arrays, and their NumPy names. Standard library only: both sides of the wire link this.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hotplate {

// The numbers of hotplate.v1.DType and of the plug-in's table: never renumber.
enum class DType : std::uint8_t {
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kFloat16 = 10,
  kBFloat16 = 11,
  kFloat32 = 12,
  kFloat64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
};

inline constexpr int kDTypeCount = 15;

// Bytes of one element.
std::size_t SizeOf(DType dtype);

// "float32", as NumPy spells it; "bfloat16" for the one that NumPy lacks.
std::string_view Name(DType dtype);

// The inverse of Name; nothing for any other text.
std::optional<DType> ParseDType(std::string_view name);

// The dtype of a number from outside (a wire enum), or nothing for an unknown number.
std::optional<DType> DTypeFromNumber(int number);

bool IsFloating(DType dtype);  // float16, bfloat16, float32, float64
bool IsInteger(DType dtype);   // signed and unsigned; not bool
bool IsComplex(DType dtype);   // complex64, complex128

// float32 for complex64, float64 for complex128; others unchanged.
DType RealPart(DType dtype);
// The inverse: complex64 for float32, complex128 for float64; others unchanged.
DType ComplexOf(DType dtype);

// The dtype of a C++ element type, for typed views: DTypeOf<float>() == DType::kFloat32.
template <typename T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<std::int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType DTypeOf<std::int16_t>() {
  return DType::kInt16;
}
template <>
constexpr DType DTypeOf<std::int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType DTypeOf<std::int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType DTypeOf<std::uint8_t>() {
  return DType::kUInt8;
}
template <>
constexpr DType DTypeOf<std::uint16_t>() {
  return DType::kUInt16;
}
template <>
constexpr DType DTypeOf<std::uint32_t>() {
  return DType::kUInt32;
}
template <>
constexpr DType DTypeOf<std::uint64_t>() {
  return DType::kUInt64;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType DTypeOf<std::complex<float>>() {
  return DType::kComplex64;
}
template <>
constexpr DType DTypeOf<std::complex<double>>() {
  return DType::kComplex128;
}

}  // namespace hotplate
