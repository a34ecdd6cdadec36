#include "server/service/message_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

TEST(MessageRoomTest, IsFullAndHasRoomAgain) {
  MessageRoom room(8 * kMebibyte);
  std::optional<MessageRoom::Place> first(std::in_place), second(std::in_place);
  ASSERT_TRUE(room.Take(5 * kMebibyte, "", *first).ok());
  const absl::Status full = room.Take(4 * kMebibyte, "", *second);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ToStd(full.message()),
              AllOf(HasSubstr("4194304 bytes"), HasSubstr("5242880 of the 8388608"), HasSubstr("inbox-bytes")));
  second.reset();
  MessageRoom::Place small;
  EXPECT_TRUE(room.Take(MessageRoom::kSmall, "", small).ok());
  ASSERT_TRUE(room.Take(3 * kMebibyte, "", small).ok());
  EXPECT_TRUE(room.Take(MessageRoom::kSmall, "", *first).ok()) << "whatever there is";
  first.reset();
  MessageRoom::Place again;
  EXPECT_TRUE(room.Take(5 * kMebibyte, "", again).ok());
}

TEST(MessageRoomTest, AGuestHasAPart) {
  MessageRoom room(8 * kMebibyte);
  MessageRoom::Place ana, more, ben, owner;
  ASSERT_TRUE(room.Take(2 * kMebibyte, "ana", ana).ok());
  const absl::Status full = room.Take(kMebibyte, "ana", more);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(ToStd(full.message()), HasSubstr("2097152 of the 2097152 that a guest may have"));
  EXPECT_TRUE(room.Take(2 * kMebibyte, "ben", ben).ok());
  EXPECT_TRUE(room.Take(4 * kMebibyte, "", owner).ok());
  EXPECT_EQ(room.Take(kMebibyte, "carl", more).code(), absl::StatusCode::kResourceExhausted) << "all is taken";
  ana = MessageRoom::Place();
  EXPECT_TRUE(room.Take(kMebibyte, "ana", more).ok());
}

}  // namespace
}  // namespace hotplate::server
