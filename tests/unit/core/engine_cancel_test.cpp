// Jobs that are stopped: cancel, time limits, clients that go away, sessions, drain.
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using OnDisconnect = Engine::OnDisconnect;

class EngineCancelTest : public EngineTest {
 protected:
  EngineCancelTest() {
    bodies_["loop"] = Cancellable();
    bodies_["other"] = Uninterruptible();
  }

  static JobRequest Attached(const std::string& kernel) {
    JobRequest request = Request(kernel);
    request.attached = true;
    return request;
  }
};

TEST_F(EngineCancelTest, APendingJobIsCancelledAtOnce) {
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId waiting = Submit(Request("copy"), 2);
  EXPECT_EQ(engine_->Get(kAlice, waiting)->queue_position, 0);
  const absl::StatusOr<JobSnapshot> answer = engine_->Cancel(kAlice, waiting);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->state, JobState::kCancelled);
  const auto end = recorder_->AwaitEnd(2);
  EXPECT_EQ(end->error.code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(end->receipt.has_value()) << "it never began";
  EXPECT_THAT(recorder_->states(2), ElementsAre(JobState::kPending, JobState::kCancelled));
  EXPECT_EQ(engine_->Status().pending, 0u);
}

TEST_F(EngineCancelTest, ARunningJobIsCancelledWhenItsKernelSeesIt) {
  Start();
  const JobId id = Submit(Request("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const absl::StatusOr<JobSnapshot> answer = engine_->Cancel(kAlice, id);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->cancel_requested);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kCancelled);
  ASSERT_TRUE(end->receipt.has_value());
  EXPECT_EQ(end->receipt->cost.bytes, 0) << "work that was broken off has no amount";
  EXPECT_TRUE(Eventually([&] { return store_->bytes_held() == 0; }));
}

TEST_F(EngineCancelTest, AnUninterruptibleJobIsCancelledAtItsEnd) {
  Start();
  const JobId id = Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  EXPECT_EQ(engine_->Cancel(kAlice, id)->state, JobState::kRunning);
  EXPECT_TRUE(engine_->Get(kAlice, id)->cancel_requested);
  gate_.Open();
  const auto end = recorder_->AwaitEnd(1);
  EXPECT_EQ(end->state, JobState::kCancelled);
  EXPECT_THAT(end->outputs, IsEmpty()) << "the result is discarded";
  EXPECT_TRUE(Eventually([&] { return store_->bytes_held() == 0; }));
}

TEST_F(EngineCancelTest, EndedAndUnknownJobs) {
  Start();
  const JobId id = Submit(Request("copy"), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_EQ(engine_->Cancel(kAlice, id)->state, JobState::kCompleted);
  for (const char* unknown : {"99", "", "x", "01", "-1", "99999999999999999999999"}) {
    EXPECT_EQ(engine_->Cancel(kAlice, JobId(unknown)).status().code(), absl::StatusCode::kNotFound) << unknown;
  }
  EXPECT_EQ(engine_->Cancel(kBob, id).status().code(), absl::StatusCode::kNotFound) << "another token's";
  EXPECT_TRUE(engine_->Cancel(kRoot, id).ok());
}

TEST_F(EngineCancelTest, ATimeLimitEndsAJobAsTimeout) {
  Start();
  JobRequest request = Request("loop");
  request.time_limit = std::chrono::seconds(5);
  Submit(request, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  clock_.Advance(std::chrono::seconds(4));
  ASSERT_TRUE(recorder_->AwaitState(1, JobState::kRunning));
  EXPECT_EQ(recorder_->ends(), 0u);
  clock_.Advance(std::chrono::seconds(1));
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kTimeout);
  EXPECT_EQ(end->error.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(end->error), HasSubstr("5 s"));
}

TEST_F(EngineCancelTest, TheTimeInTheQueueIsNotCounted) {
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  JobRequest request = Request("copy");
  request.time_limit = std::chrono::seconds(5);
  Submit(request, 2);
  clock_.Advance(std::chrono::seconds(60));
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
}

TEST_F(EngineCancelTest, AttachedJobsOutliveTheirStreamByTheGrace) {
  options_.disconnect_grace = std::chrono::seconds(10);
  Start();
  const JobId running = Submit(Attached("loop"), 1);
  const JobId pending = Submit(Attached("copy"), 2);
  const JobId detached = Submit(Request("copy"), 3);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  engine_->Unsubscribe(recorder_, OnDisconnect::kCancelAfterGrace);
  clock_.Advance(std::chrono::seconds(9));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a few ticks, in which nothing must happen
  EXPECT_EQ(StateOf(running), JobState::kRunning);
  EXPECT_EQ(StateOf(pending), JobState::kPending);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(Eventually([&] { return StateOf(running) == JobState::kCancelled; }));
  EXPECT_TRUE(Eventually([&] { return StateOf(pending) == JobState::kCancelled; }));
  EXPECT_TRUE(Eventually([&] { return StateOf(detached) == JobState::kCompleted; })) << "detached jobs go on";
  EXPECT_EQ(recorder_->ends(), 0u) << "nobody is told any more";
}

TEST_F(EngineCancelTest, DisconnectPolicies) {
  AddDevice({.lanes = 4});
  Start();
  const JobId now = Submit(Attached("loop"), 1);
  JobRequest stays = Attached("loop");
  stays.on_disconnect = DisconnectPolicy::kDetach;
  const JobId detached = Submit(stays, 2);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  engine_->Unsubscribe(recorder_, OnDisconnect::kCancelNow);
  EXPECT_TRUE(Eventually([&] { return StateOf(now) == JobState::kCancelled; }));
  EXPECT_EQ(StateOf(detached), JobState::kRunning) << "the job's own policy comes first";
  EXPECT_TRUE(engine_->Get(kAlice, detached)->detached);

  const auto second = std::make_shared<Recorder>();
  JobRequest goes = Attached("loop");
  goes.on_disconnect = DisconnectPolicy::kCancel;
  const JobId cancelled = *engine_->Submit(kAlice, goes, second, 0);
  const JobId kept = *engine_->Submit(kAlice, Attached("loop"), second, 1);
  ASSERT_TRUE(gate_.AwaitEntered(4));
  engine_->Unsubscribe(second, OnDisconnect::kDetach);
  EXPECT_TRUE(Eventually([&] { return StateOf(cancelled) == JobState::kCancelled; }));
  EXPECT_EQ(StateOf(kept), JobState::kRunning);
  gate_.Open();
  EXPECT_TRUE(Eventually([&] { return StateOf(kept) == JobState::kCompleted; }));
  EXPECT_NE(engine_->Get(kAlice, kept)->end->outputs[0].data, nullptr) << "its result waits to be fetched";
}

TEST_F(EngineCancelTest, AClientThatComesBackInTimeKeepsItsJob) {
  Start();
  JobRequest request = Attached("loop");
  request.request_id = "r1";
  const JobId id = Submit(request, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  engine_->Unsubscribe(recorder_, OnDisconnect::kCancelAfterGrace);
  const auto again = std::make_shared<Recorder>();
  ASSERT_EQ(*engine_->Submit(kAlice, request, again, 7), id);
  clock_.Advance(std::chrono::minutes(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a few ticks, in which nothing must happen
  gate_.Open();
  const auto end = again->AwaitEnd(7);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kCompleted);
  EXPECT_THAT(again->complaints(), IsEmpty());
}

// Where a network was cut the client is back before its old stream is known to be gone.
TEST_F(EngineCancelTest, AClientThatIsBackBeforeItIsMissedKeepsItsJob) {
  Start();
  JobRequest request = Attached("loop");
  request.request_id = "r1";
  const JobId id = Submit(request, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const auto again = std::make_shared<Recorder>();
  ASSERT_EQ(*engine_->Submit(kAlice, request, again, 7), id);
  engine_->Unsubscribe(recorder_, OnDisconnect::kCancelNow);
  EXPECT_EQ(StateOf(id), JobState::kRunning);
  engine_->Unsubscribe(again, OnDisconnect::kCancelNow);
  EXPECT_TRUE(Eventually([&] { return StateOf(id) == JobState::kCancelled; })) << "now nobody is there";
}

TEST_F(EngineCancelTest, WatchersThatGoAwayCancelNothing) {
  Start();
  const JobId id = Submit(Attached("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const auto watcher = std::make_shared<Recorder>();
  ASSERT_TRUE(engine_->Watch(kAlice, id, 1, watcher, 0).ok());
  engine_->Unsubscribe(watcher, OnDisconnect::kCancelNow);
  EXPECT_EQ(StateOf(id), JobState::kRunning);
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
}

TEST_F(EngineCancelTest, TheEndOfASessionCancelsItsAttachedJobsAndFreesItsArrays) {
  AddDevice({.lanes = 3});
  Start();
  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {1}}, "A", std::nullopt, false).ok());
  Submit(Attached("loop"), 1);
  JobRequest detached = Request("loop");
  detached.outputs = {{"y", true, "kept", std::nullopt}};
  Submit(detached, 2);
  Submit(Attached("loop"), 3, kAlice2);
  ASSERT_TRUE(gate_.AwaitEntered(3));
  engine_->EndSession(kAlice.session);
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCancelled);
  EXPECT_FALSE(store_->Describe(kAlice, "A").ok());
  EXPECT_EQ(recorder_->ends(), 1u);
  gate_.Open();
  ASSERT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
  ASSERT_EQ(recorder_->AwaitEnd(3)->state, JobState::kCompleted);
  EXPECT_TRUE(store_->Describe(kAlice, "kept")->owner.session.empty())
      << "no session is left to own it: it goes with its job";
}

TEST_F(EngineCancelTest, SilentSessionsEndByThemselves) {
  options_.session_timeout = std::chrono::minutes(10);
  Start();
  ASSERT_TRUE(engine_->TouchSession(kAlice.session, 0).ok());
  ASSERT_TRUE(engine_->TouchSession(kBob.session, +1).ok());
  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {1}}, "A", std::nullopt, false).ok());
  ASSERT_TRUE(store_->Create(kBob, {DType::kFloat32, {1}}, "B", std::nullopt, false).ok());
  clock_.Advance(std::chrono::minutes(1));
  ASSERT_TRUE(store_->Renew(kBob, "B", std::chrono::hours(10)).ok()) << "past the upload grace";
  clock_.Advance(std::chrono::minutes(9));
  EXPECT_TRUE(Eventually([&] { return !store_->Describe(kAlice, "A").ok(); }));
  // The line is written once the lock is free again.
  EXPECT_TRUE(Eventually([&] { return ::testing::Value(log(), Contains(HasSubstr("session session- was silent"))); }));
  EXPECT_THAT(log(), Not(Contains(HasSubstr("session-b was silent")))) << "it has a stream open";
}

TEST_F(EngineCancelTest, SessionAndStreamLimits) {
  options_.max_sessions = 2;
  options_.max_streams = 2;
  Start();
  EXPECT_TRUE(engine_->TouchSession(SessionId("1"), +1).ok());
  EXPECT_TRUE(engine_->TouchSession(SessionId("2"), +1).ok());
  const absl::Status streams = engine_->TouchSession(SessionId("2"), +1);
  EXPECT_EQ(streams.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(streams), HasSubstr("max-streams"));
  const absl::Status sessions = engine_->TouchSession(SessionId("3"), 0);
  EXPECT_EQ(sessions.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(sessions), HasSubstr("max-sessions"));
  EXPECT_EQ(Refusal(Request("copy"), kAlice).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(engine_->TouchSession(SessionId("1"), -1).ok());
  EXPECT_TRUE(engine_->TouchSession(SessionId("2"), +1).ok());
  engine_->EndSession(SessionId("1"));
  EXPECT_TRUE(engine_->TouchSession(SessionId("3"), 0).ok());
}

TEST_F(EngineCancelTest, SessionsThatHoldNothingMakeRoom) {
  options_.max_sessions = 4;
  Start();
  ASSERT_TRUE(engine_->TouchSession(SessionId("streams"), +1).ok());
  ASSERT_TRUE(engine_->TouchSession(kAlice.session, 0).ok());
  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {1}}, "A", std::nullopt, false).ok());
  Submit(Request("other"), 1, kBob);
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(std::chrono::milliseconds(1));
    EXPECT_TRUE(engine_->TouchSession(SessionId(absl::StrCat("command", i)), 0).ok()) << i;
  }
  EXPECT_TRUE(store_->Describe(kAlice, "A").ok());
  ASSERT_TRUE(engine_->TouchSession(SessionId("command99"), +1).ok());
  EXPECT_EQ(engine_->TouchSession(SessionId("one more"), 0).code(), absl::StatusCode::kResourceExhausted)
      << "each of the four holds something";
}

TEST_F(EngineCancelTest, DrainWaitsForWhatRunsAndWaits) {
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy"), 2);
  bool drained = false;
  std::thread drainer([&] { drained = engine_->Drain(kPatience, "test"); });
  EXPECT_TRUE(Eventually([&] { return engine_->Status().draining; }));
  EXPECT_EQ(Refusal(Request("copy")).code(), absl::StatusCode::kUnavailable);
  gate_.Open();
  drainer.join();
  EXPECT_TRUE(drained);
  EXPECT_EQ(recorder_->ends(), 2u) << "everybody was told before Drain returned";
}

TEST_F(EngineCancelTest, DrainCancelsWhatIsLeftAtItsTimeout) {
  Start();
  Submit(Request("loop"), 1);
  Submit(Request("copy"), 2);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  EXPECT_FALSE(engine_->Drain(std::chrono::milliseconds(1), "test"));
  EXPECT_EQ(recorder_->ends(), 2u);
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCancelled);
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCancelled);
  EXPECT_EQ(engine_->Status().running, 0u);
}

TEST_F(EngineCancelTest, DrainDoesNotWaitForAnUninterruptibleCall) {
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  EXPECT_FALSE(engine_->Drain(nanoseconds::zero(), "test"));
  EXPECT_EQ(engine_->Status().running, 1u);
  EXPECT_EQ(recorder_->ends(), 0u);
  EXPECT_THAT(log(), Contains("job 1 other is cut off: it did not end in time"));
  EXPECT_THAT(recorder_->notices(),
              ElementsAre("job 1 (other) cannot be interrupted: it is cut off, without a result"));
}

TEST_F(EngineCancelTest, OnlyTheWatchersOfAJobThatIsCutOffAreTold) {
  Start();
  const auto bystander = std::make_shared<Recorder>();
  engine_->Subscribe(bystander);
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  ASSERT_TRUE(engine_->Watch(kAlice, JobId("1"), 1, recorder_, 2).ok());
  EXPECT_FALSE(engine_->Drain(nanoseconds::zero(), "test"));
  EXPECT_EQ(recorder_->notices().size(), 1u) << "whoever hears of it twice is told once";
  EXPECT_THAT(bystander->notices(), IsEmpty());
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCancelled) << "the engine did not end first";
  engine_->Unsubscribe(bystander, Engine::OnDisconnect::kCancelAfterGrace);
}

TEST_F(EngineCancelTest, TheEngineEndsWithJobsLeft) {
  Start();
  Submit(Request("loop"), 1);
  Submit(Request("copy"), 2);
  engine_.reset();
  EXPECT_EQ(recorder_->ends(), 2u);
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCancelled);
}

}  // namespace
}  // namespace hotplate::core::testing
