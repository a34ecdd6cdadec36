// The hand-written chunk messages against the generated classes.
#include "client/lib/chunk_codec.h"

#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>

#include "hotplate/v1/arrays.pb.h"

namespace hotplate::client {
namespace {

std::vector<std::byte> Bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  return bytes;
}

std::string Flat(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

// `text` in slices of 1, 2, 3, … bytes, as a network might cut it.
grpc::ByteBuffer Cut(const std::string& text) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0, size = 1; at < text.size(); at += size++) slices.emplace_back(text.substr(at, size));
  return {slices.data(), slices.size()};
}

TEST(ChunkCodecTest, WritesWhatTheGeneratedClassReads) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 5000u, 2u << 20}) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 45}) {
      const std::vector<std::byte> data = Bytes(size);
      Borrowed borrowed;
      v1::WriteArrayRequest request;
      ASSERT_TRUE(request.ParseFromString(Flat(EncodeWrite("a17", offset, data, borrowed))));
      EXPECT_EQ(request.array_id(), "a17");
      EXPECT_EQ(request.offset(), offset);
      ASSERT_EQ(request.data().size(), size);
      EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(request.data())), data));
      EXPECT_FALSE(borrowed.any());
    }
  }
}

TEST(ChunkCodecTest, RefersToTheCallersMemoryUntilItIsGivenBack) {
  std::vector<std::byte> data = Bytes(100'000);
  Borrowed borrowed;
  {
    const grpc::ByteBuffer buffer = EncodeWrite("", 0, data, borrowed);
    EXPECT_TRUE(borrowed.any());
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(buffer.Dump(&slices).ok());
    EXPECT_EQ(static_cast<const void*>(slices.back().begin()), data.data());
  }
  EXPECT_FALSE(borrowed.any());
}

TEST(ChunkCodecTest, ReadsWhatTheGeneratedClassWrites) {
  const std::vector<std::byte> data = Bytes(3000);
  for (const std::uint64_t offset : {0u, 1u, 200u}) {
    v1::ReadArrayResponse response;
    response.set_offset(offset);
    response.set_data(data.data(), data.size());
    std::vector<std::byte> array(offset + data.size() + 5);
    const auto copied = DecodeRead(Cut(response.SerializeAsString()), offset, array);
    ASSERT_TRUE(copied.ok()) << copied.status();
    EXPECT_EQ(*copied, data.size());
    EXPECT_TRUE(std::equal(data.begin(), data.end(), array.begin() + static_cast<std::ptrdiff_t>(offset)));
    EXPECT_EQ(array.back(), std::byte{0});
  }
}

TEST(ChunkCodecTest, SkipsFieldsOfANewerDaemon) {
  v1::ReadArrayResponse response;
  response.set_data("xyz");
  // Field 9 as a varint, field 10 with a length, field 11 of 8 bytes, field 12 of 4 bytes.
  const std::string more = std::string("\x48\x96\x01") +
                           "\x52\x03"
                           "abc" +
                           "\x59" + std::string(8, 'e') + "\x65" + std::string(4, 'f');
  std::vector<std::byte> array(3);
  const auto copied = DecodeRead(Cut(more + response.SerializeAsString()), 0, array);
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(*copied, 3u);
}

TEST(ChunkCodecTest, AnEmptyMessageIsNoProgress) {
  std::vector<std::byte> array(3);
  EXPECT_EQ(*DecodeRead(Cut(""), 0, array), 0u);
}

TEST(ChunkCodecTest, RefusesWhatDoesNotFit) {
  v1::ReadArrayResponse response;
  response.set_offset(2);
  response.set_data("0123456789");
  std::vector<std::byte> array(11);
  EXPECT_FALSE(DecodeRead(Cut(response.SerializeAsString()), 2, array).ok()) << "one byte too long";
  array.resize(12);
  EXPECT_TRUE(DecodeRead(Cut(response.SerializeAsString()), 2, array).ok());
  EXPECT_FALSE(DecodeRead(Cut(response.SerializeAsString()), 3, array).ok()) << "a gap";
  response.set_offset(UINT64_MAX - 3);
  EXPECT_FALSE(DecodeRead(Cut(response.SerializeAsString()), UINT64_MAX - 3, array).ok()) << "the sum overflows";
}

TEST(ChunkCodecTest, NoCutAndNoFlippedByteDoesHarm) {
  v1::ReadArrayResponse response;
  response.set_offset(300);
  response.set_data(std::string(400, 'd'));
  const std::string whole = response.SerializeAsString();
  std::vector<std::byte> array(1000);
  for (std::size_t length = 1; length < whole.size(); ++length) {
    // Cut behind the offset, what is left is a message without data.
    const auto copied = DecodeRead(Cut(whole.substr(0, length)), 300, array);
    EXPECT_TRUE(!copied.ok() || *copied == 0) << length;
  }
  std::minstd_rand random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole.substr(0, 40);
    for (int n = 0; n < 3; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto copied = DecodeRead(Cut(damaged), 300, array);
    EXPECT_TRUE(!copied.ok() || *copied <= 700);
  }
}

}  // namespace
}  // namespace hotplate::client
