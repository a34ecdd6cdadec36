#include "client/cli/terminal/format.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hotplate/v1/jobs.pb.h"

namespace hotplate::cli {
namespace {

TEST(Format, Rates) {
  EXPECT_EQ(ByteRate(2.1e9), "2.1 GB/s");
  EXPECT_EQ(FlopRate(45e12), "45.0 TFLOP/s");
}

TEST(Format, NumbersReadBackAsThemselves) {
  EXPECT_EQ(Number(1.67), "1.67");
  EXPECT_EQ(Number(1e6), "1e6");
  EXPECT_EQ(Number(-1e-7), "-1e-7");
  EXPECT_EQ(Number(1e300), "1e300");
  EXPECT_EQ(Number(1e-10), "1e-10");
  EXPECT_EQ(Number32(0.1f), "0.1");
  for (const double value : {1e100, 5e-324, 1.7976931348623157e308, -2.5e-9})
    EXPECT_EQ(ParseNumber(Number(value)), value);
}

TEST(Format, ParseInteger) {
  EXPECT_EQ(ParseInteger("42"), 42);
  EXPECT_EQ(ParseInteger("-7"), -7);
  EXPECT_EQ(ParseInteger("+7"), 7);
  EXPECT_EQ(ParseInteger("1e6"), 1'000'000);
  EXPECT_EQ(ParseInteger("9223372036854775807"), 9223372036854775807LL);
  for (const char* bad : {"", "x", "1.5", "1.0", "9223372036854775808", "1e300", "1e-1", "nan", "0x10", "7 ", "+-7"})
    EXPECT_EQ(ParseInteger(bad), std::nullopt) << bad;
}

TEST(Format, ParseNumber) {
  EXPECT_EQ(ParseNumber("-2"), -2.0);
  EXPECT_EQ(ParseNumber("1.67"), 1.67);
  EXPECT_EQ(ParseNumber("1e-3"), 1e-3);
  EXPECT_TRUE(std::isnan(*ParseNumber("nan")));
  EXPECT_TRUE(std::isinf(*ParseNumber("1e999")));  // refused by its name where it is used
  for (const char* bad : {"", "x", "1.5x", "1,5", "--1"}) EXPECT_EQ(ParseNumber(bad), std::nullopt) << bad;
}

TEST(Format, SignaturesOfTheWire) {
  v1::Signature signature;
  signature.set_dtype(v1::DTYPE_FLOAT32);
  signature.add_shape(3000);
  signature.add_shape(3000);
  EXPECT_EQ(Describe(signature), "float32 [3000, 3000]");
  v1::NamedSignature output;
  *output.mutable_signature() = signature;
  EXPECT_EQ(Describe(output), "float32 [3000, 3000]");
  output.set_at_most(true);
  EXPECT_EQ(Describe(output), "float32 [at most 3000, 3000]");
  ASSERT_TRUE(FromWire(signature));
  EXPECT_EQ(FromWire(signature)->shape, (Shape{3000, 3000}));
  signature.add_shape(-1);
  EXPECT_FALSE(FromWire(signature));
  signature.set_dtype(static_cast<v1::DType>(99));
  EXPECT_EQ(Describe(signature), "dtype 99 [3000, 3000, -1]");
}

}  // namespace
}  // namespace hotplate::cli
