// The same elements as when the file is read at once, whatever the order of the file, the pieces and the window.
#include "kernels/array/npy_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "tests/temporary_folder.h"

namespace hotplate {
namespace {

class NpyPiecesTest : public ::testing::Test {
 protected:
  // A file of this shape whose element at place i in the file has value i.
  std::string Write(DType dtype, const Shape& shape, bool fortran) {
    const std::size_t bytes = *ByteSize({dtype, shape});
    std::string header = NpyHeaderFor({dtype, shape});
    if (fortran) header.replace(header.find("False, "), 7, "True,  ");
    std::string data(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::size_t size = SizeOf(dtype), place = i / size, byte = i % size;
      data[i] = byte < 8 ? static_cast<char>(place >> (8 * byte)) : '\0';
    }
    return folder_.Write("a.npy", header + data);
  }

  NpyFile Open(const std::string& path) {
    auto opened = NpyFile::Open(path);
    if (const auto* error = std::get_if<NpyError>(&opened)) throw std::runtime_error(error->message);
    return std::get<NpyFile>(std::move(opened));
  }

  std::vector<std::byte> Whole(const std::string& path) {
    const NpyFile file = Open(path);
    std::vector<std::byte> bytes(*ByteSize(file.signature()));
    EXPECT_FALSE(file.Read(bytes));
    return bytes;
  }

  void Compare(const std::string& path, std::size_t window, std::size_t piece) {
    const std::vector<std::byte> whole = Whole(path);
    NpyPieces pieces(Open(path), window);
    std::vector<std::byte> read(whole.size());
    for (std::size_t at = 0; at < read.size(); at += piece) {
      const auto to = std::span(read).subspan(at, std::min(piece, read.size() - at));
      const auto error = pieces.Read(at, to);
      ASSERT_FALSE(error) << error->message;
    }
    EXPECT_EQ(read, whole) << ToString(pieces.signature()) << ", window " << window << ", pieces of " << piece;
  }

  TemporaryFolder folder_;
};

TEST_F(NpyPiecesTest, AreTheWholeInEveryShape) {
  const Shape shapes[] = {{}, {7}, {5, 7}, {7, 5}, {1, 9}, {9, 1}, {3, 4, 5}, {2, 1, 6, 3}, {4, 300}, {300, 4}};
  for (const bool fortran : {false, true}) {
    for (const DType dtype : {DType::kUInt8, DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kComplex128}) {
      for (const Shape& shape : shapes) {
        const std::string path = Write(dtype, shape, fortran);
        for (const std::size_t window : {1, 64, 700, 1 << 20})
          for (const std::size_t piece : {13, 64, 1 << 20}) Compare(path, window, piece);
      }
    }
  }
}

// Of sizes at which single runs are read, and several together; and at which a window is a part of one row.
TEST_F(NpyPiecesTest, AreTheWholeWhenTheFileIsLarge) {
  for (const Shape& shape :
       {Shape{3000, 700}, Shape{700, 3000}, Shape{9, 300'000}, Shape{300'000, 9}, Shape{40, 50, 900}}) {
    const std::string path = Write(DType::kFloat32, shape, true);
    for (const std::size_t window : {std::size_t{1} << 18, NpyPieces::kWindowBytes}) Compare(path, window, 2 << 20);
  }
}

TEST_F(NpyPiecesTest, MayBeReadAgain) {
  const std::string path = Write(DType::kFloat64, {40, 50}, true);
  const std::vector<std::byte> whole = Whole(path);
  NpyPieces pieces(Open(path), 1000);
  std::vector<std::byte> piece(777);
  for (const std::size_t at : {0, 5000, 15'223, 1, 15'223, 4096}) {
    ASSERT_FALSE(pieces.Read(at, piece));
    EXPECT_TRUE(std::ranges::equal(piece, std::span(whole).subspan(at, piece.size()))) << at;
  }
  const auto beyond = pieces.Read(15'224, piece);
  ASSERT_TRUE(beyond);
  EXPECT_THAT(beyond->message, ::testing::HasSubstr("16000"));
}

TEST_F(NpyPiecesTest, OfAFileThatChangesAreAnError) {
  for (const bool fortran : {false, true}) {
    const std::string path = Write(DType::kFloat32, {8, 9}, fortran);
    NpyPieces pieces(Open(path));
    std::vector<std::byte> bytes(288);
    EXPECT_FALSE(pieces.Read(0, bytes));
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
    const auto error = pieces.Read(0, bytes);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message, ::testing::HasSubstr("written to while it was read"));
  }
  const std::string path = Write(DType::kFloat32, {8, 9}, false);
  NpyPieces pieces(Open(path));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  std::vector<std::byte> bytes(288);
  EXPECT_TRUE(pieces.Read(0, bytes)) << "it became shorter";
}

}  // namespace
}  // namespace hotplate
