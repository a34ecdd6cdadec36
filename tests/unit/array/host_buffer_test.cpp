#include "kernels/array/host_buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <vector>

namespace hotplate {
namespace {

TEST(HostBufferTest, IsAlignedWritableAndOfTheSizeAskedFor) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{65}, std::size_t{511}, std::size_t{512},
        std::size_t{513}, kMiB, 2 * kMiB - 1, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB + 3}) {
    const std::shared_ptr<HostBuffer> buffer = HostBuffer::Allocate(bytes);
    ASSERT_NE(buffer, nullptr) << bytes;
    ASSERT_NE(buffer->data(), nullptr) << bytes;
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(buffer->bytes().size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % HostBuffer::kAlignment, 0u) << bytes;
    std::memset(buffer->data(), 0x5a, bytes);
    if (bytes > 0) {
      EXPECT_EQ(buffer->data()[bytes - 1], std::byte{0x5a});
    }
  }
}

TEST(HostBufferTest, BuffersDoNotOverlap) {
  const auto first = HostBuffer::Allocate(std::size_t{4} << 20), second = HostBuffer::Allocate(std::size_t{4} << 20);
  ASSERT_TRUE(first && second);
  std::memset(first->data(), 1, first->size());
  std::memset(second->data(), 2, second->size());
  EXPECT_EQ(first->data()[0], std::byte{1});
  EXPECT_EQ(first->data()[first->size() - 1], std::byte{1});
}

TEST(HostBufferTest, SmallBuffersDoNotOverlap) {
  std::vector<std::shared_ptr<HostBuffer>> buffers;
  for (std::size_t bytes = 0; bytes < 600; ++bytes) {
    buffers.push_back(HostBuffer::Allocate(bytes, bytes + 1));
    ASSERT_NE(buffers.back(), nullptr) << bytes;
    std::memset(buffers.back()->data(), static_cast<int>(bytes % 251), bytes);
  }
  for (std::size_t bytes = 0; bytes < 600; ++bytes) {
    EXPECT_EQ(buffers[bytes]->size(), bytes);
    EXPECT_EQ(buffers[bytes]->identity(), bytes + 1);
    for (const std::byte byte : buffers[bytes]->bytes()) ASSERT_EQ(byte, static_cast<std::byte>(bytes % 251)) << bytes;
  }
}

TEST(HostBufferTest, MemoryThatTheMachineDoesNotHaveIsNull) {
  for (const std::size_t bytes :
       {std::size_t{1} << 46, std::size_t{1} << 60, std::numeric_limits<std::size_t>::max() - 1,
        std::numeric_limits<std::size_t>::max()}) {
    EXPECT_EQ(HostBuffer::Allocate(bytes), nullptr) << bytes;
  }
}

std::size_t MappedBytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(HostBufferTest, MemoryIsGivenBack) {
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  constexpr int kTimes = 64;
  const std::size_t before = MappedBytes();
  ASSERT_GT(before, 0u);
  for (int i = 0; i < kTimes; ++i) {
    const auto buffer = HostBuffer::Allocate(kBytes + static_cast<std::size_t>(i));
    ASSERT_NE(buffer, nullptr) << "after " << i;
    buffer->data()[0] = std::byte{1};
  }
  // Not 0: AddressSanitizer holds some freed memory back on purpose.
  EXPECT_LT(MappedBytes(), before + kTimes * kBytes / 4);
}

}  // namespace
}  // namespace hotplate
