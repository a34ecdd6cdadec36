#include "client/cli/elements.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "client/cli/format.h"

namespace hotplate::cli {
namespace {

template <typename T>
T Load(std::span<const std::byte> elements, std::size_t index) {
  T value;
  std::memcpy(&value, elements.data() + index * sizeof(T), sizeof value);
  return value;
}

float FromBits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

float HalfToFloat(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1F, mantissa = half & 0x3FF;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 0x1F) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

std::string Complex(const std::string& real, const std::string& imaginary) {
  return real + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
}

// `element(i)` is element i as a double.
template <typename Element>
Summary SummariseElements(std::size_t count, const Element& element) {
  Summary summary;
  summary.minimum = INFINITY;
  summary.maximum = -INFINITY;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = element(i);
    if (std::isnan(value)) continue;
    ++summary.numbers;
    sum += value;
    summary.minimum = std::min(summary.minimum, value);
    summary.maximum = std::max(summary.maximum, value);
  }
  summary.not_numbers = count - summary.numbers;
  summary.mean = summary.numbers > 0 ? sum / static_cast<double>(summary.numbers) : NAN;
  return summary;
}

// A few digits: a summary is for the eye.
std::string Brief(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

bool IsReal(DType dtype) { return dtype != DType::kComplex64 && dtype != DType::kComplex128; }

double ElementAsDouble(DType dtype, std::span<const std::byte> elements, std::size_t index) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return Load<std::uint8_t>(elements, index);
    case DType::kInt8:
      return Load<std::int8_t>(elements, index);
    case DType::kInt16:
      return Load<std::int16_t>(elements, index);
    case DType::kInt32:
      return Load<std::int32_t>(elements, index);
    case DType::kInt64:
      return static_cast<double>(Load<std::int64_t>(elements, index));
    case DType::kUInt16:
      return Load<std::uint16_t>(elements, index);
    case DType::kUInt32:
      return Load<std::uint32_t>(elements, index);
    case DType::kUInt64:
      return static_cast<double>(Load<std::uint64_t>(elements, index));
    case DType::kFloat16:
      return HalfToFloat(Load<std::uint16_t>(elements, index));
    case DType::kBFloat16:
      return FromBits(static_cast<std::uint32_t>(Load<std::uint16_t>(elements, index)) << 16);
    case DType::kFloat32:
      return Load<float>(elements, index);
    case DType::kFloat64:
      return Load<double>(elements, index);
    case DType::kComplex64:
    case DType::kComplex128:
      break;
  }
  return NAN;
}

std::string ElementText(DType dtype, std::span<const std::byte> elements, std::size_t index) {
  switch (dtype) {
    case DType::kBool:
      return Load<std::uint8_t>(elements, index) ? "true" : "false";
    case DType::kInt64:
      return std::to_string(Load<std::int64_t>(elements, index));
    case DType::kUInt64:
      return std::to_string(Load<std::uint64_t>(elements, index));
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return Number32(static_cast<float>(ElementAsDouble(dtype, elements, index)));
    case DType::kComplex64:
      return Complex(Number32(Load<float>(elements, 2 * index)), Number32(Load<float>(elements, 2 * index + 1)));
    case DType::kComplex128:
      return Complex(Number(Load<double>(elements, 2 * index)), Number(Load<double>(elements, 2 * index + 1)));
    default:
      return Number(ElementAsDouble(dtype, elements, index));
  }
}

std::optional<Summary> Summarise(const Signature& signature, std::span<const std::byte> elements) {
  if (!IsReal(signature.dtype) || elements.empty()) return std::nullopt;
  const std::size_t count = elements.size() / SizeOf(signature.dtype);
  // The two that are large in practice do without the switch per element.
  if (signature.dtype == DType::kFloat32)
    return SummariseElements(count, [&](std::size_t i) { return static_cast<double>(Load<float>(elements, i)); });
  if (signature.dtype == DType::kFloat64)
    return SummariseElements(count, [&](std::size_t i) { return Load<double>(elements, i); });
  return SummariseElements(count, [&](std::size_t i) { return ElementAsDouble(signature.dtype, elements, i); });
}

std::string SummaryText(const Signature& signature, std::span<const std::byte> elements) {
  constexpr std::size_t kShown = 6;
  std::string text = ToString(signature);
  const std::size_t count = elements.size() / SizeOf(signature.dtype);
  if (const auto summary = Summarise(signature, elements)) {
    if (summary->numbers > 0)
      text +=
          "   min " + Brief(summary->minimum) + " · max " + Brief(summary->maximum) + " · mean " + Brief(summary->mean);
    if (summary->not_numbers > 0) text += " · " + std::to_string(summary->not_numbers) + " NaN";
  }
  if (count > 0) text += "   ";
  for (std::size_t i = 0; i < std::min(count, kShown); ++i) {
    if (i > 0) text += " ";
    text += ElementText(signature.dtype, elements, i);
  }
  return text + (count > kShown ? " …" : "");
}

}  // namespace hotplate::cli
