// Pictures, read back with libpng.
#include "client/cli/jobs/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using Pixel = std::array<png_byte, 3>;

struct Decoded {
  std::uint32_t width = 0, height = 0;
  std::vector<Pixel> pixels;
};

// The file, of elements that come in pieces of seven bytes; empty where it fails.
std::string Encode(const Signature& signature, std::span<const std::byte> elements) {
  const TemporaryFolder folder;
  auto begun = Picture::Begin(signature, folder.path());
  if (!std::holds_alternative<Picture>(begun)) return "";
  EXPECT_TRUE(folder.Names().empty()) << "nothing is left of a command that is killed";
  Picture& picture = std::get<Picture>(begun);
  for (; !elements.empty(); elements = elements.subspan(std::min<std::size_t>(7, elements.size())))
    EXPECT_FALSE(picture.Add(elements.first(std::min<std::size_t>(7, elements.size()))));
  std::string file;
  const auto error = picture.Draw([&](std::span<const std::byte> piece) -> std::optional<NpyError> {
    file.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return std::nullopt;
  });
  return error ? "" : file;
}

template <typename T>
Decoded Draw(DType dtype, Shape shape, const std::vector<T>& values) {
  const std::string file = Encode({dtype, std::move(shape)}, std::as_bytes(std::span(values)));
  Decoded decoded;
  if (file.empty()) return decoded;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  decoded.width = image.width;
  decoded.height = image.height;
  decoded.pixels.resize(std::size_t{image.width} * image.height);
  EXPECT_NE(png_image_finish_read(&image, nullptr, decoded.pixels.data(), 0, nullptr), 0) << image.message;
  return decoded;
}

constexpr Pixel kBlack = {0, 0, 0}, kGrey = {128, 128, 128};

TEST(Picture, RowsAndColumnsAreWhereTheArrayHasThem) {
  const Decoded picture = Draw<std::int32_t>(DType::kInt32, {2, 3}, {1, 2, 3, 4, 5, 100});
  EXPECT_EQ(picture.width, 3u);
  EXPECT_EQ(picture.height, 2u);
  EXPECT_EQ(picture.pixels[5], kBlack);  // the largest: last row, last column
  EXPECT_EQ(std::set<Pixel>(picture.pixels.begin(), picture.pixels.end()).size(), 6u);
}

TEST(Picture, CountsThatCrowdAtTheLowEndStillDiffer) {
  // As mandelbrot's: nearly all of them tiny, some at the bound. On a linear scale they would be one colour.
  std::vector<std::int32_t> counts;
  for (int i = 0; i < 100; ++i) counts.push_back(1 + i % 10);
  for (int i = 0; i < 100; ++i) counts.push_back(1'000'000);
  const Decoded picture = Draw<std::int32_t>(DType::kInt32, {20, 10}, counts);
  const std::set<Pixel> outside(picture.pixels.begin(), picture.pixels.begin() + 100);
  EXPECT_GE(outside.size(), 9u);
  EXPECT_EQ(outside.count(kBlack), 0u);
  EXPECT_EQ(picture.pixels[150], kBlack);
}

TEST(Picture, FloatsAreLinearAndNaNIsGrey) {
  const Decoded picture = Draw<double>(DType::kFloat64, {1, 5}, {-1e308, NAN, 1e308, INFINITY, -INFINITY});
  EXPECT_EQ(picture.pixels[1], kGrey);
  EXPECT_NE(picture.pixels[0], picture.pixels[2]);
  EXPECT_EQ(picture.pixels[3], picture.pixels[2]);
  EXPECT_EQ(picture.pixels[4], picture.pixels[0]);
}

TEST(Picture, OneValueOnlyAndOnePixel) {
  EXPECT_EQ(Draw<std::uint8_t>(DType::kUInt8, {2, 2}, {7, 7, 7, 7}).pixels.size(), 4u);
  EXPECT_EQ(Draw<float>(DType::kFloat32, {1, 1}, {NAN}).pixels[0], kGrey);
  EXPECT_EQ(Draw<std::int64_t>(DType::kInt64, {1, 2}, {INT64_MIN, INT64_MAX}).pixels[1], kBlack);
}

TEST(Picture, WhatCannotBeOneIsSaid) {
  EXPECT_THAT(*WhyNoPicture({DType::kFloat32, {5}}), testing::HasSubstr("this is float32 [5]"));
  EXPECT_TRUE(WhyNoPicture({DType::kFloat32, {2, 2, 2}}));
  EXPECT_TRUE(WhyNoPicture({DType::kComplex64, {2, 2}}));
  EXPECT_TRUE(WhyNoPicture({DType::kFloat32, {0, 2}}));
  EXPECT_TRUE(WhyNoPicture({DType::kFloat32, {100'000, 2}}));
  EXPECT_FALSE(WhyNoPicture({DType::kInt32, {1000, 1000}}));
  const std::vector<float> too_few(3);
  EXPECT_EQ(Encode({DType::kFloat32, {2, 2}}, std::as_bytes(std::span(too_few))), "");
}

TEST(Picture, AFileThatCannotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  EXPECT_TRUE(std::holds_alternative<NpyError>(Picture::Begin({DType::kUInt8, {1, 1}}, folder.File("no"))));
  auto begun = Picture::Begin({DType::kUInt8, {1, 1}}, folder.path());
  ASSERT_TRUE(std::holds_alternative<Picture>(begun));
  const std::byte element{7};
  EXPECT_FALSE(std::get<Picture>(begun).Add({&element, 1}));
  const auto error = std::get<Picture>(begun).Draw([](std::span<const std::byte>) { return SystemError("m", ENOSPC); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, testing::HasSubstr("No space left"));
}

}  // namespace
}  // namespace hotplate::cli
