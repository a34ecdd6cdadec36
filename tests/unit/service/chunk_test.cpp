#include "server/wire/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "hotplate/v1/arrays.pb.h"

namespace hotplate::wire {
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

std::string DataOf(const WriteChunk& chunk) {
  std::string data(chunk.data_size(), '\0');
  chunk.CopyData(std::as_writable_bytes(std::span(data)));
  return data;
}

TEST(WriteChunkTest, ReadsWhatTheGeneratedCodeWritesHoweverItIsSliced) {
  v1::WriteArrayRequest request;
  request.set_array_id("a17");
  request.set_offset(0x123456789ABCDEFull);
  for (int i = 0; i < 1000; ++i) request.mutable_data()->push_back(static_cast<char>(i * 7));
  const std::string bytes = request.SerializeAsString();
  WriteChunk chunk;
  for (std::size_t piece : {1ul, 2ul, 3ul, 7ul, 100ul, bytes.size()}) {
    ASSERT_TRUE(chunk.Parse(Sliced(bytes, piece)).ok()) << piece;
    EXPECT_EQ(chunk.array_id(), "a17");
    EXPECT_EQ(chunk.offset(), request.offset());
    EXPECT_EQ(DataOf(chunk), request.data());
  }
}

TEST(WriteChunkTest, AnEmptyMessageHasNothing) {
  WriteChunk chunk;
  ASSERT_TRUE(chunk.Parse(grpc::ByteBuffer()).ok());
  EXPECT_EQ(chunk.data_size(), 0u);
  EXPECT_EQ(chunk.array_id(), "");
}

TEST(WriteChunkTest, TheLastOfARepeatedFieldWinsAndUnknownOnesAreSkipped) {
  v1::WriteArrayRequest first, second;
  first.set_array_id("x");
  first.set_offset(1);
  first.set_data("aaaa");
  second.set_array_id("y");
  second.set_offset(2);
  second.set_data("bb");
  const std::string unknown("\x18\x05\x25zzzz\x29zzzzzzzz\x32\x03zzz", 21);  // fields 3 to 6 of each wire type
  WriteChunk chunk;
  ASSERT_TRUE(chunk.Parse(Sliced(first.SerializeAsString() + unknown + second.SerializeAsString(), 3)).ok());
  EXPECT_EQ(chunk.array_id(), "y");
  EXPECT_EQ(chunk.offset(), 2u);
  EXPECT_EQ(DataOf(chunk), "bb");
}

TEST(WriteChunkTest, NothingStaysFromTheMessageBefore) {
  v1::WriteArrayRequest request;
  request.set_array_id("x");
  request.set_data("abc");
  WriteChunk chunk;
  ASSERT_TRUE(chunk.Parse(Sliced(request.SerializeAsString(), 2)).ok());
  ASSERT_TRUE(chunk.Parse(grpc::ByteBuffer()).ok());
  EXPECT_EQ(chunk.array_id(), "");
  EXPECT_EQ(chunk.data_size(), 0u);
}

TEST(WriteChunkTest, MalformedBytesAreRefused) {
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
  WriteChunk chunk;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    for (std::size_t piece : {1ul, 100ul}) {
      EXPECT_EQ(chunk.Parse(Sliced(bad[i], piece)).code(), absl::StatusCode::kInvalidArgument) << i;
    }
  }
  // A field of another wire type than the proto's is an unknown one.
  EXPECT_TRUE(chunk.Parse(Sliced("\x08\x01", 1)).ok());
}

TEST(WriteChunkTest, LimitsOfIdAndData) {
  v1::WriteArrayRequest request;
  request.set_array_id(std::string(129, 'x'));
  WriteChunk chunk;
  EXPECT_FALSE(chunk.Parse(Sliced(request.SerializeAsString(), 50)).ok());
  request.set_array_id(std::string(128, 'x'));
  request.set_data(std::string(kMaxChunkBytes, 'd'));
  EXPECT_TRUE(chunk.Parse(Sliced(request.SerializeAsString(), 1 << 20)).ok());
  EXPECT_EQ(chunk.data_size(), kMaxChunkBytes);
  request.mutable_data()->push_back('d');
  EXPECT_FALSE(chunk.Parse(Sliced(request.SerializeAsString(), 1 << 20)).ok());
}

// What the parser accepts, the generated code reads the same way; it never reads outside (under the sanitizers).
TEST(WriteChunkTest, AgreesWithTheGeneratedCodeOnMutatedMessages) {
  std::mt19937 random(20261);
  v1::WriteArrayRequest request;
  request.set_array_id("a1");
  request.set_offset(300);
  request.set_data("0123456789");
  const std::string good = request.SerializeAsString();
  WriteChunk chunk;
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
    if (!chunk.Parse(Sliced(bytes, random() % 8 + 1)).ok()) continue;
    v1::WriteArrayRequest reference;
    ASSERT_TRUE(reference.ParseFromString(bytes));
    ++accepted;
    EXPECT_EQ(chunk.array_id(), reference.array_id());
    EXPECT_EQ(chunk.offset(), reference.offset());
    EXPECT_EQ(DataOf(chunk), reference.data());
  }
  EXPECT_GT(accepted, 1000);
}

TEST(ReadChunkTest, IsWhatTheGeneratedCodeReads) {
  const std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(5000);
  for (std::size_t i = 0; i < buffer->size(); ++i) buffer->data()[i] = static_cast<std::byte>(i * 31);
  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::size_t>>{
           {0, 5000}, {0, 1}, {1, 1}, {127, 128}, {128, 300}, {4999, 1}, {5000, 0}, {0, 0}}) {
    v1::ReadArrayResponse response;
    ASSERT_TRUE(response.ParseFromString(BytesOf(MakeReadChunk(buffer, offset, length))));
    EXPECT_EQ(response.offset(), offset);
    ASSERT_EQ(response.data().size(), length);
    EXPECT_EQ(std::memcmp(response.data().data(), buffer->data() + offset, length), 0);
  }
}

TEST(ReadChunkTest, TheMessageHoldsTheArraysMemoryAndCopiesNothing) {
  std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(1 << 20);
  std::fill(buffer->bytes().begin(), buffer->bytes().end(), std::byte{42});
  const std::weak_ptr<HostBuffer> alive = buffer;
  const std::byte* memory = buffer->data();
  {
    const grpc::ByteBuffer message = MakeReadChunk(std::move(buffer), 0, 1 << 20);
    EXPECT_FALSE(alive.expired());
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(message.Dump(&slices).ok());
    ASSERT_EQ(slices.size(), 2u);
    EXPECT_EQ(reinterpret_cast<const std::byte*>(slices[1].begin()), memory);
  }
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace hotplate::wire
