// Casts from every dtype to every other.
#include <array>
#include <complex>
#include <cstdint>

#include "kernels/catalogue/expression/cpu/convert.h"
#include "kernels/catalogue/expression/cpu/half.h"
#include "kernels/catalogue/expression/cpu/make_loop.h"

namespace hotplate::expression {
namespace {

template <typename From, typename To>
void Cast(void* out, const void* a, const void*, const void*, std::size_t n) {
  To* const to = static_cast<To*>(out);
  const From* const x = static_cast<const From*>(a);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) to[i] = Convert<To>(x[i]);
}

// Calls body.operator()<T>() for the type of a dtype in registers.
template <typename Body>
Loop ForRegister(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kBool:
      return body.template operator()<Truth>();
    case DType::kInt8:
      return body.template operator()<std::int8_t>();
    case DType::kInt16:
      return body.template operator()<std::int16_t>();
    case DType::kInt32:
      return body.template operator()<std::int32_t>();
    case DType::kInt64:
      return body.template operator()<std::int64_t>();
    case DType::kUInt8:
      return body.template operator()<std::uint8_t>();
    case DType::kUInt16:
      return body.template operator()<std::uint16_t>();
    case DType::kUInt32:
      return body.template operator()<std::uint32_t>();
    case DType::kUInt64:
      return body.template operator()<std::uint64_t>();
    case DType::kFloat16:
    case DType::kFloat32:
      return body.template operator()<float>();
    case DType::kFloat64:
      return body.template operator()<double>();
    case DType::kComplex64:
      return body.template operator()<std::complex<float>>();
    case DType::kComplex128:
      return body.template operator()<std::complex<double>>();
    default:
      return nullptr;
  }
}

}  // namespace

HOTPLATE_MULTIVERSION void RoundToHalfLoop(void* out, const void* a, const void*, const void*, std::size_t n) {
  float* const to = static_cast<float*>(out);
  const float* const x = static_cast<const float*>(a);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) to[i] = RoundToHalf(x[i]);
}

HOTPLATE_MULTIVERSION void HalfFromBitsLoop(void* out, const void* a, const void*, const void*, std::size_t n) {
  float* const to = static_cast<float*>(out);
  const std::uint16_t* const x = static_cast<const std::uint16_t*>(a);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) to[i] = FromHalfBits(x[i]);
}

HOTPLATE_MULTIVERSION void HalfToBitsLoop(void* out, const void* a, const void*, const void*, std::size_t n) {
  std::uint16_t* const to = static_cast<std::uint16_t*>(out);
  const float* const x = static_cast<const float*>(a);
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) to[i] = HalfBits(RoundToHalf(x[i]));
}

Loop CastLoop(DType from, DType to) {
  if (from == DType::kFloat16 && to == DType::kUInt32) {  // NumPy's goes by way of int64: other bits if out of range
    return Plain<float>([](float x) { return static_cast<std::uint32_t>(Convert<std::int64_t>(x)); });
  }
  if (from == DType::kFloat16) from = DType::kFloat32;
  if (to == DType::kFloat16) {
    // Others are exact in float32, or so large that float16 is infinite.
    if (from == DType::kFloat64) return Wide<double>([](double x) { return RoundToHalf(x); });
    if (from == DType::kComplex128) {
      return Plain<std::complex<double>>([](std::complex<double> x) { return RoundToHalf(x.real()); });
    }
    if (from == DType::kFloat32) return RoundToHalfLoop;
    if (from == DType::kComplex64) {
      return Plain<std::complex<float>>([](std::complex<float> x) { return RoundToHalf(x.real()); });
    }
    if (from == DType::kBool) return Cast<Truth, float>;
    return ForRegister(from, []<typename From>() -> Loop {
      if constexpr (std::is_integral_v<From>) {
        return Plain<From>([](From x) { return RoundToHalf(static_cast<float>(x)); });
      } else {
        return nullptr;
      }
    });
  }
  if (from == to) return nullptr;
  return ForRegister(
      from, [to]<typename From>() { return ForRegister(to, []<typename To>() -> Loop { return Cast<From, To>; }); });
}

}  // namespace hotplate::expression
