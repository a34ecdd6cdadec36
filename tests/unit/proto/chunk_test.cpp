// Chunks by hand against the generated classes, in both directions.
#include "proto/codec/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

#include "hotplate/v1/arrays.pb.h"

namespace hotplate::codec {
namespace {

// The bytes cut into slices of `piece` bytes (the last one shorter).
grpc::ByteBuffer Sliced(const std::string& bytes, std::size_t piece) {
  std::vector<grpc::Slice> slices;
  for (std::size_t start = 0; start < bytes.size(); start += piece) slices.emplace_back(bytes.substr(start, piece));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

std::vector<std::byte> Numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 3);
  return bytes;
}

// `text` in slices of 1, 2, 3, … bytes, as a network might cut it.
grpc::ByteBuffer Cut(const std::string& text) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0, size = 1; at < text.size(); at += size++) slices.emplace_back(text.substr(at, size));
  return {slices.data(), slices.size()};
}

std::string DataOf(const Chunk& chunk) {
  std::string data(chunk.data_size(), '\0');
  chunk.CopyData(std::as_writable_bytes(std::span(data)));
  return data;
}

TEST(ParseWriteTest, ReadsWhatTheGeneratedCodeWritesHoweverItIsSliced) {
  v1::WriteArrayRequest request;
  request.set_array_id("a17");
  request.set_offset(0x123456789ABCDEFull);
  for (int i = 0; i < 1000; ++i) request.mutable_data()->push_back(static_cast<char>(i * 7));
  const std::string bytes = request.SerializeAsString();
  Chunk chunk;
  for (std::size_t piece : {1ul, 2ul, 3ul, 7ul, 100ul, bytes.size()}) {
    ASSERT_TRUE(chunk.ParseWrite(Sliced(bytes, piece)).ok()) << piece;
    EXPECT_EQ(chunk.array_id(), "a17");
    EXPECT_EQ(chunk.offset(), request.offset());
    EXPECT_EQ(DataOf(chunk), request.data());
  }
}

TEST(ParseWriteTest, AnEmptyMessageHasNothing) {
  Chunk chunk;
  ASSERT_TRUE(chunk.ParseWrite(grpc::ByteBuffer()).ok());
  EXPECT_EQ(chunk.data_size(), 0u);
  EXPECT_EQ(chunk.array_id(), "");
}

TEST(ParseWriteTest, TheLastOfARepeatedFieldWinsAndUnknownOnesAreSkipped) {
  v1::WriteArrayRequest first, second;
  first.set_array_id("x");
  first.set_offset(1);
  first.set_data("aaaa");
  second.set_array_id("y");
  second.set_offset(2);
  second.set_data("bb");
  const std::string unknown("\x18\x05\x25zzzz\x29zzzzzzzz\x32\x03zzz", 21);  // fields 3 to 6 of each wire type
  Chunk chunk;
  ASSERT_TRUE(chunk.ParseWrite(Sliced(first.SerializeAsString() + unknown + second.SerializeAsString(), 3)).ok());
  EXPECT_EQ(chunk.array_id(), "y");
  EXPECT_EQ(chunk.offset(), 2u);
  EXPECT_EQ(DataOf(chunk), "bb");
}

TEST(ParseWriteTest, NothingStaysFromTheMessageBefore) {
  v1::WriteArrayRequest request;
  request.set_array_id("x");
  request.set_data("abc");
  Chunk chunk;
  ASSERT_TRUE(chunk.ParseWrite(Sliced(request.SerializeAsString(), 2)).ok());
  ASSERT_TRUE(chunk.ParseWrite(grpc::ByteBuffer()).ok());
  EXPECT_EQ(chunk.array_id(), "");
  EXPECT_EQ(chunk.data_size(), 0u);
}

TEST(ParseWriteTest, MalformedBytesAreRefused) {
  const std::vector<std::string> bad = {
      "\x0A",      // a length that is missing
      ("\x0A\x05"  // a string that is cut off
       "ab"),
      "\x10",                                              // a varint that is missing
      "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",  // one that never ends
      "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02",      // one of more than 64 bits
      "\x7A\xFF\xFF\xFF\xFF\x0F",                          // data of 4 GiB
      "\x7A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",      // data of 2^64 - 1 bytes
      std::string("\x00", 1),                              // field 0
      "\x0B",                                              // a group
      "\x0F",                                              // wire type 7
      "\x25zz",                                            // four bytes that are two
      "\x29zzz",
  };
  Chunk chunk;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    for (std::size_t piece : {1ul, 100ul}) {
      EXPECT_EQ(chunk.ParseWrite(Sliced(bad[i], piece)).code(), absl::StatusCode::kInvalidArgument) << i;
    }
  }
  // A field of another wire type than the proto's is an unknown one.
  EXPECT_TRUE(chunk.ParseWrite(Sliced("\x08\x01", 1)).ok());
}

TEST(ParseWriteTest, LimitsOfIdAndData) {
  v1::WriteArrayRequest request;
  request.set_array_id(std::string(129, 'x'));
  Chunk chunk;
  EXPECT_FALSE(chunk.ParseWrite(Sliced(request.SerializeAsString(), 50)).ok());
  request.set_array_id(std::string(128, 'x'));
  request.set_data(std::string(kMaxChunkBytes, 'd'));
  EXPECT_TRUE(chunk.ParseWrite(Sliced(request.SerializeAsString(), 1 << 20)).ok());
  EXPECT_EQ(chunk.data_size(), kMaxChunkBytes);
  request.mutable_data()->push_back('d');
  EXPECT_FALSE(chunk.ParseWrite(Sliced(request.SerializeAsString(), 1 << 20)).ok());
}

// What the parser accepts, the generated code reads the same way; it never reads outside (under the sanitizers).
TEST(ParseWriteTest, AgreesWithTheGeneratedCodeOnMutatedMessages) {
  std::mt19937 random(20261);
  v1::WriteArrayRequest request;
  request.set_array_id("a1");
  request.set_offset(300);
  request.set_data("0123456789");
  const std::string good = request.SerializeAsString();
  Chunk chunk;
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = good;
    for (std::uint32_t change = random() % 3 + 1; change > 0 && !bytes.empty(); --change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 4 + 1);
          break;
        default:
          bytes.insert(at, 1, static_cast<char>(random()));
      }
    }
    if (!chunk.ParseWrite(Sliced(bytes, random() % 8 + 1)).ok()) continue;
    v1::WriteArrayRequest reference;
    ASSERT_TRUE(reference.ParseFromString(bytes));
    ++accepted;
    EXPECT_EQ(chunk.array_id(), reference.array_id());
    EXPECT_EQ(chunk.offset(), reference.offset());
    EXPECT_EQ(DataOf(chunk), reference.data());
  }
  EXPECT_GT(accepted, 1000);
}

TEST(EncodeReadTest, IsWhatTheGeneratedCodeReads) {
  const std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(5000);
  for (std::size_t i = 0; i < buffer->size(); ++i) buffer->data()[i] = static_cast<std::byte>(i * 31);
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::size_t>>{
           {0, 5000}, {0, 1}, {1, 1}, {127, 128}, {128, 300}, {4999, 1}, {5000, 0}, {0, 0}}) {
    v1::ReadArrayResponse response;
    ASSERT_TRUE(response.ParseFromString(BytesOf(EncodeRead(buffer, offset, length))));
    EXPECT_EQ(response.offset(), offset);
    ASSERT_EQ(response.data().size(), length);
    EXPECT_EQ(std::memcmp(response.data().data(), buffer->data() + offset, length), 0);
  }
}

TEST(EncodeReadTest, TheMessageHoldsTheArraysMemoryAndCopiesNothing) {
  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(1 << 20);
  std::fill(buffer->bytes().begin(), buffer->bytes().end(), std::byte{42});
  const std::weak_ptr<HostBuffer> alive = buffer;
  const std::byte* memory = buffer->data();
  {
    const grpc::ByteBuffer message = EncodeRead(std::move(buffer), 0, 1 << 20);
    EXPECT_FALSE(alive.expired());
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(message.Dump(&slices).ok());
    ASSERT_EQ(slices.size(), 2u);
    EXPECT_EQ(reinterpret_cast<const std::byte*>(slices[1].begin()), memory);
  }
  EXPECT_TRUE(alive.expired());
}

TEST(EncodeWriteTest, WritesWhatTheGeneratedClassReads) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 5000u, 2u << 20}) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 45}) {
      const std::vector<std::byte> data = Numbered(size);
      Borrowed borrowed;
      v1::WriteArrayRequest request;
      ASSERT_TRUE(request.ParseFromString(BytesOf(EncodeWrite("a17", offset, data, borrowed))));
      EXPECT_EQ(request.array_id(), "a17");
      EXPECT_EQ(request.offset(), offset);
      ASSERT_EQ(request.data().size(), size);
      EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(request.data())), data));
      EXPECT_FALSE(borrowed.any());
    }
  }
}

TEST(EncodeWriteTest, RefersToTheCallersMemoryUntilItIsGivenBack) {
  std::vector<std::byte> data = Numbered(100'000);
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

TEST(DecodeReadTest, ReadsWhatTheGeneratedClassWrites) {
  const std::vector<std::byte> data = Numbered(3000);
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

TEST(DecodeReadTest, SkipsFieldsOfANewerDaemon) {
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

TEST(DecodeReadTest, AnEmptyMessageIsNoProgress) {
  std::vector<std::byte> array(3);
  EXPECT_EQ(*DecodeRead(Cut(""), 0, array), 0u);
}

TEST(DecodeReadTest, RefusesWhatDoesNotFit) {
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

TEST(DecodeReadTest, NoCutAndNoFlippedByteDoesHarm) {
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

// What one side writes, the other reads.
TEST(ChunkTest, BothDirectionsAgree) {
  const std::vector<std::byte> data = Numbered(70'000);
  Borrowed borrowed;
  Chunk chunk;
  ASSERT_TRUE(chunk.ParseWrite(EncodeWrite("a17", 5, data, borrowed)).ok());
  EXPECT_EQ(chunk.array_id(), "a17");
  EXPECT_EQ(chunk.offset(), 5u);
  std::vector<std::byte> there(chunk.data_size());
  chunk.CopyData(there);
  EXPECT_EQ(there, data);

  const std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(data.size());
  std::ranges::copy(data, buffer->data());
  std::vector<std::byte> back(data.size() - 5);
  const auto copied = DecodeRead(EncodeRead(buffer, 5, back.size()), 5, back, 5);
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_TRUE(std::ranges::equal(back, std::span(data).subspan(5)));
}

}  // namespace
}  // namespace hotplate::codec
