// Files as they come: whole, cut, and not files at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>

#include "kernels/array/npy.h"
#include "tests/temporary_folder.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

NpyError Refusal(const std::string& path) {
  auto opened = NpyFile::Open(path);
  if (std::holds_alternative<NpyFile>(opened)) {
    ADD_FAILURE() << path << " was accepted";
    return {};
  }
  return std::get<NpyError>(opened);
}

const Signature kSignature{DType::kInt32, {5, 7}};

std::string Content() {
  std::vector<std::int32_t> values(35);
  std::iota(values.begin(), values.end(), -3);
  return NpyHeaderFor(kSignature) + std::string(reinterpret_cast<const char*>(values.data()), 4 * values.size());
}

TEST(NpyFileTest, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  WriteText(folder.File("a.npy"), Content());
  auto opened = NpyFile::Open(folder.File("a.npy"));
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened)) << std::get<NpyError>(opened).message;
  const NpyFile file = std::get<NpyFile>(std::move(opened));
  EXPECT_EQ(file.signature(), kSignature);
  std::vector<std::int32_t> values(35);
  EXPECT_FALSE(file.Read(std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(values.front(), -3);
  EXPECT_EQ(values.back(), 31);
}

TEST(NpyFileTest, WhatFollowsTheArrayIsLeftAlone) {
  const TemporaryFolder folder;
  WriteText(folder.File("a.npy"), Content() + "another array");
  EXPECT_TRUE(std::holds_alternative<NpyFile>(NpyFile::Open(folder.File("a.npy"))));
}

TEST(NpyFileTest, AHeaderLongerThanTheFirstReadIsFine) {
  const TemporaryFolder folder;
  std::string dict = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  dict.resize(20'000, ' ');
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(dict.size() & 0xff);
  file += static_cast<char>(dict.size() >> 8);
  WriteText(folder.File("a.npy"), file + dict + "abc");
  auto opened = NpyFile::Open(folder.File("a.npy"));
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened)) << std::get<NpyError>(opened).message;
  std::string values(3, ' ');
  EXPECT_FALSE(std::get<NpyFile>(opened).Read(std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(values, "abc");
}

TEST(NpyFileTest, EveryCutIsRefused) {
  const TemporaryFolder folder;
  const std::string content = Content();
  for (std::size_t length = 0; length < content.size(); ++length) {
    WriteText(folder.File("a.npy"), content.substr(0, length));
    const NpyError error = Refusal(folder.File("a.npy"));
    EXPECT_THAT(error.message, ::testing::AnyOf(HasSubstr("truncated"), HasSubstr("empty"))) << length;
    if (length >= 128) {
      EXPECT_THAT(error.message, AllOf(HasSubstr("int32 [5, 7]"), HasSubstr(std::to_string(content.size())),
                                       HasSubstr("it has " + std::to_string(length))));
    }
  }
}

TEST(NpyFileTest, AFileThatShrinksMeanwhileIsAnErrorNotACrash) {
  const TemporaryFolder folder;
  for (const bool fortran : {false, true}) {
    std::string content = Content();
    if (fortran) content.replace(content.find("False,"), 6, "True, ");
    WriteText(folder.File("a.npy"), content);
    auto opened = NpyFile::Open(folder.File("a.npy"));
    ASSERT_TRUE(std::holds_alternative<NpyFile>(opened));
    ASSERT_EQ(truncate(folder.File("a.npy").c_str(), 150), 0);
    std::vector<std::int32_t> values(35);
    const auto error = std::get<NpyFile>(opened).Read(std::as_writable_bytes(std::span(values)));
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message, AllOf(HasSubstr("shorter"), HasSubstr("150")));
  }
}

TEST(NpyFileTest, AReadCanBeStoppedBetweenPieces) {
  constexpr std::int64_t kSide = 4096;  // 64 MiB of int32
  constexpr std::size_t kBytes = kSide * kSide * 4;
  const TemporaryFolder folder;
  std::string c_order = NpyHeaderFor({DType::kInt32, {kSide, kSide}}), fortran = c_order;
  fortran.replace(fortran.find("False, "), 7, "True,  ");
  for (const std::string& header : {c_order, fortran}) {
    WriteText(folder.File("a.npy"), header);
    ASSERT_EQ(truncate(folder.File("a.npy").c_str(), static_cast<off_t>(header.size() + kBytes)), 0);
    auto opened = NpyFile::Open(folder.File("a.npy"));
    ASSERT_TRUE(std::holds_alternative<NpyFile>(opened)) << std::get<NpyError>(opened).message;
    const NpyFile file = std::get<NpyFile>(std::move(opened));
    std::vector<std::byte> values(kBytes, std::byte{1});
    int asked = 0;
    const auto error = file.Read(values, [&asked] { return ++asked == 3; });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->system_error, ECANCELED);
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(values.front(), std::byte{0}) << "read before it was stopped";
    EXPECT_EQ(values.back(), std::byte{1}) << "never reached";
    EXPECT_FALSE(file.Read(values, [] { return false; }));
  }
}

TEST(NpyFileTest, RoomOfAnotherSizeIsRefused) {
  const TemporaryFolder folder;
  WriteText(folder.File("a.npy"), Content());
  auto opened = NpyFile::Open(folder.File("a.npy"));
  ASSERT_TRUE(std::holds_alternative<NpyFile>(opened));
  std::vector<std::byte> room(139);
  const auto error = std::get<NpyFile>(opened).Read(room);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, AllOf(HasSubstr("140"), HasSubstr("139")));
}

TEST(NpyFileTest, AMovedFileStillReads) {
  const TemporaryFolder folder;
  WriteText(folder.File("a.npy"), Content());
  WriteText(folder.File("b.npy"), NpyHeaderFor({DType::kUInt8, {1}}) + "x");
  auto first = NpyFile::Open(folder.File("a.npy")), second = NpyFile::Open(folder.File("b.npy"));
  ASSERT_TRUE(std::holds_alternative<NpyFile>(first) && std::holds_alternative<NpyFile>(second));
  std::get<NpyFile>(second) = std::get<NpyFile>(std::move(first));
  EXPECT_EQ(std::get<NpyFile>(second).signature(), kSignature);
  std::vector<std::byte> room(140);
  EXPECT_FALSE(std::get<NpyFile>(second).Read(room));
}

TEST(NpyFileTest, NothingThereIsASystemError) {
  const TemporaryFolder folder;
  const NpyError error = Refusal(folder.File("none.npy"));
  EXPECT_EQ(error.system_error, ENOENT);
  EXPECT_THAT(error.message, HasSubstr("No such file"));
  EXPECT_EQ(Refusal("").system_error, ENOENT);
}

TEST(NpyFileTest, AFolderIsNoFile) {
  const TemporaryFolder folder;
  const NpyError error = Refusal(folder.path());
  EXPECT_EQ(error.system_error, EISDIR);
  EXPECT_THAT(error.message, HasSubstr("folder"));
}

// Opening it the ordinary way would wait for a writer for ever.
TEST(NpyFileTest, APipeIsNoFileAndDoesNotHang) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.File("pipe.npy").c_str(), 0600), 0);
  const NpyError error = Refusal(folder.File("pipe.npy"));
  EXPECT_NE(error.system_error, 0);
  EXPECT_THAT(error.message, HasSubstr("pipe"));
}

TEST(NpyFileTest, ADeviceIsNoFile) { EXPECT_THAT(Refusal("/dev/zero").message, HasSubstr("device")); }

}  // namespace
}  // namespace hotplate
