// When a daemon is idle, how it ends for that, and how a drain is cut short.
#include <atomic>
#include <functional>
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

  // A drain is not over before `end_it`, and is after it.
  bool OutlivesADrain(const std::function<void()>& end_it) {
    std::atomic<bool> ended{false}, too_early{false};
    std::thread drainer([&] {
      EXPECT_TRUE(engine_->Drain(kPatience, "test"));
      too_early = !ended;
    });
    EXPECT_TRUE(Eventually([&] { return engine_->Status().draining; }));
    // Not a matter of time, but a drain that ends too early should have had a chance to.
    for (int i = 0; i < 200; ++i) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto begin = std::chrono::steady_clock::now();
    ended = true;
    end_it();
    drainer.join();
    return !too_early && std::chrono::steady_clock::now() - begin < kPatience / 2;
  }
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

TEST_F(EngineIdleTest, ADevicesTimeWithJobsIsCountedOnceHoweverManyRun) {
  bodies_["other"] = bodies_["loop"] = Uninterruptible();
  AddDevice({.lanes = 2});
  Start();
  const auto occupied = [&] { return engine_->Status().devices[0].occupied; };
  clock_.Advance(seconds(100));
  EXPECT_EQ(occupied(), nanoseconds::zero());
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  clock_.Advance(seconds(5));
  Submit(Request("loop"), 2);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  clock_.Advance(seconds(5));
  EXPECT_EQ(occupied(), seconds(10)) << "while they run";
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(2));
  EXPECT_EQ(occupied(), seconds(10));
  clock_.Advance(seconds(100));
  EXPECT_EQ(occupied(), seconds(10)) << "idle time is not counted";
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
    const auto tag = static_cast<std::uint64_t>(round) + 1;
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
  clock_.Advance(Engine::kLinger);
  drainer.join();
}

// The next call of the same client is about to come.
TEST_F(EngineIdleTest, ADrainLingersAfterTheLastUse) {
  Start();
  { const Engine::Activity download = engine_->BeginActivity(); }
  EXPECT_TRUE(OutlivesADrain([&] { clock_.Advance(Engine::kLinger); }));
}

TEST_F(EngineIdleTest, AnActivityThatStallsDuringADrainIsGivenUp) {
  Start();
  const Engine::Activity stalled = engine_->BeginActivity();
  const Engine::Activity moves = engine_->BeginActivity();
  clock_.Advance(seconds(50));
  moves.Moved();
  EXPECT_TRUE(OutlivesADrain([&] {
    clock_.Advance(seconds(20));
    EXPECT_EQ(idle(), nanoseconds::zero()) << "the other one goes on";
    clock_.Advance(seconds(40));
  }));
}

TEST_F(EngineIdleTest, ASecondDrainHasATimeOfItsOwn) {
  Start();
  EXPECT_TRUE(engine_->Drain(std::chrono::milliseconds(1), "first"));
  std::optional<Engine::Activity> download = engine_->BeginActivity();
  EXPECT_TRUE(OutlivesADrain([&] {
    download.reset();
    clock_.Advance(Engine::kLinger);
  }));
}

class UnreadOutputTest : public EngineIdleTest {
 protected:
  void RunToALargeOutput() {
    options_.inline_bytes = 1;
    Start();
    JobRequest request = Request("copy");
    request.attached = true;
    Submit(request, 1);
    const auto end = recorder_->AwaitEnd(1);
    ASSERT_NE(end, nullptr);
    ASSERT_EQ(end->outputs.size(), 1u);
    output_ = end->outputs[0].array;
  }
  ArrayId output_;
};

// The daemon used to leave between a job's end and the download of its output.
TEST_F(UnreadOutputTest, ADrainWaitsUntilItIsRead) {
  RunToALargeOutput();
  EXPECT_TRUE(OutlivesADrain([&] { store_->MarkRead(output_); }));
}

TEST_F(UnreadOutputTest, ADrainWaitsUntilItIsFreed) {
  RunToALargeOutput();
  EXPECT_TRUE(OutlivesADrain([&] { EXPECT_TRUE(store_->Free(kAlice, output_.value()).ok()); }));
}

TEST_F(UnreadOutputTest, ADrainWaitsNoLongerThanSomebodyMayComeForIt) {
  RunToALargeOutput();
  EXPECT_TRUE(OutlivesADrain([&] { clock_.Advance(Engine::kFetchWithin); }));
}

TEST_F(UnreadOutputTest, ADrainWithoutTimeDoesNotWait) {
  RunToALargeOutput();
  EXPECT_TRUE(engine_->Drain(nanoseconds::zero(), "test"));
  EXPECT_TRUE(store_->HasUnread());
}

TEST_F(EngineIdleTest, ADrainWaitsUntilObserversHaveSentWhatTheyHeard) {
  struct Sender final : JobObserver {
    void OnChange(const JobId&, std::uint64_t, const StateChange&, const std::shared_ptr<const JobEnd>&) override {}
    void OnProgress(const JobId&, std::uint64_t, const JobProgress&) override {}
    void OnNotice(const std::string&, std::optional<double>) override {}
    bool HasUnsent() override { return unsent; }
    std::atomic<bool> unsent{true};
  };
  Start();
  const auto sender = std::make_shared<Sender>();
  engine_->Subscribe(sender);
  EXPECT_TRUE(OutlivesADrain([&] { sender->unsent = false; }));
  engine_->Unsubscribe(sender, Engine::OnDisconnect::kCancelNow);
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
TEST_F(EngineIdleTest, ADrainIsShortenedBeforeItIsWaitedFor) {
  bodies_["loop"] = Cancellable();
  Start();
  Submit(Request("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  engine_->BeginDrain(std::chrono::hours(10), "test");
  engine_->ShortenDrain(nanoseconds::zero());
  EXPECT_FALSE(engine_->AwaitDrained());
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
  EXPECT_THAT(log(), Contains(HasSubstr("session session- was silent")));
}

}  // namespace
}  // namespace hotplate::core::testing
