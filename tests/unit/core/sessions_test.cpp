// The sessions alone, over a store of arrays.
#include "server/core/schedule/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/fakes.h"

namespace hotplate::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SessionsTest : public ::testing::Test {
 protected:
  void Keep(const Principal& who) {
    absl::StatusOr<std::shared_ptr<HostBuffer>> buffer = arrays_.AllocateArray(4);
    ASSERT_TRUE(buffer.ok());
    ASSERT_TRUE(arrays_.Adopt(who, {DType::kFloat32, {1}}, std::string(), std::nullopt, *std::move(buffer)).ok());
  }

  FakeClock clock_;
  std::vector<std::string> said_;
  const LogSink log_{[this](LogLevel, const std::string& text) { said_.push_back(text); }, LogLevel::kInfo};
  ArrayStore arrays_{{.total_bytes = 1 << 10}, clock_};
  Sessions sessions_{
      {.sessions = 2, .streams = 2, .timeout = std::chrono::minutes(10), .grace = std::chrono::seconds(10)},
      arrays_,
      clock_,
      log_};
};

TEST_F(SessionsTest, AJobKeepsItsSession) {
  const auto session = sessions_.BeginJob(kAlice.session);
  ASSERT_TRUE(session.ok());
  clock_.Advance(std::chrono::hours(1));
  sessions_.Expire();
  sessions_.WhetherEnded(**session, [](bool ended) { EXPECT_FALSE(ended); });
  sessions_.EndJob(**session, clock_.Now());
  clock_.Advance(std::chrono::minutes(10));
  sessions_.Expire();
  sessions_.WhetherEnded(**session, [](bool ended) { EXPECT_TRUE(ended); });
  EXPECT_THAT(said_, ElementsAre(HasSubstr("was silent for 10 m")));
}

TEST_F(SessionsTest, ASessionEndsWithItsArrays) {
  ASSERT_TRUE(sessions_.Touch(kAlice.session, 0, SessionUse::kHolds).ok());
  Keep(kAlice);
  EXPECT_EQ(arrays_.List(kRoot).size(), 1u);
  sessions_.End(kAlice.session);
  EXPECT_EQ(arrays_.List(kRoot).size(), 0u);
}

TEST_F(SessionsTest, OneThatHoldsNothingMakesPlaceForAnother) {
  ASSERT_TRUE(sessions_.Touch(kAlice.session, 0, SessionUse::kHolds).ok());
  Keep(kAlice);
  ASSERT_TRUE(sessions_.Touch(kAlice2.session, 0, SessionUse::kHolds).ok());
  EXPECT_TRUE(sessions_.Touch(kBob.session, 0, SessionUse::kHolds).ok());
  EXPECT_EQ(arrays_.List(kRoot).size(), 1u) << "the one with an array stays";
  Keep(kBob);
  const absl::Status full = sessions_.Touch(kRoot.session, 0, SessionUse::kHolds);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(sessions_.Touch(kRoot.session, 0, SessionUse::kLooks).ok()) << "a look is never refused";
}

TEST_F(SessionsTest, MemoryOfAbandonedSessionsIsGivenToOthers) {
  ASSERT_TRUE(sessions_.Touch(kAlice.session, 0, SessionUse::kHolds).ok());
  Keep(kAlice);
  EXPECT_FALSE(sessions_.Reclaim(4)) << "its client may be between two calls";
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(sessions_.AbandonedBytes(), 4u);
  EXPECT_FALSE(sessions_.Reclaim(5)) << "that would not do";
  EXPECT_EQ(arrays_.List(kRoot).size(), 1u);
  EXPECT_TRUE(sessions_.Reclaim(4));
  EXPECT_EQ(arrays_.List(kRoot).size(), 0u);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("others need its memory")));
}

TEST_F(SessionsTest, StreamsAreCountedOverAllSessions) {
  ASSERT_TRUE(sessions_.Touch(kAlice.session, +1, SessionUse::kHolds).ok());
  ASSERT_TRUE(sessions_.Touch(kBob.session, +1, SessionUse::kHolds).ok());
  EXPECT_EQ(sessions_.Touch(kAlice.session, +1, SessionUse::kHolds).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(sessions_.Touch(kBob.session, -1, SessionUse::kHolds).ok());
  EXPECT_TRUE(sessions_.Touch(kAlice.session, +1, SessionUse::kHolds).ok());
}

class GuestSessionsTest : public SessionsTest {
 protected:
  static SessionId Of(const std::string& guest, int number) {
    return Sessions::IdOfGuest(guest, std::to_string(number));
  }
  absl::Status Hold(const std::string& guest, int number) {
    const absl::Status status = many_.Touch(Of(guest, number), 0, SessionUse::kHolds);
    if (status.ok()) Keep({guest, Of(guest, number)});
    return status;
  }

  Sessions many_{{.sessions = 8, .streams = 8, .timeout = std::chrono::minutes(10), .grace = std::chrono::seconds(10)},
                 arrays_,
                 clock_,
                 log_};
};

TEST_F(GuestSessionsTest, OneGuestHasAPartOfTheSessions) {
  EXPECT_TRUE(Hold("anna", 1).ok());
  EXPECT_TRUE(Hold("anna", 2).ok());
  const absl::Status refused = Hold("anna", 3);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("token \"anna\" has 2 sessions"));
  EXPECT_TRUE(many_.Touch(Of("anna", 3), 0, SessionUse::kLooks).ok()) << "it leaves nothing";
  EXPECT_TRUE(Hold("ben", 1).ok());
  EXPECT_TRUE(Hold("ann", 1).ok()) << "another name that begins alike";
  EXPECT_TRUE(many_.Touch(kAlice.session, 0, SessionUse::kHolds).ok());
  EXPECT_TRUE(Hold("anna", 2).ok()) << "it is there already";
}

TEST_F(GuestSessionsTest, OneOfItsOwnThatHoldsNothingGoesFirst) {
  for (int number = 1; number <= 5; ++number) {
    EXPECT_TRUE(many_.Touch(Of("anna", number), 0, SessionUse::kHolds).ok()) << number;
    EXPECT_TRUE(many_.Touch(Of("ben", 1), 0, SessionUse::kHolds).ok());
  }
  EXPECT_THAT(many_.AllOfGuest("anna"), ::testing::SizeIs(2));
  EXPECT_THAT(many_.AllOfGuest("ben"), ElementsAre(Of("ben", 1)));
}

TEST_F(GuestSessionsTest, OneGuestHasAPartOfTheStreams) {
  EXPECT_TRUE(many_.Touch(Of("anna", 1), +1, SessionUse::kLooks).ok());
  EXPECT_TRUE(many_.Touch(Of("anna", 1), +1, SessionUse::kLooks).ok());
  EXPECT_THAT(std::string(many_.Touch(Of("anna", 1), +1, SessionUse::kLooks).message()), HasSubstr("2 streams open"));
  EXPECT_TRUE(many_.Touch(kAlice.session, +1, SessionUse::kLooks).ok());
  EXPECT_TRUE(many_.Touch(Of("anna", 1), -1, SessionUse::kLooks).ok());
  EXPECT_TRUE(many_.Touch(Of("anna", 1), +1, SessionUse::kLooks).ok());
}

}  // namespace
}  // namespace hotplate::core::testing
