#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "kernels/array/shape.h"

namespace hotplate {
namespace {

TEST(DTypeTest, EveryNumberHasANameThatLeadsBack) {
  std::set<std::string_view> names;
  for (int number = 1; number <= kDTypeCount; ++number) {
    const std::optional<DType> dtype = DTypeFromNumber(number);
    ASSERT_TRUE(dtype) << number;
    EXPECT_EQ(static_cast<int>(*dtype), number);
    EXPECT_EQ(ParseDType(Name(*dtype)), dtype) << Name(*dtype);
    EXPECT_TRUE(names.insert(Name(*dtype)).second) << Name(*dtype);
  }
}

TEST(DTypeTest, NumbersAndNamesFromOutsideAreChecked) {
  for (const int number : {-1, 0, kDTypeCount + 1, 257, std::numeric_limits<int>::max()}) {
    EXPECT_FALSE(DTypeFromNumber(number)) << number;
  }
  for (const char* name : {"", "float", "Float32", "float32 ", "f4", "<f4"}) EXPECT_FALSE(ParseDType(name)) << name;
}

TEST(DTypeTest, SizesAreThoseOfTheNames) {
  const std::pair<const char*, std::size_t> sizes[] = {
      {"bool", 1},     {"int8", 1},    {"int16", 2},   {"int32", 4},     {"int64", 8},
      {"uint8", 1},    {"uint16", 2},  {"uint32", 4},  {"uint64", 8},    {"float16", 2},
      {"bfloat16", 2}, {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}};
  for (const auto& [name, size] : sizes) {
    ASSERT_TRUE(ParseDType(name)) << name;
    EXPECT_EQ(SizeOf(*ParseDType(name)), size) << name;
  }
  EXPECT_EQ(std::size(sizes), static_cast<std::size_t>(kDTypeCount));
}

TEST(DTypeTest, KindsAreDisjoint) {
  int floating = 0, integers = 0;
  for (int number = 1; number <= kDTypeCount; ++number) {
    const auto dtype = static_cast<DType>(number);
    floating += IsFloating(dtype);
    integers += IsInteger(dtype);
    EXPECT_FALSE(IsFloating(dtype) && IsInteger(dtype)) << Name(dtype);
    EXPECT_EQ(IsFloating(dtype), Name(dtype).find("float") != std::string_view::npos) << Name(dtype);
    EXPECT_EQ(IsInteger(dtype), Name(dtype).find("int") != std::string_view::npos) << Name(dtype);
  }
  EXPECT_EQ(floating, 4);
  EXPECT_EQ(integers, 8);
}

TEST(ShapeTest, IsShownAsAUserWritesIt) {
  EXPECT_EQ(ToString(Shape{}), "[]");
  EXPECT_EQ(ToString(Shape{1000}), "[1000]");
  EXPECT_EQ(ToString(Signature{DType::kFloat32, {3000, 2}}), "float32 [3000, 2]");
}

TEST(ShapeTest, CountsElementsAndBytes) {
  EXPECT_EQ(ElementCount(Shape{}), 1u);
  EXPECT_EQ(ElementCount(Shape{0}), 0u);
  EXPECT_EQ(ElementCount(Shape{3, 0, 4}), 0u);
  EXPECT_EQ(ElementCount(Shape{3, 5}), 15u);
  EXPECT_EQ(ByteSize({DType::kComplex128, {3, 5}}), 240u);
  EXPECT_EQ(ByteSize({DType::kFloat64, {}}), 8u);
}

TEST(ShapeTest, RefusesWhatCannotBeCounted) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_FALSE(ElementCount(Shape{-1}));
  EXPECT_FALSE(ElementCount(Shape{0, -1}));
  EXPECT_FALSE(ElementCount(Shape{std::numeric_limits<std::int64_t>::min()}));
  EXPECT_FALSE(ElementCount(Shape{kHuge, 4}));
  EXPECT_FALSE(ElementCount(Shape{0, kHuge, 4})) << "what is beside a 0 counts too";
  EXPECT_FALSE(ElementCount(Shape{kHuge, 4, 0}));
  EXPECT_FALSE(ElementCount(Shape(kMaxRank + 1, 1)));
  EXPECT_TRUE(ElementCount(Shape(kMaxRank, 1)));
  EXPECT_TRUE(ElementCount(Shape{kHuge}));
  EXPECT_FALSE(ByteSize({DType::kFloat64, {kHuge}}));
}

TEST(ShapeTest, BroadcastsAsNumPyDoes) {
  const Shape shapes[][3] = {{{}, {}, {}},
                             {{5}, {}, {5}},
                             {{1}, {}, {1}},
                             {{3, 1}, {4}, {3, 4}},
                             {{4}, {3, 1}, {3, 4}},
                             {{2, 1, 4}, {3, 1}, {2, 3, 4}},
                             {{0, 1}, {1, 7}, {0, 7}},
                             {{1}, {0}, {0}},
                             {{2, 3}, {2, 3}, {2, 3}}};
  for (const auto& [a, b, both] : shapes) EXPECT_EQ(BroadcastShape(a, b), both) << ToString(a) << ToString(b);
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{3}, {4}}, {{3, 4}, {4, 3}}, {{0}, {2}}, {{2, 3}, {2, 3, 1, 5}}}) {
    EXPECT_FALSE(BroadcastShape(a, b)) << ToString(a) << ToString(b);
  }
}

}  // namespace
}  // namespace hotplate
