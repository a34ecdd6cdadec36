// When a daemon is idle, how it ends for that, and how a drain is cut short.
#include <thread>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;

class EngineIdleTest : public EngineTest {
 protected:
  nanoseconds idle() const { return engine_->Status().idle; }
};

TEST_F(EngineIdleTest, AnActivityIsUseUntilItEnds) {
  Start();
  clock_.Advance(seconds(30));
  {
    const Engine::Activity upload = engine_->BeginActivity();
    EXPECT_EQ(idle(), nanoseconds::zero());
    clock_.Advance(seconds(50));
    upload.Moved();
    clock_.Advance(seconds(50));
    EXPECT_EQ(idle(), nanoseconds::zero()) << "it moved within the minute";
  }
  EXPECT_EQ(idle(), nanoseconds::zero());
  clock_.Advance(seconds(3));
  EXPECT_EQ(idle(), seconds(3));
}

TEST_F(EngineIdleTest, AnActivityThatStallsIsNoUse) {
  Start();
  const Engine::Activity stalled = engine_->BeginActivity();
  clock_.Advance(seconds(61));
  EXPECT_EQ(idle(), seconds(61));
  EXPECT_TRUE(engine_->Drain(kPatience, "test")) << "a drain does not wait for it";
}

TEST_F(EngineIdleTest, AMomentOfUseCounts) {
  Start();
  clock_.Advance(seconds(30));
  engine_->NoteUse();
  clock_.Advance(seconds(4));
  EXPECT_EQ(idle(), seconds(4));
}

TEST_F(EngineIdleTest, DrainIfIdleLeavesWhatIsInUse) {
  bodies_["other"] = Uninterruptible();
  Start();
  clock_.Advance(minutes(20));
  Submit(Request("other"), 1);
  EXPECT_FALSE(engine_->DrainIfIdle(minutes(15), "idle"));
  {
    gate_.Open();
    ASSERT_TRUE(recorder_->AwaitEnds(1));
    const Engine::Activity upload = engine_->BeginActivity();
    EXPECT_FALSE(engine_->DrainIfIdle(seconds(1), "idle"));
  }
  EXPECT_FALSE(engine_->Status().draining);
  Submit(Request("copy"), 2);
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
  clock_.Advance(minutes(15));
  EXPECT_TRUE(engine_->DrainIfIdle(minutes(15), "idle for a quarter of an hour"));
  const absl::Status late = Refusal(Request("copy"));
  EXPECT_EQ(late.code(), absl::StatusCode::kUnavailable) << "the client may try again elsewhere";
  EXPECT_THAT(Text(late), HasSubstr("idle for a quarter of an hour"));
}

// A job that came in the moment of an idle shutdown used to be accepted and then cancelled.
TEST_F(EngineIdleTest, EveryAcceptedJobRunsWhateverTheMoment) {
  Start();
  for (int round = 0; round < 200 && !engine_->Status().draining; ++round) {
    clock_.Advance(minutes(16));
    const auto tag = static_cast<std::uint64_t>(round + 1);
    std::thread idle([&] { engine_->DrainIfIdle(minutes(15), "idle"); });
    const absl::StatusOr<JobId> id = engine_->Submit(kAlice, Request("copy"), recorder_, tag);
    idle.join();
    if (id.ok()) {
      EXPECT_EQ(recorder_->AwaitEnd(tag)->state, JobState::kCompleted);
    } else {
      EXPECT_EQ(id.status().code(), absl::StatusCode::kUnavailable);
    }
  }
  EXPECT_TRUE(engine_->Drain(kPatience, "test"));
}

TEST_F(EngineIdleTest, ADrainWaitsForAnActivity) {
  Start();
  std::optional<Engine::Activity> download = engine_->BeginActivity();
  std::atomic<bool> over{false};
  std::thread drainer([&] {
    EXPECT_TRUE(engine_->Drain(kPatience, "test"));
    EXPECT_TRUE(over);
  });
  EXPECT_TRUE(Eventually([&] { return engine_->Status().draining; }));
  over = true;
  download.reset();
  drainer.join();
}

TEST_F(EngineIdleTest, ADrainIsShortenedAndNeverLengthened) {
  bodies_["loop"] = Cancellable();
  Start();
  Submit(Request("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  std::thread drainer([&] { EXPECT_FALSE(engine_->Drain(std::chrono::hours(10), "test")); });
  EXPECT_TRUE(Eventually([&] { return engine_->Status().draining; }));
  engine_->ShortenDrain(nanoseconds::zero());
  engine_->ShortenDrain(std::chrono::hours(10));
  drainer.join();
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCancelled);
}

// Who drains does so on a thread that may not have come to it yet.
TEST_F(EngineIdleTest, ADrainIsShortenedBeforeItBegins) {
  bodies_["loop"] = Cancellable();
  Start();
  Submit(Request("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  engine_->ShortenDrain(nanoseconds::zero());
  EXPECT_FALSE(engine_->Status().draining);
  EXPECT_FALSE(engine_->Drain(std::chrono::hours(10), "test"));
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCancelled);
}

// A session may give way between a call's first look at it and the array that the call then makes. That array used to
// stay for ever.
TEST_F(EngineIdleTest, AnArrayOfASessionThatGaveWayEndsWithItAllTheSame) {
  options_.max_sessions = 1;
  options_.session_timeout = minutes(10);
  Start();
  ASSERT_TRUE(engine_->TouchSession(kAlice.session, 0).ok());
  ASSERT_TRUE(engine_->TouchSession(kBob.session, 0).ok()) << "Alice's gives way";
  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {0}}, "A", std::nullopt, false).ok());
  EXPECT_TRUE(Eventually([&] {
    clock_.Advance(seconds(30));
    return !store_->Describe(kAlice, "A").ok();
  }));
  EXPECT_THAT(log(), Contains(HasSubstr("session-a was silent")));
}

}  // namespace
}  // namespace hotplate::core::testing
