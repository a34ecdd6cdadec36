// How pieces of host memory are cut into chunks.
#include "kernels/devices/cuda/executor/staging.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace hotplate {
namespace {

TEST(VisitParts, PutsEveryByteWhereItBelongsWhateverTheChunks) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    // Pieces with gaps between them, some of them empty.
    std::vector<std::vector<std::byte>> memory;
    std::vector<Piece> pieces;
    std::uint64_t offset = random() % 3;
    for (unsigned i = 0, count = random() % 6; i < count; ++i) {
      std::vector<std::byte>& bytes = memory.emplace_back(random() % 40);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(1 + random() % 255);
      offset += random() % 5;
      pieces.push_back({bytes.data(), offset, bytes.size()});
      offset += bytes.size();
    }
    std::vector<std::byte> expected(offset), found(offset);
    for (const Piece& piece : pieces) {
      if (piece.bytes > 0) std::memcpy(expected.data() + piece.offset, piece.host, piece.bytes);
    }
    const std::uint64_t chunk = 1 + random() % 20;
    std::size_t first = 0;
    for (std::uint64_t begin = 0; begin < offset; begin += chunk) {
      const std::uint64_t end = std::min(begin + chunk, offset);
      VisitParts(pieces, begin, end, first, [&](const std::byte* host, std::uint64_t bytes, std::uint64_t at) {
        ASSERT_GT(bytes, 0u);
        ASSERT_LE(begin + at + bytes, end);
        std::memcpy(found.data() + begin + at, host, bytes);
      });
    }
    EXPECT_EQ(found, expected) << round;
  }
}

TEST(VisitParts, NothingOfNothing) {
  std::size_t first = 0;
  VisitParts({}, 0, 100, first, [](std::byte*, std::uint64_t, std::uint64_t) { FAIL(); });
}

}  // namespace
}  // namespace hotplate
