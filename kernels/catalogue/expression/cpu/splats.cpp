#include <complex>
#include <cstring>
#include <limits>

#include "kernels/catalogue/expression/cpu/convert.h"
#include "kernels/catalogue/expression/cpu/half.h"
#include "kernels/catalogue/expression/cpu/run.h"

namespace hotplate::expression {
namespace {

template <typename T>
void Put(T value, std::array<std::byte, 16>& element) {
  std::memcpy(element.data(), &value, sizeof value);
}

template <typename I>
bool PutInteger(std::int64_t value, bool checked, std::array<std::byte, 16>& element) {
  Put(static_cast<I>(value), element);
  if (!checked) return true;
  if constexpr (std::is_unsigned_v<I>) {
    return value >= 0 && static_cast<std::uint64_t>(value) <= std::numeric_limits<I>::max();
  } else {
    return value >= std::numeric_limits<I>::min() && value <= std::numeric_limits<I>::max();
  }
}

void PutFloating(std::complex<double> value, DType dtype, std::array<std::byte, 16>& element) {
  switch (dtype) {
    case DType::kFloat16:
      return Put(RoundToHalf(value.real()), element);
    case DType::kFloat32:
      return Put(static_cast<float>(value.real()), element);
    case DType::kFloat64:
      return Put(value.real(), element);
    case DType::kComplex64:
      return Put(std::complex<float>(static_cast<float>(value.real()), static_cast<float>(value.imag())), element);
    default:
      return Put(value, element);
  }
}

}  // namespace

bool ElementOf(const Node& node, const RunArrays& arrays, const Program& program, std::array<std::byte, 16>& element) {
  const bool is_scalar = node.kind == Node::Kind::kScalar;
  std::int64_t integer = node.constant.integer;
  std::complex<double> number = node.constant.number;
  if (is_scalar) {
    const GivenNumber& given = arrays.numbers[static_cast<std::size_t>(node.leaf)];
    const bool is_real = program.scalars[static_cast<std::size_t>(node.leaf)].dtype == DType::kFloat64;
    integer = given.integer;  // Check made a cast where a real number becomes an integer or a bool
    number = is_real ? given.real : static_cast<double>(given.integer);
  }
  switch (node.dtype) {
    case DType::kBool:
      Put(static_cast<std::uint8_t>(integer != 0 ? 1 : 0), element);
      return true;
    case DType::kInt8:
      return PutInteger<std::int8_t>(integer, is_scalar, element);
    case DType::kInt16:
      return PutInteger<std::int16_t>(integer, is_scalar, element);
    case DType::kInt32:
      return PutInteger<std::int32_t>(integer, is_scalar, element);
    case DType::kInt64:
      return PutInteger<std::int64_t>(integer, is_scalar, element);
    case DType::kUInt8:
      return PutInteger<std::uint8_t>(integer, is_scalar, element);
    case DType::kUInt16:
      return PutInteger<std::uint16_t>(integer, is_scalar, element);
    case DType::kUInt32:
      return PutInteger<std::uint32_t>(integer, is_scalar, element);
    case DType::kUInt64:
      return PutInteger<std::uint64_t>(integer, is_scalar, element);
    default:
      PutFloating(number, node.dtype, element);
      return true;
  }
}

}  // namespace hotplate::expression
