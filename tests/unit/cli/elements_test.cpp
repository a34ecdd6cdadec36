#include "client/cli/jobs/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace hotplate::cli {
namespace {

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Elements, TextReadsBackAsTheSameValue) {
  EXPECT_EQ(ElementText(DType::kFloat32, BytesOf(std::vector<float>{0.1f}), 0), "0.1");
  EXPECT_EQ(ElementText(DType::kFloat64, BytesOf(std::vector<double>{0.1, 1e-300}), 1), "1e-300");
  EXPECT_EQ(ElementText(DType::kInt64, BytesOf(std::vector<std::int64_t>{INT64_MIN}), 0), "-9223372036854775808");
  EXPECT_EQ(ElementText(DType::kUInt64, BytesOf(std::vector<std::uint64_t>{UINT64_MAX}), 0), "18446744073709551615");
  EXPECT_EQ(ElementText(DType::kBool, BytesOf(std::vector<std::uint8_t>{0, 1}), 1), "true");
  EXPECT_EQ(ElementText(DType::kComplex64, BytesOf(std::vector<float>{1.5f, -2.0f}), 0), "1.5-2j");
}

TEST(Elements, HalfPrecision) {
  const std::vector<std::uint16_t> half = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x7E00, 0x8000};
  EXPECT_EQ(ElementAsDouble(DType::kFloat16, BytesOf(half), 0), 1.0);
  EXPECT_EQ(ElementAsDouble(DType::kFloat16, BytesOf(half), 1), -2.0);
  EXPECT_EQ(ElementAsDouble(DType::kFloat16, BytesOf(half), 2), std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isinf(ElementAsDouble(DType::kFloat16, BytesOf(half), 3)));
  EXPECT_TRUE(std::isnan(ElementAsDouble(DType::kFloat16, BytesOf(half), 4)));
  EXPECT_TRUE(std::signbit(ElementAsDouble(DType::kFloat16, BytesOf(half), 5)));
  EXPECT_EQ(ElementAsDouble(DType::kBFloat16, BytesOf(std::vector<std::uint16_t>{0x3FC0}), 0), 1.5);
}

TEST(Elements, SummaryLeavesNaNOut) {
  const std::vector<float> values = {1, NAN, 3, -4};
  const auto summary = Summarise({DType::kFloat32, {4}}, BytesOf(values));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->minimum, -4);
  EXPECT_EQ(summary->maximum, 3);
  EXPECT_EQ(summary->mean, 0);
  EXPECT_EQ(summary->not_numbers, 1u);
  EXPECT_EQ(SummaryText({DType::kFloat32, {4}}, BytesOf(values)),
            "float32 [4]   min -4 · max 3 · mean 0 · 1 NaN   1 nan 3 -4");
}

TEST(Elements, ASummaryOfPiecesIsThatOfTheWhole) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 7 == 3 ? NAN : 1.0 / static_cast<double>(i + 1);
  const Signature signature{DType::kFloat64, {1000}};
  const auto bytes = BytesOf(values);
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, std::size_t{8}, std::size_t{4099}}) {
    Summariser summariser(signature);
    for (std::size_t at = 0; at < bytes.size(); at += step)
      summariser.Add(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
    EXPECT_EQ(summariser.Text(), SummaryText(signature, bytes)) << step;
  }
}

TEST(Elements, SummaryOfWhatHasNone) {
  EXPECT_EQ(SummaryText({DType::kFloat64, {0}}, {}), "float64 [0]");
  EXPECT_EQ(SummaryText({DType::kComplex64, {1}}, BytesOf(std::vector<float>{1, 2})), "complex64 [1]   1+2j");
  EXPECT_EQ(SummaryText({DType::kFloat32, {1}}, BytesOf(std::vector<float>{NAN})), "float32 [1] · 1 NaN   nan");
}

}  // namespace
}  // namespace hotplate::cli
