// Why jobs wait, when they will start, and what is refused because it would not end in time.
#include "server/core/why.h"

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

// Takes no events down.
class NoLog : public JobLog {
 public:
  void Append(const Job&, const JobEvent&) override {}
  void WriteStart(const Job&, const JobEvent&, std::uint64_t) override {}
  void WriteEnd(std::shared_ptr<const Job>, const JobEvent&, std::uint64_t, std::function<void()> told) override {
    told();
  }
  void WriteTasks(const Job&, TaskRows) override {}
  void Suspend() override {}
  void Stop() override {}
};

class WhyTest : public EngineTest {
 protected:
  WhyTest() {
    bodies_["loop"] = Cancellable();
    bodies_["other"] = Uninterruptible();
    bodies_["silent"] = Uninterruptible();
    options_.allocation_end = [this]() -> std::optional<WallTime> {
      if (end_.load() == 0) return std::nullopt;
      return WallTime(WallTime::duration(end_.load()));
    };
    options_.has_successor = [this] {
      ++asked_;
      return has_successor_.load();
    };
  }

  // Jobs of this kernel and size took so long.
  void Took(const std::string& kernel, nanoseconds time, std::size_t size = 3, int runs = 3) {
    for (int i = 0; i < runs; ++i) {
      // No cost model: bytes of inputs and outputs.
      engine_->Learn({kernel, "float32", "fake", {0, 8.0 * static_cast<double>(size)}, time, false});
    }
  }
  // Without a bound of its work, so that it is no tiny job.
  static JobRequest Slow(std::size_t size = 3) { return Request("silent", std::vector<float>(size)); }
  void RunOne() {
    Submit(Slow(), 1);
    ASSERT_TRUE(gate_.AwaitEntered(1));
  }
  WhyReport Why(const JobId& id, const Principal& who = kAlice) {
    const absl::StatusOr<WhyReport> why = engine_->Why(who, id);
    EXPECT_TRUE(why.ok()) << why.status();
    return *why;
  }
  std::vector<std::string> InTheWay(const WhyReport& why) {
    std::vector<std::string> ids;
    for (const WhyReport::Other& one : why.others) ids.push_back(one.who.id.value());
    return ids;
  }
  JobId AcceptDurable(JobRequest request, const std::string& request_id) {
    request.request_id = request_id;
    absl::StatusOr<Engine::Accepted> accepted = engine_->Accept(kAlice, std::move(request));
    EXPECT_TRUE(accepted.ok()) << accepted.status();
    if (!accepted.ok()) return JobId();
    engine_->Acknowledge(*accepted->job);
    return accepted->id;
  }

  void AllocationEndsIn(nanoseconds time) { end_ = (clock_.WallNow() + time).time_since_epoch().count(); }

  std::atomic<WallTime::rep> end_{0};
  std::atomic<bool> has_successor_{false};
  std::atomic<int> asked_{0};  // about the successor
};

TEST_F(WhyTest, ALaneThatAnotherJobHas) {
  Start();
  Took("silent", seconds(10));
  RunOne();
  clock_.Advance(seconds(4));
  const WhyReport why = Why(Submit(Slow(), 2));
  EXPECT_EQ(why.cause, WaitCause::kPlace);
  EXPECT_THAT(InTheWay(why), ElementsAre("1"));
  EXPECT_THAT(why.starts_in, Optional(nanoseconds(seconds(6))));
  EXPECT_EQ(
      TextOf(why),
      "job 2 waits for a lane of cpu0; job 1 (silent) runs on cpu0 and ends in about 6 s; it probably starts in about "
      "6 s");
  EXPECT_EQ(engine_->Get(kAlice, JobId("2"))->start_forecast, seconds(6));
}

TEST_F(WhyTest, WithoutHistoryNothingIsForetold) {
  Start();
  RunOne();
  const WhyReport why = Why(Submit(Slow(), 2));
  EXPECT_EQ(why.starts_in, std::nullopt);
  EXPECT_EQ(
      TextOf(why),
      "job 2 waits for a lane of cpu0; job 1 (silent) runs on cpu0; no forecast: no history of silent on cpu0 yet");
  EXPECT_EQ(engine_->Get(kAlice, JobId("2"))->start_forecast, std::nullopt);
}

TEST_F(WhyTest, TheOrderOfTheQueue) {
  Start();
  Took("silent", seconds(10));
  RunOne();
  Submit(Slow(), 2);
  JobRequest urgent = Slow();
  urgent.priority = 5;
  Submit(std::move(urgent), 3, kBob);
  Submit(Slow(), 4, kBob);
  const WhyReport why = Why(Submit(Slow(), 5));
  EXPECT_EQ(why.cause, WaitCause::kOrder);
  EXPECT_EQ(why.ahead.of_higher_priority, 1U);
  EXPECT_EQ(why.ahead.of_own_share, 1U);
  EXPECT_EQ(why.ahead.all(), 3U);
  EXPECT_THAT(why.starts_in, Optional(nanoseconds(seconds(40))));
  EXPECT_THAT(TextOf(why),
              HasSubstr("3 jobs before it: 1 of higher priority, 1 of its own session, 1 of other sessions"));
  EXPECT_EQ(engine_->Get(kAlice, JobId("5"))->queue_position, 3);
}

TEST_F(WhyTest, JobsOfAnotherTokenAreNotNamed) {
  Start();
  Took("silent", seconds(10));
  Submit(Slow(), 1, kBob);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const WhyReport why = Why(Submit(Slow(), 2));
  EXPECT_THAT(TextOf(why), HasSubstr("job 1 (another user's) runs on cpu0 and ends in about 10 s"));
  EXPECT_EQ(engine_->Why(kAlice, JobId("1")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(WhyTest, MemoryOfTheDevice) {
  AddDevice({.id = "gpu0", .backend = "cuda", .memory_bytes = 10'000'000, .lanes = 2, .host_memory = false});
  Start();
  Took("silent", seconds(10), 1'000'000);
  Submit(Slow(1'000'000), 1);  // in and out: 8 MB
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const WhyReport why = Why(Submit(Slow(1'000'000), 2));
  EXPECT_EQ(why.cause, WaitCause::kMemory);
  ASSERT_TRUE(why.memory);
  EXPECT_EQ(why.memory->bytes_needed, 8'000'000U);
  EXPECT_THAT(why.starts_in, Optional(nanoseconds(seconds(10))));
  EXPECT_EQ(TextOf(why),
            "job 2 waits for memory on gpu0: it needs 8.0 MB, 2.0 MB are free; job 1 (silent) holds 8.0 MB and ends in "
            "about 10 s; it probably starts in about 10 s");
}

TEST_F(WhyTest, JobsThatItDependsOn) {
  Start();
  Took("silent", seconds(10));
  RunOne();
  JobRequest second = Slow(), third = Slow();
  second.after = {JobRef{JobId("1")}};
  third.after = {JobRef{JobId("1")}, JobRef{Submit(std::move(second), 2)}};
  const WhyReport why = Why(Submit(std::move(third), 3));
  EXPECT_EQ(why.cause, WaitCause::kJobs);
  EXPECT_THAT(InTheWay(why), ElementsAre("1", "2"));
  EXPECT_EQ(why.others[1].waits_for.value(), "1");
  EXPECT_THAT(why.starts_in, Optional(nanoseconds(seconds(20)))) << "the second, too, has yet to run";
  EXPECT_THAT(TextOf(why), HasSubstr("job 2 (silent) waits itself for job 1 and ends in about 20 s"));
  clock_.Advance(seconds(7));
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnd(3));
  const WhyReport ended = Why(JobId("3"));
  EXPECT_EQ(ended.cause, WaitCause::kNone);
  EXPECT_EQ(ended.held, seconds(7));
  EXPECT_THAT(TextOf(ended), HasSubstr("job 3 is COMPLETED; it waited 7 s, 7 s of it for the jobs"));
}

TEST_F(WhyTest, OneThatRunsAndOneThatHasEnded) {
  Start();
  Took("silent", seconds(10));
  RunOne();
  clock_.Advance(seconds(2));
  EXPECT_THAT(Why(JobId("1")).ends_in, Optional(nanoseconds(seconds(8))));
  EXPECT_EQ(TextOf(Why(JobId("1"))), "job 1 has run on cpu0 for 2 s; it probably ends in about 8 s; it did not wait");
  Submit(Slow(), 2);
  clock_.Advance(seconds(6));
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnd(2));
  const std::shared_ptr<const JobEnd> end = recorder_->AwaitEnd(2);
  EXPECT_THAT(end->receipt->queue_forecast, Optional(nanoseconds(seconds(8))));
  EXPECT_EQ(end->receipt->queue, seconds(6));
  EXPECT_EQ(TextOf(Why(JobId("2"))), "job 2 is COMPLETED; it waited 6 s; the forecast was 8 s");
}

TEST_F(WhyTest, ALongQueueIsForetoldWithoutAPlay) {
  options_.queued_jobs = 2000;
  Start();
  Took("silent", seconds(1));
  RunOne();
  for (int i = 0; i < 1000; ++i) Submit(Slow(), 0);
  const WhyReport why = Why(Submit(Slow(), 0));
  EXPECT_EQ(why.ahead.all(), 1000U);
  ASSERT_TRUE(why.starts_in);
  EXPECT_NEAR(static_cast<double>(why.starts_in->count()) * 1e-9, 1001, 1);
}

TEST_F(WhyTest, WhatWouldNotEndInTimeIsRefusedWithBothTimes) {
  Start();
  Took("silent", minutes(10), 3, /*runs=*/2);
  AllocationEndsIn(minutes(5));
  EXPECT_TRUE(engine_->Check(kAlice, Slow()).ok()) << "two runs prove nothing";
  Took("silent", minutes(10), 3, /*runs=*/1);
  const absl::Status refusal = Refusal(Slow());
  EXPECT_EQ(refusal.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Fields(refusal), ElementsAre("time_limit"));
  EXPECT_THAT(Text(refusal), HasSubstr("silent of this size takes about 10 m"));
  EXPECT_THAT(Text(refusal), HasSubstr("only 5 m are left"));
  EXPECT_EQ(engine_->Check(kAlice, Slow()).status(), refusal);
  JobRequest limited = Slow();
  limited.time_limit = minutes(4);
  Submit(std::move(limited), 1);  // the caller's own word
  EXPECT_TRUE(engine_->Check(kAlice, Request("loop")).ok()) << "without history nothing is refused";
  AllocationEndsIn(hours(1));
  Submit(Slow(), 2);
}

// It is each task's, and the caller's own word all the same.
TEST_F(WhyTest, ASweepWithATimeLimitMayTakeLonger) {
  Start();
  constexpr std::size_t kSize = 1'000'000;
  for (int i = 0; i < 3; ++i) engine_->Learn({"loop", "float32", "fake", {2.0 * kSize, 8}, minutes(10), false});
  AllocationEndsIn(minutes(5));
  JobRequest sweep = Request("loop", std::vector<float>(kSize));
  SweepPlan::Parts parts;
  parts.axes = {{"seed", SweepRange{std::int64_t{1}, std::int64_t{1}, 2}}};
  sweep.sweep = SweepPlan::Make(std::move(parts)).value();
  EXPECT_EQ(Refusal(sweep).code(), absl::StatusCode::kFailedPrecondition);
  sweep.time_limit = minutes(4);
  EXPECT_TRUE(engine_->Check(kAlice, sweep).ok());
  const JobId id = Submit(std::move(sweep), 1);
  EXPECT_EQ(engine_->Cancel(kAlice, id).status(), absl::OkStatus());
}

TEST_F(WhyTest, ADetachedJobIsLeftForTheSuccessor) {
  options_.job_log = std::make_shared<NoLog>();
  Start();
  Took("silent", minutes(10));
  AllocationEndsIn(minutes(5));
  has_successor_ = true;
  const JobId left = AcceptDurable(Slow(), "left");
  EXPECT_EQ(StateOf(left), JobState::kPending);
  EXPECT_TRUE(engine_->LeavesJobs());
  EXPECT_EQ(engine_->Status().pending, 1U);
  const WhyReport why = Why(left);
  EXPECT_EQ(why.cause, WaitCause::kAllocationEnd);
  EXPECT_THAT(TextOf(why), HasSubstr("waits for the next daemon: it takes about 10 m"));
  EXPECT_EQ(Refusal(Slow()).code(), absl::StatusCode::kFailedPrecondition) << "an attached one cannot be left";
  clock_.Advance(minutes(1));
  EXPECT_GE(engine_->Status().idle, minutes(1)) << "nothing else goes on";

  // The end is put off.
  AllocationEndsIn(hours(1));
  ASSERT_TRUE(gate_.AwaitEntered(1)) << "it runs after all";
  EXPECT_FALSE(engine_->LeavesJobs());
}

TEST_F(WhyTest, OneThatIsLeftStaysSoWhileItsDeviceIsLost) {
  options_.job_log = std::make_shared<NoLog>();
  bodies_["loop"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::DeviceLost("error 700")); };
  Start();
  Took("silent", minutes(10));
  AllocationEndsIn(minutes(5));
  has_successor_ = true;
  const JobId left = AcceptDurable(Slow(), "left");
  Submit(Request("loop"), 7);
  recorder_->AwaitEnd(7);
  ASSERT_TRUE(Eventually([&] { return !engine_->Status().devices[0].lost.empty(); }));
  AllocationEndsIn(hours(1));
  const int before = asked_;
  ASSERT_TRUE(Eventually([&] { return asked_ > before + 2; })) << "those that are left were looked at again and again";
  EXPECT_TRUE(Eventually([&] { return engine_->LeavesJobs(); }));
  EXPECT_TRUE(Eventually([&] { return Why(left).cause == WaitCause::kAllocationEnd; }));
  EXPECT_EQ(StateOf(left), JobState::kPending);
}

// A daemon that only has such jobs is idle from the last end of another.
TEST_F(WhyTest, JobsThatAreLeftMakeNobodyLookIdleForLong) {
  options_.job_log = std::make_shared<NoLog>();
  Start();
  Took("silent", minutes(10));
  AllocationEndsIn(minutes(5));
  has_successor_ = true;
  AcceptDurable(Slow(), "left");
  clock_.Advance(minutes(1));
  Submit(Request("copy"), 8);
  recorder_->AwaitEnd(8);
  EXPECT_LT(engine_->Status().idle, minutes(1));
}

TEST_F(WhyTest, OneThatIsLeftCanBeCancelled) {
  options_.job_log = std::make_shared<NoLog>();
  Start();
  Took("silent", minutes(10));
  AllocationEndsIn(minutes(5));
  has_successor_ = true;
  const JobId left = AcceptDurable(Slow(), "left");
  EXPECT_EQ(engine_->Cancel(kAlice, left)->state, JobState::kCancelled);
  EXPECT_FALSE(engine_->LeavesJobs());
  EXPECT_EQ(engine_->Status().pending, 0U);
}

TEST_F(WhyTest, WhatRanIsHistory) {
  Start();
  gate_.Open();
  for (std::uint64_t tag = 1; tag <= 2; ++tag) {
    Submit(Slow(), tag);
    ASSERT_TRUE(recorder_->AwaitEnd(tag));
  }
  EXPECT_THAT(Why(JobId("2")).run_time, Optional(::testing::Field(&RunTimes::Estimate::runs, 1U)))
      << "the first was cold";
}

}  // namespace
}  // namespace hotplate::core::testing
