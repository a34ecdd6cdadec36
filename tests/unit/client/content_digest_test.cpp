#include "client/lib/content_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace hotplate::client {
namespace {

// Of BLAKE2b by another hand: hashlib.blake2b over each part behind its length as eight bytes.
TEST(ContentDigest, IsTheSameInEveryProcess) {
  const std::vector<float> x = {1, 2, 3};
  EXPECT_EQ(ContentDigest("id", View(x, {3})), "c68bdab4d4ba9003821278a97d2b0696396ea7cb");
  EXPECT_EQ(ContentDigest("", View(std::vector<float>(), {0})), "c932f1dd2a0ead29ef0dcf2d8b105afad2764403");
}

TEST(ContentDigest, OfASourceIsThatOfItsBytes) {
  std::vector<std::uint32_t> values(800'000);  // several pieces
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u);
  const auto bytes = std::as_bytes(std::span(values));
  const ArraySource source{{DType::kUInt32, {800'000}}, [bytes](std::uint64_t offset, std::span<std::byte> to) {
                             std::ranges::copy(bytes.subspan(offset, to.size()), to.begin());
                             return absl::OkStatus();
                           }};
  const absl::StatusOr<std::string> digest = ContentDigest("id", source);
  ASSERT_TRUE(digest.ok());
  EXPECT_EQ(*digest, ContentDigest("id", View(values, {800'000})));
  const ArraySource broken{
      source.signature, [](std::uint64_t, std::span<std::byte>) { return absl::PermissionDeniedError("x.npy: gone"); }};
  EXPECT_EQ(ContentDigest("id", broken).status(), absl::PermissionDeniedError("x.npy: gone"));
}

TEST(ContentDigest, TellsApartWhatDiffersAnywhere) {
  std::set<std::string> digests;
  std::vector<std::uint8_t> bytes(4099, 0);
  const auto add = [&](const std::string& id, const ArrayView& view) {
    EXPECT_TRUE(digests.insert(ContentDigest(id, view)).second) << digests.size();
  };
  add("id", View(bytes, {4099}));
  add("other", View(bytes, {4099}));
  add("id", View(bytes, {4099, 1}));
  add("id", {{DType::kInt8, {4099}}, std::as_bytes(std::span(bytes))});
  // Every byte, the last ones that fill no word among them; and the same bits in another place.
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {1, 128}) {
      bytes[i] = static_cast<std::uint8_t>(value);
      add("id", View(bytes, {4099}));
    }
    bytes[i] = 0;
  }
  for (std::int64_t length = 0; length < 40; ++length) {
    add("id", View(std::span<const std::uint8_t>(bytes).first(static_cast<std::size_t>(length)), {length}));
  }
}

}  // namespace
}  // namespace hotplate::client
