// Who hears what: order, replays, progress, notices, leaving, and what is kept for later.
#include <latch>
#include <thread>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using OnDisconnect = Engine::OnDisconnect;

class EngineObserversTest : public EngineTest {
 protected:
  EngineObserversTest() {
    bodies_["loop"] = Cancellable();
    bodies_["other"] = Uninterruptible();
  }
};

TEST_F(EngineObserversTest, LongJobsAreHeardOfBeforeTheyEnd) {
  Start();
  Submit(Request("other"), 1);
  Submit(Request("copy"), 2);
  EXPECT_TRUE(recorder_->AwaitState(1, JobState::kRunning));
  EXPECT_TRUE(recorder_->AwaitState(2, JobState::kPending));
  EXPECT_EQ(recorder_->ends(), 0u);
}

TEST_F(EngineObserversTest, AnEndWaitsForTheCallBeforeIt) {
  Start();
  Gate in_call;
  recorder_->on_event = [&](const Recorder::Seen& seen) {
    if (seen.event.state == JobState::kRunning) in_call.Enter();
  };
  const JobId id = Submit(Request("other"), 1);
  ASSERT_TRUE(in_call.AwaitEntered(1));  // told by the ticker, since the job takes long
  gate_.Open();
  ASSERT_TRUE(Eventually([&] { return StateOf(id) == JobState::kCompleted; }));
  std::atomic<bool> drained{false};
  std::thread drainer([&] { drained = engine_->Drain(kPatience, "test"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(recorder_->ends(), 0u);
  EXPECT_FALSE(drained) << "somebody has yet to hear of the end";
  in_call.Open();
  drainer.join();
  EXPECT_TRUE(drained);
  EXPECT_EQ(recorder_->ends(), 1u);
}

TEST_F(EngineObserversTest, WhoHearsOfAnEndMayHaveTheNameAtOnce) {
  bodies_["copy"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::Failed("as planned")); };
  Start();
  JobRequest request = Request("copy");
  request.outputs = {{"y", true, "Y", std::nullopt}};
  recorder_->on_event = [&](const Recorder::Seen& seen) {
    if (seen.end == nullptr || seen.tag == 3) return;
    const auto again = engine_->Submit(kAlice, request, recorder_, seen.tag + 1);
    EXPECT_TRUE(again.ok()) << again.status();
  };
  Submit(request, 1);
  EXPECT_NE(recorder_->AwaitEnd(3), nullptr);
}

TEST_F(EngineObserversTest, AWatcherGetsWhatHasBeenFromItsSequenceOn) {
  Start();
  const JobId id = Submit(Request("copy"), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> cases = {
      {0, {1, 2, 3}}, {1, {1, 2, 3}}, {2, {2, 3}}, {3, {3}}, {4, {3}}, {std::uint64_t{1} << 63, {3}}};
  for (const auto& [from, expected] : cases) {
    const auto watcher = std::make_shared<Recorder>();
    ASSERT_TRUE(engine_->Watch(kAlice, id, from, watcher, 5).ok());
    std::vector<std::uint64_t> sequences;
    for (const Recorder::Seen& seen : watcher->events(5)) sequences.push_back(seen.event.sequence);
    EXPECT_EQ(sequences, expected) << "from " << from;
    EXPECT_EQ(watcher->ends(), 1u);
  }
  const auto watcher = std::make_shared<Recorder>();
  EXPECT_EQ(engine_->Watch(kBob, id, 1, watcher, 0).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(engine_->Watch(kAlice, JobId("77"), 1, watcher, 0).code(), absl::StatusCode::kNotFound);
}

TEST_F(EngineObserversTest, AWatcherOfARunningJobHearsTheRest) {
  Start();
  const JobId id = Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const auto watcher = std::make_shared<Recorder>();
  ASSERT_TRUE(engine_->Watch(kAlice2, id, 1, watcher, 5).ok());
  EXPECT_THAT(watcher->states(5), ElementsAre(JobState::kPending, JobState::kRunning)) << "at once, on this thread";
  const auto late = std::make_shared<Recorder>();
  ASSERT_TRUE(engine_->Watch(kAlice2, id, 3, late, 5).ok());
  gate_.Open();
  ASSERT_NE(watcher->AwaitEnd(5), nullptr);
  EXPECT_THAT(watcher->states(5), SizeIs(3));
  ASSERT_NE(late->AwaitEnd(5), nullptr);
  EXPECT_THAT(late->states(5), ElementsAre(JobState::kCompleted));
  EXPECT_THAT(watcher->complaints(), IsEmpty());
}

TEST_F(EngineObserversTest, OneObserverMayWatchAJobTwice) {
  Start();
  const JobId id = Submit(Request("other"), 1);
  ASSERT_TRUE(engine_->Watch(kAlice, id, 1, recorder_, 2).ok());
  gate_.Open();
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  ASSERT_NE(recorder_->AwaitEnd(2), nullptr);
  EXPECT_THAT(recorder_->states(1), SizeIs(3));
  EXPECT_THAT(recorder_->states(2), SizeIs(3));
}

TEST_F(EngineObserversTest, ProgressComesWhenItChangedAndNotTooOften) {
  bodies_["loop"] = [this](const Task& task, TaskControl& control) {
    for (std::uint32_t i = 1; i <= 50 && std::atomic_ref(control.plain().cancel).load() == 0; ++i) {
      std::atomic_ref(control.plain().progress).store(i * 20'000);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      clock_.Advance(std::chrono::milliseconds(20));  // a second in all
    }
    EXPECT_TRUE(Eventually([&] { return !recorder_->progress().empty(); }));
    return CopyBody(task, control);
  };
  Start();
  const JobId id = Submit(Request("loop"), 1);
  ASSERT_TRUE(Eventually([&] { return engine_->Get(kAlice, id)->progress > 0.1; }));
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  const std::vector<double> progress = recorder_->progress();
  EXPECT_THAT(progress, Not(IsEmpty()));
  EXPECT_THAT(progress, SizeIs(Le(11u))) << "at most 10 in a second, and one more at its edge";
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_THAT(progress, Each(AllOf(Ge(0.0), Le(1.0))));
}

TEST_F(EngineObserversTest, UnchangedProgressIsNotRepeated) {
  bodies_["other"] = [this](const Task& task, TaskControl& control) {
    std::atomic_ref(control.plain().progress).store(500'000);
    gate_.Enter();
    return CopyBody(task, control);
  };
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(Eventually([&] { return !recorder_->progress().empty(); }));
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(std::chrono::seconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(15));  // ticks in which nothing must be told
  }
  EXPECT_THAT(recorder_->progress(), ElementsAre(0.5));
}

TEST_F(EngineObserversTest, NoticesReachEverySubscriber) {
  Start();
  const auto waiting = std::make_shared<Recorder>();
  engine_->Subscribe(waiting);
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  engine_->Announce("the allocation ends", 60);
  EXPECT_THAT(waiting->notices(), ElementsAre("the allocation ends"));
  EXPECT_THAT(recorder_->notices(), ElementsAre("the allocation ends"));
  engine_->Unsubscribe(waiting, OnDisconnect::kDetach);
  engine_->Announce("again", std::nullopt);
  EXPECT_THAT(waiting->notices(), SizeIs(1));
}

TEST_F(EngineObserversTest, UnsubscribeWaitsForACallOnAnotherThread) {
  Start();
  Gate in_call;
  std::atomic<bool> left{false};
  recorder_->on_event = [&](const Recorder::Seen& seen) {
    if (seen.end == nullptr) return;
    in_call.Enter();
    left = true;
  };
  Submit(Request("copy"), 1);
  ASSERT_TRUE(in_call.AwaitEntered(1));
  std::atomic<bool> returned{false};
  std::thread leaver([&] {
    engine_->Unsubscribe(recorder_, OnDisconnect::kDetach);
    EXPECT_TRUE(left) << "returned while a call was under way";
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(returned);
  in_call.Open();
  leaver.join();
}

TEST_F(EngineObserversTest, AnObserverMayLeaveFromItsOwnCall) {
  Start();
  recorder_->on_event = [&](const Recorder::Seen&) { engine_->Unsubscribe(recorder_, OnDisconnect::kDetach); };
  const JobId id = Submit(Request("copy"), 1);
  ASSERT_TRUE(Eventually([&] { return StateOf(id) == JobState::kCompleted && !recorder_->events(1).empty(); }));
  EXPECT_THAT(recorder_->events(1), SizeIs(1)) << "no call begins after it left";
}

TEST_F(EngineObserversTest, TwoThreadsInCallsMayBothLeave) {
  AddDevice({.lanes = 2});
  Start();
  // Two threads are in the call when either leaves: neither may wait for the other for ever. Whoever submits also tells
  // what happened meanwhile, so that it may be one of the two: each job has its own.
  // A call may outlast the drain, and the body of this test, since nobody waits for the calls of an observer that left.
  const auto both = std::make_shared<std::latch>(2);
  recorder_->on_event = [this, both, engine = engine_.get()](const Recorder::Seen& seen) {
    if (seen.end == nullptr) return;
    both->arrive_and_wait();
    engine->Unsubscribe(recorder_, OnDisconnect::kDetach);
  };
  std::thread first([&] { Submit(Request("copy"), 1); });
  Submit(Request("copy"), 2);
  first.join();
  EXPECT_TRUE(engine_->Drain(kPatience, "test"));
  EXPECT_TRUE(Eventually([&] { return both->try_wait(); })) << "both were in the call";
}

TEST_F(EngineObserversTest, AnObserverMayCallTheEngine) {
  Start();
  recorder_->on_event = [&](const Recorder::Seen& seen) {
    if (seen.tag < 5 && seen.end != nullptr) {
      EXPECT_TRUE(engine_->Submit(kAlice, Request("copy"), recorder_, seen.tag + 1).ok());
    }
    EXPECT_TRUE(engine_->Get(kAlice, seen.id).ok());
    EXPECT_TRUE(engine_->Cancel(kAlice, seen.id).ok());
  };
  Submit(Request("copy"), 1);
  EXPECT_NE(recorder_->AwaitEnd(5), nullptr);
}

TEST_F(EngineObserversTest, AnAttachedJobsDataAreNotKeptAfterTheyWereDelivered) {
  Start();
  JobRequest request = Request("copy");
  request.attached = true;
  const JobId id = Submit(request, 1);
  EXPECT_NE(recorder_->AwaitEnd(1)->outputs[0].data, nullptr);
  EXPECT_TRUE(Eventually([&] { return engine_->Get(kAlice, id)->end->outputs_dropped; }));
  const auto end = engine_->Get(kAlice, id)->end;
  EXPECT_EQ(end->outputs[0].data, nullptr);
  EXPECT_TRUE(end->receipt.has_value());
  EXPECT_EQ(ToString(end->outputs[0].signature), "float32 [3]");

  request.request_id = "r";
  const JobId kept = Submit(request, 2);
  ASSERT_NE(recorder_->AwaitEnd(2), nullptr);
  ASSERT_TRUE(engine_->Drain(kPatience, "test"));
  EXPECT_FALSE(engine_->Get(kAlice, kept)->end->outputs_dropped) << "a retry may ask for it";
}

TEST_F(EngineObserversTest, EndedJobsAreForgottenByAge) {
  options_.result_retention = std::chrono::minutes(1);
  options_.inline_bytes = 1;
  Start();
  const JobId id = Submit(Request("copy"), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  clock_.Advance(std::chrono::seconds(59));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // ticks in which nothing must happen
  EXPECT_TRUE(engine_->Get(kAlice, id).ok());
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_TRUE(Eventually([&] { return !engine_->Get(kAlice, id).ok(); }));
  EXPECT_TRUE(Eventually([&] { return store_->List(kAlice).empty(); }));
}

TEST_F(EngineObserversTest, AKeptOutputOutlivesItsJob) {
  options_.retained_jobs = 1;
  Start();
  JobRequest request = Request("copy");
  request.outputs = {{"y", true, "Y", std::nullopt}};
  const JobId id = Submit(request, 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  ASSERT_TRUE(engine_->Fetch(kAlice, id).ok());
  Submit(Request("copy"), 2);
  ASSERT_NE(recorder_->AwaitEnd(2), nullptr);
  EXPECT_TRUE(Eventually([&] { return !engine_->Get(kAlice, id).ok(); }));
  EXPECT_TRUE(store_->Describe(kAlice, "Y").ok());
}

TEST_F(EngineObserversTest, ListsAreNewestFirstFilteredAndPaged) {
  Start();
  Submit(Request("copy"), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  Submit(Request("other"), 2);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy"), 3);
  Submit(Request("copy"), 4, kAlice2);
  JobRequest urgent = Request("copy");
  urgent.priority = 5;
  Submit(urgent, 5);
  Submit(Request("copy"), 6, kBob);
  const auto ids = [](const std::vector<JobSnapshot>& jobs) {
    std::vector<std::string> list;
    for (const JobSnapshot& job : jobs) list.push_back(job.id.value());
    return list;
  };
  EXPECT_THAT(ids(engine_->List(kAlice, {})), ElementsAre("5", "4", "3", "2", "1"));
  EXPECT_THAT(ids(engine_->List(kRoot, {})), SizeIs(6));
  EXPECT_THAT(ids(engine_->List(kAlice, {.session = kAlice2.session})), ElementsAre("4"));
  EXPECT_THAT(ids(engine_->List(kAlice, {.active_only = true})), ElementsAre("5", "4", "3", "2"));
  EXPECT_THAT(ids(engine_->List(kAlice, {.limit = 2})), ElementsAre("5", "4"));
  EXPECT_THAT(ids(engine_->List(kAlice, {.limit = 2, .before_id = "4"})), ElementsAre("3", "2"));
  EXPECT_THAT(ids(engine_->List(kAlice, {.before_id = "no id"})), IsEmpty());

  std::map<std::string, int> positions;
  for (const JobSnapshot& job : engine_->List(kRoot, {})) positions[job.id.value()] = job.queue_position;
  EXPECT_EQ(positions["5"], 0) << "the higher priority";
  EXPECT_EQ(positions["6"], 1) << "its token had less than the other";
  EXPECT_EQ(positions["4"], 2) << "its session had one job less than that of job 3";
  EXPECT_EQ(positions["3"], 3);
  EXPECT_EQ(engine_->Get(kAlice, JobId("4"))->queue_position, 2);
}

TEST_F(EngineObserversTest, SessionsShareFairly) {
  constexpr float kOfAlice = 1, kOfBob = 2;
  std::vector<float> order;  // of the runs, all on one lane
  bodies_["copy"] = [&](const Task& task, TaskControl& control) {
    order.push_back(static_cast<const float*>(task.call.inputs[0].data)[0]);
    return CopyBody(task, control);
  };
  Start();
  Submit(Request("other"), 100);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  for (std::uint64_t i = 0; i < 4; ++i) Submit(Request("copy", {kOfAlice}), i, kAlice);
  for (std::uint64_t i = 0; i < 4; ++i) Submit(Request("copy", {kOfBob}), 10 + i, kBob);
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(9));
  ASSERT_EQ(order.size(), 8u);
  EXPECT_EQ(std::count(order.begin(), order.begin() + 4, kOfBob), 2) << ::testing::PrintToString(order);
}

TEST_F(EngineObserversTest, StatusCountsAndIdleTime) {
  Start();
  clock_.Advance(std::chrono::seconds(30));
  EXPECT_EQ(engine_->Status().idle, std::chrono::seconds(30));
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy"), 2);
  clock_.Advance(std::chrono::seconds(5));
  const EngineStatus busy = engine_->Status();
  EXPECT_EQ(busy.running, 1u);
  EXPECT_EQ(busy.pending, 1u);
  EXPECT_EQ(busy.idle, nanoseconds::zero());
  EXPECT_EQ(busy.devices[0].running, 1u);
  EXPECT_TRUE(Eventually([&] {
    clock_.Advance(std::chrono::milliseconds(50));
    return engine_->Status().devices[0].busy_fraction > 0.9;
  }));
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(2));
  clock_.Advance(std::chrono::seconds(7));
  EXPECT_EQ(engine_->Status().idle, std::chrono::seconds(7));
  EXPECT_EQ(engine_->Status().ended, 2u);
}

}  // namespace
}  // namespace hotplate::core::testing
