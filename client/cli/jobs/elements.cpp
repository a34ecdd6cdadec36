#include "client/cli/jobs/elements.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "client/cli/terminal/format.h"
#include "client/cli/terminal/json.h"

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

struct Sums {
  double minimum, maximum, sum;
  std::size_t numbers;
};

// `element(i)` is element i as a double.
template <typename Element>
void AddElements(std::size_t count, const Element& element, Sums& sums) {
  for (std::size_t i = 0; i < count; ++i) {
    const double value = element(i);
    if (std::isnan(value)) continue;
    ++sums.numbers;
    sums.sum += value;
    sums.minimum = std::min(sums.minimum, value);
    sums.maximum = std::max(sums.maximum, value);
  }
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

std::string ElementJson(DType dtype, std::span<const std::byte> elements, std::size_t index) {
  if (!IsReal(dtype) && dtype != DType::kBool) return JsonText(ElementText(dtype, elements, index));
  const double value = dtype == DType::kBool ? 0 : ElementAsDouble(dtype, elements, index);
  return std::isfinite(value) ? ElementText(dtype, elements, index) : JsonNumber(value);
}

std::string ElementsJson(const Signature& signature, std::span<const std::byte> elements) {
  std::size_t next = 0;
  const auto list = [&](const auto& self, std::size_t dimension) -> std::string {
    if (dimension == signature.shape.size()) return ElementJson(signature.dtype, elements, next++);
    std::vector<std::string> parts;
    for (std::int64_t i = 0; i < signature.shape[dimension]; ++i) parts.push_back(self(self, dimension + 1));
    return JsonArray(parts);
  };
  return list(list, 0);
}

Summariser::Summariser(Signature signature, std::size_t kept)
    : signature_(std::move(signature)), kept_(kept), minimum_(INFINITY), maximum_(-INFINITY) {}

void Summariser::Add(std::span<const std::byte> piece) {
  const std::size_t size = SizeOf(signature_.dtype);
  if (!begun_.empty()) {
    const std::size_t rest = std::min(size - begun_.size(), piece.size());
    begun_.insert(begun_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(rest));
    piece = piece.subspan(rest);
    if (begun_.size() < size) return;
    AddWhole(begun_);
    begun_.clear();
  }
  const std::size_t whole = piece.size() / size * size;
  AddWhole(piece.first(whole));
  begun_.assign(piece.begin() + static_cast<std::ptrdiff_t>(whole), piece.end());
}

void Summariser::AddWhole(std::span<const std::byte> elements) {
  const DType dtype = signature_.dtype;
  if (const std::size_t kept = kept_ * SizeOf(dtype); first_.size() < kept) {
    const auto missing = elements.first(std::min(elements.size(), kept - first_.size()));
    first_.insert(first_.end(), missing.begin(), missing.end());
  }
  const std::size_t count = elements.size() / SizeOf(dtype);
  count_ += count;
  if (!IsReal(dtype)) return;
  Sums sums{minimum_, maximum_, sum_, numbers_};
  // The two that are large in practice do without the switch per element.
  if (dtype == DType::kFloat32) {
    AddElements(
        count, [&](std::size_t i) { return static_cast<double>(Load<float>(elements, i)); }, sums);
  } else if (dtype == DType::kFloat64) {
    AddElements(
        count, [&](std::size_t i) { return Load<double>(elements, i); }, sums);
  } else {
    AddElements(
        count, [&](std::size_t i) { return ElementAsDouble(dtype, elements, i); }, sums);
  }
  minimum_ = sums.minimum;
  maximum_ = sums.maximum;
  sum_ = sums.sum;
  numbers_ = sums.numbers;
}

std::optional<Summary> Summariser::Get() const {
  if (!IsReal(signature_.dtype) || count_ == 0) return std::nullopt;
  return Summary{minimum_, maximum_, numbers_ > 0 ? sum_ / static_cast<double>(numbers_) : NAN, count_ - numbers_,
                 numbers_};
}

std::string Summariser::Text() const {
  std::string text = ToString(signature_);
  if (const auto summary = Get()) {
    if (summary->numbers > 0)
      text +=
          "   min " + Brief(summary->minimum) + " · max " + Brief(summary->maximum) + " · mean " + Brief(summary->mean);
    if (summary->not_numbers > 0) text += " · " + std::to_string(summary->not_numbers) + " NaN";
  }
  if (count_ > 0) text += "   ";
  for (std::size_t i = 0; i < std::min(count_, kShownElements); ++i) {
    if (i > 0) text += " ";
    text += ElementText(signature_.dtype, first_, i);
  }
  return text + (count_ > kShownElements ? " …" : "");
}

std::optional<Summary> Summarise(const Signature& signature, std::span<const std::byte> elements) {
  Summariser summariser(signature);
  summariser.Add(elements);
  return summariser.Get();
}

std::string SummaryText(const Signature& signature, std::span<const std::byte> elements) {
  Summariser summariser(signature);
  summariser.Add(elements);
  return summariser.Text();
}

}  // namespace hotplate::cli
