// How many jobs of one kind run at a time: the rule alone, in the scheduler, and as it is told.
#include "server/core/schedule/side_by_side.h"

#include <thread>

#include "tests/unit/core/engine_fixture.h"
#include "tests/unit/core/scheduler_fixture.h"

namespace hotplate::core::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr RunTimes::Kind kKind = 1000, kOther = 2000;
constexpr std::uint32_t kLanes = 4;

class SideBySideTest : public ::testing::Test {
 protected:
  void Ran(double together, nanoseconds time, int runs = SideBySide::kNeeded) {
    for (int i = 0; i < runs; ++i) side_by_side_.Ran(kKind, together, time);
  }
  std::uint32_t Most() const { return side_by_side_.MostOf(kKind, kLanes); }

  SideBySide side_by_side_;
};

TEST_F(SideBySideTest, NothingIsHeldBackThatWasNotMeasured) {
  EXPECT_EQ(Most(), kLanes);
  Ran(1, seconds(1));
  EXPECT_EQ(Most(), kLanes) << "how they run together is not known";
  Ran(2, seconds(2), SideBySide::kNeeded - 1);
  EXPECT_EQ(Most(), kLanes) << "too few runs";
  Ran(2, seconds(2), 1);
  EXPECT_EQ(Most(), 1U);
  EXPECT_EQ(side_by_side_.MostOf(kOther, kLanes), kLanes);
}

TEST_F(SideBySideTest, AsManyAsAreQuicker) {
  Ran(1, seconds(10));
  Ran(2, seconds(11));
  EXPECT_EQ(Most(), kLanes) << "and nothing tells of more";
  Ran(3, seconds(16));
  EXPECT_EQ(Most(), 2U) << "3 in 16 s are 1.03 of the rate of 2 in 11 s";
  Ran(4, seconds(12), 5);
  EXPECT_EQ(Most(), kLanes);
}

TEST_F(SideBySideTest, MoreThanThereAreLanesIsNeverAsked) {
  Ran(3, seconds(10));
  Ran(4, seconds(20));
  EXPECT_EQ(side_by_side_.MostOf(kKind, 2), 2U);
}

TEST_F(SideBySideTest, ThoseInBetweenCountForNeither) {
  Ran(1, seconds(1));
  Ran(1.5, seconds(3), 10);
  EXPECT_EQ(Most(), kLanes);
}

TEST_F(SideBySideTest, AKindThatNeverRanAloneIsTriedAlone) {
  Ran(2, seconds(2), SideBySide::kTogetherBeforeTrial - 1);
  EXPECT_EQ(Most(), kLanes);
  Ran(2, seconds(2), 1);
  EXPECT_EQ(Most(), 1U);
  Ran(1, seconds(1) + milliseconds(900));
  EXPECT_EQ(Most(), kLanes) << "together is better";
}

TEST_F(SideBySideTest, ATrialThatOthersDisturbIsGivenUp) {
  Ran(2, seconds(2), SideBySide::kTogetherBeforeTrial);
  for (std::uint32_t i = 0; i < SideBySide::kTrialRuns; ++i) {
    EXPECT_EQ(Most(), 1U) << i;
    side_by_side_.Ran(kKind, std::nullopt, seconds(2));
  }
  EXPECT_EQ(Most(), kLanes);
}

TEST_F(SideBySideTest, ATrialOfRunsThatDoNotCompleteIsGivenUp) {
  Ran(2, seconds(2), SideBySide::kTogetherBeforeTrial);
  for (std::uint32_t i = 0; i < SideBySide::kTrialRuns; ++i) {
    EXPECT_EQ(Most(), 1U) << i;
    side_by_side_.EndedOtherwise(kKind);
  }
  EXPECT_EQ(Most(), kLanes);
}

TEST_F(SideBySideTest, RunsThatBeganBeforeTheTrialDoNotCountForIt) {
  Ran(8, seconds(8), SideBySide::kTogetherBeforeTrial + 7);
  Ran(1, seconds(1));
  EXPECT_EQ(side_by_side_.MostOf(kKind, 8), 1U) << "8 at a time are no quicker";
}

TEST_F(SideBySideTest, AKindThatIsShortAloneIsNeverLimited) {
  Ran(2, SideBySide::kShortest + milliseconds(1), SideBySide::kTogetherBeforeTrial);
  EXPECT_EQ(Most(), 1U) << "on trial";
  Ran(1, SideBySide::kShortest - milliseconds(2), 1);
  EXPECT_EQ(Most(), kLanes);
}

TEST_F(SideBySideTest, ShortOnesWaitForNobody) {
  Ran(1, SideBySide::kShortest / 2);
  Ran(2, SideBySide::kShortest - nanoseconds(1));
  EXPECT_EQ(Most(), kLanes);
}

TEST_F(SideBySideTest, TheNewestRunsCountAndAllIsMeasuredAgainLater) {
  Ran(1, seconds(1));
  Ran(2, seconds(2));
  Ran(2, seconds(1), 5);
  EXPECT_EQ(Most(), kLanes) << "the device is quicker now";
  Ran(2, seconds(2), 5);
  ASSERT_EQ(Most(), 1U);
  Ran(1, seconds(1), SideBySide::kRunsBeforeNew);
  EXPECT_EQ(Most(), kLanes);
}

TEST_F(SideBySideTest, KindsAreNotKeptForEver) {
  Ran(1, seconds(1));
  Ran(2, seconds(2));
  for (RunTimes::Kind kind = 1; kind <= SideBySide::kMostKinds; ++kind) {
    side_by_side_.Ran(kKind + kind, 1, seconds(1));
  }
  EXPECT_EQ(Most(), kLanes) << "forgotten";
}

// Two lanes of the first device.
class CrowdTest : public SchedulerTest {
 protected:
  CrowdTest() : SchedulerTest(100) {
    scheduler_.AddSeat(0, first_);
    scheduler_.AddSeat(0, second_);
  }
  Entry& QueueOf(RunTimes::Kind kind) {
    Entry& entry = entries_.emplace_back(MakeEntry(0, 0));
    entry.needs = entry.own_needs;
    entry.kind = kind;
    entry.comparable = true;
    Queue(entry);
    return entry;
  }
  void RunAlone(nanoseconds time) {
    QueueOf(kKind);
    ASSERT_NE(scheduler_.Take(first_).entry, nullptr);
    clock_.Advance(time);
    scheduler_.Finished(first_, true);
  }
  void RunTogether(nanoseconds time) {
    QueueOf(kKind);
    QueueOf(kKind);
    ASSERT_NE(scheduler_.Take(first_).entry, nullptr);
    ASSERT_NE(scheduler_.Take(second_).entry, nullptr);
    clock_.Advance(time);
    scheduler_.Finished(first_, true);
    scheduler_.Finished(second_, true);
  }
  void MeasureThatTheyGainNothing() {
    RunAlone(seconds(60));  // cold
    for (int i = 0; i < 3; ++i) RunAlone(seconds(1));
    for (int i = 0; i < 2; ++i) RunTogether(seconds(2));
  }
  // Lets the second lane look once, and returns its entry.
  const QueueEntry* SecondTakes() {
    std::atomic<const QueueEntry*> taken{nullptr};
    std::atomic<bool> over{false};
    std::thread lane([&] {
      taken = scheduler_.Take(second_).entry;
      over = true;
    });
    EXPECT_TRUE(Eventually([&] { return over || scheduler_.devices()[0].idle_lanes == 1; }));
    const QueueEntry* const found = taken;
    scheduler_.Stop();
    lane.join();
    return found;
  }

  Scheduler::Seat first_, second_;
  std::list<Entry> entries_;
};

TEST_F(CrowdTest, OneOfAKindThatGainsNothingWaitsForTheOther) {
  MeasureThatTheyGainNothing();
  const Entry &runs = QueueOf(kKind), &waits = QueueOf(kKind);
  ASSERT_EQ(scheduler_.Take(first_).entry, &runs);
  const Standing standing = scheduler_.StandingOf(waits, 10, [](const QueueEntry&) { return SeenEntry(); });
  EXPECT_EQ(standing.devices[0].free_places, 1U);
  EXPECT_EQ(standing.devices[0].MostOf(kKind), 1U);
  EXPECT_EQ(SecondTakes(), nullptr);
  EXPECT_FALSE(waits.lacked_room);
}

TEST_F(CrowdTest, ProgramsThatShareALabelAreNotCompared) {
  MeasureThatTheyGainNothing();
  const Entry& runs = QueueOf(kKind);
  Entry& program = QueueOf(kKind);
  program.comparable = false;
  ASSERT_EQ(scheduler_.Take(first_).entry, &runs);
  EXPECT_EQ(SecondTakes(), &program);
}

TEST_F(CrowdTest, OneIsNotLeftToAHomeThatIsCrowded) {
  Scheduler::Seat elsewhere;
  scheduler_.AddSeat(1, elsewhere);
  MeasureThatTheyGainNothing();
  const Entry& runs = QueueOf(kKind);
  ASSERT_EQ(scheduler_.Take(first_).entry, &runs);
  Entry& homed = entries_.emplace_back(++number_, std::vector<DeviceNeed>{{.device = 0}, {.device = 1}}, kernel_);
  homed.home = 1;
  homed.kind = kKind;
  homed.comparable = true;
  Queue(homed);
  EXPECT_EQ(scheduler_.Take(elsewhere).entry, &homed);
}

TEST_F(CrowdTest, AnotherKindPassesIt) {
  MeasureThatTheyGainNothing();
  const Entry& runs = QueueOf(kKind);
  QueueOf(kKind);
  const Entry& other = QueueOf(kOther);
  ASSERT_EQ(scheduler_.Take(first_).entry, &runs);
  EXPECT_EQ(SecondTakes(), &other);
}

TEST_F(CrowdTest, ThoseThatGainRunTogether) {
  RunAlone(seconds(60));
  for (int i = 0; i < 3; ++i) RunAlone(seconds(1));
  for (int i = 0; i < 2; ++i) RunTogether(seconds(1));
  const Entry &runs = QueueOf(kKind), &second = QueueOf(kKind);
  ASSERT_EQ(scheduler_.Take(first_).entry, &runs);
  EXPECT_EQ(SecondTakes(), &second);
}

TEST_F(CrowdTest, ARunBesideAnotherKindTellsNothing) {
  RunAlone(seconds(60));
  for (int i = 0; i < 3; ++i) RunAlone(seconds(1));
  for (int i = 0; i < 3; ++i) {
    QueueOf(kKind);
    QueueOf(kOther);
    ASSERT_NE(scheduler_.Take(first_).entry, nullptr);
    ASSERT_NE(scheduler_.Take(second_).entry, nullptr);
    clock_.Advance(seconds(2));
    scheduler_.Finished(first_, true);
    scheduler_.Finished(second_, true);
  }
  const Entry &runs = QueueOf(kKind), &second = QueueOf(kKind);
  ASSERT_EQ(scheduler_.Take(first_).entry, &runs);
  EXPECT_EQ(SecondTakes(), &second);
}

// Runs end as the test lets them.
class CrowdedEngineTest : public EngineTest {
 protected:
  CrowdedEngineTest() {
    bodies_["silent"] = [this](const Task& task, TaskControl& control) {
      const int number = ++begun_;
      while (number > may_end_) std::this_thread::sleep_for(milliseconds(1));
      return CopyBody(task, control);
    };
    AddDevice({.lanes = 2});
    Start();
  }
  ~CrowdedEngineTest() override { may_end_ = 1000; }
  JobId Begin() {
    const JobId id = Submit(Request("silent", std::vector<float>(3)), ++tag_);
    ++begin_;
    EXPECT_TRUE(Eventually([&] { return begun_ == begin_; }));
    return id;
  }
  void EndAll(nanoseconds after) {
    clock_.Advance(after);
    may_end_ = begin_;
    EXPECT_TRUE(Eventually([&] { return engine_->Status().running == 0; }));
  }

  std::atomic<int> begun_{0}, may_end_{0};
  int begin_ = 0;
  std::uint64_t tag_ = 0;
};

TEST_F(CrowdedEngineTest, WhySaysWhatWasMeasured) {
  for (int i = 0; i < 4; ++i) {
    Begin();
    EndAll(seconds(10));
  }
  for (int i = 0; i < 2; ++i) {
    Begin();
    Begin();
    EndAll(seconds(20));
  }
  const JobId runs = Begin();
  clock_.Advance(seconds(4));
  const JobId waits = Submit(Request("silent", std::vector<float>(3)), ++tag_);
  const absl::StatusOr<WhyReport> why = engine_->Why(kAlice, waits);
  ASSERT_TRUE(why.ok());
  EXPECT_EQ(why->cause, WaitCause::kKind);
  EXPECT_EQ(why->most_together, 1U);
  EXPECT_THAT(
      TextOf(*why),
      HasSubstr("waits for others like it: 1 runs at a time on cpu0, by what was measured or to measure it; job " +
                runs.value() + " (silent) runs on cpu0 and ends in about"));
  EXPECT_GT(why->starts_in, seconds(1)) << "although a lane is free";
  may_end_ = begin_;
  EXPECT_TRUE(Eventually([&] { return begun_ == begin_ + 1; })) << "the end of the other lets it begin";
}

}  // namespace
}  // namespace hotplate::core::testing
