#include "kernels/array/dtype.h"

#include <array>

namespace hotplate {
namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};

// In the order of DType's numbers, from 1.
constexpr std::array<Row, kDTypeCount> kRows = {{
    {"bool", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"complex64", 8},
    {"complex128", 16},
}};

const Row& RowOf(DType dtype) { return kRows[static_cast<std::size_t>(dtype) - 1]; }

}  // namespace

std::size_t SizeOf(DType dtype) { return RowOf(dtype).size; }

std::string_view Name(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (int number = 1; number <= kDTypeCount; ++number) {
    if (Name(static_cast<DType>(number)) == name) return static_cast<DType>(number);
  }
  return std::nullopt;
}

std::optional<DType> DTypeFromNumber(int number) {
  if (number < 1 || number > kDTypeCount) return std::nullopt;
  return static_cast<DType>(number);
}

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64;
}

bool IsInteger(DType dtype) { return dtype >= DType::kInt8 && dtype <= DType::kUInt64; }

bool IsComplex(DType dtype) { return dtype == DType::kComplex64 || dtype == DType::kComplex128; }

DType RealPart(DType dtype) {
  return dtype == DType::kComplex64 ? DType::kFloat32 : dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

DType ComplexOf(DType dtype) {
  return dtype == DType::kFloat32 ? DType::kComplex64 : dtype == DType::kFloat64 ? DType::kComplex128 : dtype;
}

}  // namespace hotplate
