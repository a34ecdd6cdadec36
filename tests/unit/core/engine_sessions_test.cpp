// Sessions whose client has gone: they stand in nobody's way, and cost those who are there nothing.
#include "absl/strings/str_cat.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

class EngineSessionsTest : public EngineTest {
 protected:
  EngineSessionsTest() {
    options_.disconnect_grace = seconds(10);
    options_.session_timeout = std::chrono::minutes(10);
    limits_ = {.total_bytes = 1000, .array_bytes = 1000};
  }

  // An array of the session's, whole, of so many float32.
  void Give(const Principal& who, std::int64_t elements, const std::string& name) {
    ASSERT_TRUE(engine_->TouchSession(who.session, 0).ok());
    const absl::StatusOr<ArraySnapshot> array = store_->Create(who, Float32(elements), name, std::nullopt, false);
    ASSERT_TRUE(array.ok()) << array.status();
    if (elements > 0) store_->OpenWriter(who, name, 0).value()->Advance(array->bytes);
  }
  absl::Status Create(const Principal& who, std::int64_t elements) {
    return store_->Create(who, Float32(elements), "", std::nullopt, false).status();
  }
  bool Has(const Principal& who, const std::string& name) { return store_->Describe(who, name).ok(); }
  std::uint64_t FreeForAJob() { return engine_->Check(kBob, Request("copy"))->array_bytes_free; }

  static Signature Float32(std::int64_t elements) { return {DType::kFloat32, {elements}}; }
};

TEST_F(EngineSessionsTest, WhoeverOnlyLooksNeedsNoPlace) {
  options_.max_sessions = 1;
  Start();
  Give(kAlice, 1, "A");
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(engine_->TouchSession(SessionId(absl::StrCat(i)), 0, SessionUse::kLooks).ok());
  }
  EXPECT_TRUE(engine_->TouchSession(SessionId("watches"), +1, SessionUse::kLooks).ok());
  const absl::Status status = engine_->TouchSession(SessionId("puts"), 0);
  EXPECT_EQ(status.code(), kExhausted);
  EXPECT_THAT(Text(status), HasSubstr("max-sessions"));
  clock_.Advance(seconds(11));
  EXPECT_TRUE(engine_->TouchSession(SessionId("looks"), 0, SessionUse::kLooks).ok());
  EXPECT_TRUE(Has(kAlice, "A")) << "a look takes nothing from anybody";
}

TEST_F(EngineSessionsTest, AnAbandonedSessionGivesItsPlace) {
  options_.max_sessions = 3;
  Start();
  Give(kAlice, 1, "A");
  Give(kAlice2, 1, "A2");
  Give(kBob, 1, "B");
  ASSERT_TRUE(engine_->TouchSession(kBob.session, +1).ok());
  const SessionId another("another"), yet_another("yet another");
  EXPECT_EQ(engine_->TouchSession(another, 0).code(), kExhausted) << "its client may come back";
  clock_.Advance(seconds(6));
  ASSERT_TRUE(engine_->TouchSession(kAlice2.session, 0).ok());
  clock_.Advance(seconds(6));
  EXPECT_TRUE(engine_->TouchSession(another, +1).ok());
  EXPECT_FALSE(Has(kAlice, "A"));
  EXPECT_TRUE(Has(kAlice2, "A2")) << "it has just called";
  EXPECT_THAT(log(), Contains(AllOf(HasSubstr("session session-"), HasSubstr("others need its place"))));
  clock_.Advance(seconds(6));
  EXPECT_TRUE(engine_->TouchSession(yet_another, +1).ok());
  EXPECT_FALSE(Has(kAlice2, "A2"));
  clock_.Advance(seconds(60));
  EXPECT_EQ(engine_->TouchSession(SessionId("one more"), 0).code(), kExhausted) << "all three have a stream";
  EXPECT_TRUE(Has(kBob, "B"));
}

TEST_F(EngineSessionsTest, AnAbandonedSessionGivesItsMemory) {
  Start();
  Give(kAlice, 100, "A");
  Give(kAlice2, 100, "A2");
  ASSERT_TRUE(engine_->TouchSession(kAlice2.session, +1).ok());
  EXPECT_EQ(FreeForAJob(), 200u);
  EXPECT_EQ(Create(kBob, 100).code(), kExhausted);
  clock_.Advance(seconds(11));
  EXPECT_EQ(FreeForAJob(), 600u) << "the dry run counts what would be free";
  EXPECT_EQ(Create(kBob, 200).code(), kExhausted);
  EXPECT_TRUE(Has(kAlice, "A")) << "nothing is freed in vain";
  EXPECT_TRUE(Create(kBob, 100).ok());
  EXPECT_FALSE(Has(kAlice, "A"));
  EXPECT_TRUE(Has(kAlice2, "A2")) << "somebody is there";
  EXPECT_THAT(log(), Contains(HasSubstr("others need its memory")));
}

TEST_F(EngineSessionsTest, AJobsOutputFindsThatMemoryToo) {
  Start();
  Give(kAlice, 200, "A");
  ASSERT_TRUE(engine_->TouchSession(kBob.session, +1).ok());
  clock_.Advance(seconds(11));
  Submit(Request("copy", std::vector<float>(100)), 1, kBob);
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted) << recorder_->AwaitEnd(1)->error;
  EXPECT_FALSE(Has(kAlice, "A"));
}

TEST_F(EngineSessionsTest, WhatAJobUsesIsNotCountedAsFree) {
  bodies_["other"] = Uninterruptible();
  Start();
  Give(kAlice, 100, "A");
  JobRequest request = Request("other");
  request.inputs = {{"x", {}, std::string("A")}};
  Submit(request, 1, kAlice2);  // of another session of the same token
  ASSERT_TRUE(gate_.AwaitEntered(1));
  clock_.Advance(seconds(11));
  EXPECT_EQ(FreeForAJob(), 200u);
  EXPECT_EQ(Create(kBob, 100).code(), kExhausted);
  EXPECT_TRUE(Has(kAlice, "A"));
}

TEST_F(EngineSessionsTest, AnUploadThatNobodyGoesOnWithGivesItsMemory) {
  Start();
  ASSERT_TRUE(store_->Create(kAlice, Float32(200), "half", std::chrono::hours(8), false).ok());
  ASSERT_TRUE(store_->Create(kAlice, Float32(25), "whole", std::chrono::hours(8), false).ok());
  store_->OpenWriter(kAlice, "whole", 0).value()->Advance(100);
  EXPECT_EQ(Create(kBob, 100).code(), kExhausted);
  clock_.Advance(seconds(11));
  EXPECT_EQ(FreeForAJob(), 900u);
  {
    const auto writer = store_->OpenWriter(kAlice, "half", 0);  // its client is back
    clock_.Advance(seconds(11));
    EXPECT_EQ(Create(kBob, 100).code(), kExhausted);
  }
  EXPECT_TRUE(Create(kBob, 100).ok());
  EXPECT_FALSE(Has(kAlice, "half"));
  EXPECT_TRUE(Has(kAlice, "whole")) << "its lease is not over";
}

TEST_F(EngineSessionsTest, AJobThatWaitsForTheMemoryOfAnAbandonedSessionGetsIt) {
  limits_ = {.total_bytes = std::uint64_t{1} << 30, .array_bytes = std::uint64_t{1} << 30};
  Start();
  constexpr std::int64_t kMany = 1 << 20;  // less than that counts as nothing
  Give(kAlice, kMany, "A");
  clock_.Advance(seconds(11));
  fakes_[0]->free_bytes = 0;
  EXPECT_EQ(engine_->Check(kBob, Request("copy", std::vector<float>(kMany)))->devices[0].when,
            CheckReport::Fit::When::kNow);
  JobRequest request = Request("copy", std::vector<float>(kMany));
  Submit(std::move(request), 1, kBob);
  EXPECT_TRUE(Eventually([&] { return !Has(kAlice, "A"); }));
  fakes_[0]->free_bytes = kMany * 8;
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
}

TEST_F(EngineSessionsTest, WithRoomForAllNothingIsEndedBeforeTheSessionTimeout) {
  Start();
  Give(kAlice, 100, "A");
  clock_.Advance(std::chrono::minutes(9));
  ASSERT_TRUE(Create(kBob, 100).ok());
  ASSERT_TRUE(engine_->Check(kBob, Request("copy")).ok());
  EXPECT_TRUE(Has(kAlice, "A"));
  EXPECT_THAT(log(), Not(Contains(HasSubstr("others need"))));
}

}  // namespace
}  // namespace hotplate::core::testing
