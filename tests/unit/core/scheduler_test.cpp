// The scheduler alone: entries with needs, seats without lanes.
#include "server/core/schedule/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include "tests/unit/core/scheduler_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(SchedulerTest, APlaceInTheQueueIsKeptFromAdmission) {
  std::vector<std::unique_ptr<Entry>> entries;
  for (int i = 0; i < 4; ++i) {
    entries.push_back(std::make_unique<Entry>(MakeEntry()));
    ASSERT_TRUE(scheduler_.Admit(*entries.back()).ok());
  }
  Entry fifth = MakeEntry();
  const absl::Status full = scheduler_.Admit(fifth);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("the limit queue is 4"));
  scheduler_.Withdraw(*entries[0]);
  EXPECT_TRUE(scheduler_.Admit(fifth).ok());
}

TEST_F(SchedulerTest, ExactlyOneOfTakeAndRemoveGetsAnEntry) {
  Scheduler::Seat seat;
  scheduler_.AddSeat(0, seat);
  Entry taken = MakeEntry(), removed = MakeEntry();
  Queue(taken);
  Queue(removed);
  EXPECT_EQ(scheduler_.Take(seat).entry, &taken);
  EXPECT_FALSE(scheduler_.Remove(taken));
  EXPECT_TRUE(scheduler_.Remove(removed));
  EXPECT_FALSE(scheduler_.Remove(removed));
  EXPECT_EQ(scheduler_.waiting(), 0u);
  EXPECT_FALSE(scheduler_.Finished(seat, true));
  EXPECT_EQ(scheduler_.running(), 0u);
}

// Three places for workers beside a lane.
class WorkersTest : public ::testing::Test {
 protected:
  WorkersTest()
      : scheduler_({.queue_capacity = 10}, clock_,
                   {{.id = "a", .workers = 3, .room = {.total_bytes = 10 * kSize, .free_bytes = 10 * kSize}}}) {
    scheduler_.AddSeat(0, lane_);
    for (Scheduler::Seat& seat : places_) scheduler_.AddSeat(0, seat, /*for_worker=*/true);
  }
  ~WorkersTest() override {
    over_ = true;
    scheduler_.Stop();
    for (std::thread& thread : threads_) thread.join();
  }

  Entry& Queue(std::uint32_t workers) {
    Entry& entry = entries_.emplace_back(
        ++number_, std::vector<DeviceNeed>{{.device = 0, .peak_bytes = 0, .extra_bytes = 0}}, kernel_);
    entry.workers = workers;
    EXPECT_TRUE(scheduler_.Admit(entry).ok());
    EXPECT_EQ(scheduler_.Push(entry, false).entry, nullptr);
    return entry;
  }
  // A thread for each of these places, that keeps what it gets until the end.
  void Start(int first, int end = 3) {
    for (int i = first; i < end; ++i) {
      threads_.emplace_back([this, &seat = places_[i]] {
        while (scheduler_.Take(seat).entry != nullptr) {
          ++running_;
          while (!over_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          scheduler_.Finished(seat, true);
        }
      });
    }
  }

  FakeClock clock_;
  const SharedSpec kernel_ = FakeCatalog().specs().front();
  Scheduler scheduler_;
  Scheduler::Seat lane_, places_[3];
  std::list<Entry> entries_;
  std::uint64_t number_ = 0;
  std::vector<std::thread> threads_;
  std::atomic<int> running_{0};
  std::atomic<bool> over_{false};
};

TEST_F(WorkersTest, AnEntryTakesAsManyPlacesAsItAsksFor) {
  Queue(2);
  ASSERT_EQ(scheduler_.Take(places_[0]).entry, &entries_.front());
  Queue(2);
  const Entry& small = Queue(0);
  EXPECT_EQ(scheduler_.Take(lane_).entry, &small) << "a lane's entry waits for no worker";
  EXPECT_EQ(scheduler_.waiting(), 1U) << "one place is left, and it wants two";
  scheduler_.Finished(places_[0], true);
  EXPECT_EQ(scheduler_.Take(places_[0]).entry, &*std::next(entries_.begin()));
  scheduler_.Finished(places_[0], true);
  scheduler_.Finished(lane_, true);
}

TEST_F(WorkersTest, TheEndOfOneThatTookAllPlacesStartsSeveral) {
  Queue(3);
  ASSERT_NE(scheduler_.Take(places_[0]).entry, nullptr);
  Start(1);
  ASSERT_TRUE(Eventually([&] { return scheduler_.devices()[0].idle_workers == 2; }));
  for (int i = 0; i < 3; ++i) Queue(1);
  ASSERT_TRUE(Eventually([&] { return scheduler_.devices()[0].idle_workers == 2; })) << "they have looked in vain";
  scheduler_.Finished(places_[0], true);
  Start(0, 1);
  EXPECT_TRUE(Eventually([&] { return running_ == 3; })) << "without the ticker's look";
}

TEST_F(WorkersTest, TheDeviceIsAsBusyAsItsPlacesAreTaken) {
  scheduler_.Sample({10 * kSize}, true);
  Queue(2);
  ASSERT_NE(scheduler_.Take(places_[0]).entry, nullptr);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_NEAR(scheduler_.devices()[0].busy_fraction, 2.0 / 3, 1e-6);
  scheduler_.Finished(places_[0], true);
  EXPECT_NEAR(scheduler_.devices()[0].busy_fraction, 2.0 / 3, 1e-6);
}

TEST_F(SchedulerTest, AnEntryThatIsRemovedBeforeItIsPushedNeverRuns) {
  Entry entry = MakeEntry();
  ASSERT_TRUE(scheduler_.Admit(entry).ok());
  EXPECT_TRUE(scheduler_.Remove(entry));
  EXPECT_EQ(scheduler_.Push(entry, true).entry, nullptr);
  EXPECT_EQ(scheduler_.waiting(), 0u);
}

TEST_F(SchedulerTest, AnEntryWaitsForRoomAndGetsItFromTheOneThatEnds) {
  Scheduler::Seat first, second;
  scheduler_.AddSeat(0, first);
  scheduler_.AddSeat(0, second);
  Entry large = MakeEntry(0, 8 * kSize), other = MakeEntry(0, 8 * kSize);
  Queue(large);
  ASSERT_EQ(scheduler_.Take(first).entry, &large);
  Queue(other);
  Scheduler::Begun begun;
  std::thread lane([&] { begun = scheduler_.Take(second); });
  ASSERT_TRUE(Eventually([&] { return scheduler_.devices()[0].idle_lanes == 1; }));
  EXPECT_EQ(scheduler_.waiting(), 1u);
  scheduler_.Finished(first, true);
  scheduler_.Sample({10 * kSize, 10 * kSize}, false);  // as the ticker does; calls the idle lane
  lane.join();
  EXPECT_EQ(begun.entry, &other);
  EXPECT_FALSE(begun.cold) << "its kernel ran here before";
}

TEST_F(SchedulerTest, OnlyAWarmKernelRunsOnABorrowedSeat) {
  Scheduler::Seat seat;
  scheduler_.AddSeat(0, seat);
  std::thread lane([&] {
    while (scheduler_.Take(seat).entry != nullptr) scheduler_.Finished(seat, true);
  });
  const auto idle = [&] { return scheduler_.devices()[0].idle_lanes == 1 && scheduler_.running() == 0; };
  ASSERT_TRUE(Eventually(idle));
  Entry cold = MakeEntry(), warm = MakeEntry();
  ASSERT_TRUE(scheduler_.Admit(cold).ok());
  EXPECT_EQ(scheduler_.Push(cold, true).entry, nullptr);
  ASSERT_TRUE(Eventually(idle));
  ASSERT_TRUE(scheduler_.Admit(warm).ok());
  const Scheduler::Begun begun = scheduler_.Push(warm, true);
  EXPECT_EQ(begun.entry, &warm);
  EXPECT_EQ(begun.seat, &seat);
  EXPECT_EQ(scheduler_.ran_borrowed(), 1u);
  scheduler_.Finished(seat, true);
  EXPECT_TRUE(idle());
  scheduler_.Stop();
  lane.join();
}

TEST_F(SchedulerTest, ALostDeviceStrandsWhatCanRunNowhereElse) {
  Entry alone = MakeEntry(0);
  Entry either(++number_, {{.device = 0, .extra_bytes = 1}, {.device = 1, .extra_bytes = 1}}, kernel_);
  Queue(alone);
  Queue(either);
  const auto stranded = scheduler_.Lose(0, "off the bus");
  ASSERT_TRUE(stranded);
  EXPECT_THAT(*stranded, ::testing::ElementsAre(&alone));
  EXPECT_FALSE(scheduler_.Lose(0, "again"));
  EXPECT_EQ(scheduler_.LostDevices()[0], "off the bus");
  Entry later = MakeEntry(0);
  const absl::Status refused = scheduler_.Admit(later);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("off the bus"));
  Scheduler::Seat seat;
  scheduler_.AddSeat(1, seat);
  EXPECT_EQ(scheduler_.Take(seat).entry, &either);
}

TEST_F(SchedulerTest, ADeviceThatIsBackTakesEntriesAgainAndItsKernelsAreCold) {
  Scheduler::Seat seat;
  scheduler_.AddSeat(0, seat);
  Entry before = MakeEntry(), stranded = MakeEntry(), after = MakeEntry();
  Queue(before);
  ASSERT_TRUE(scheduler_.Take(seat).cold);
  scheduler_.Lose(0, "off the bus");
  scheduler_.Finished(seat, true);
  EXPECT_EQ(scheduler_.Take(seat).entry, nullptr);
  EXPECT_TRUE(scheduler_.StillLost(0, "no answer"));
  EXPECT_FALSE(scheduler_.StillLost(0, "no answer")) << "no news";
  EXPECT_EQ(scheduler_.devices()[0].lost, "off the bus; no answer");
  EXPECT_EQ(scheduler_.LostDevices()[0], "off the bus; no answer");
  EXPECT_THAT(std::string(scheduler_.Admit(stranded).message()), HasSubstr("off the bus; no answer"));

  scheduler_.Regain(0, kSize / 2);
  EXPECT_TRUE(scheduler_.LostDevices().empty());
  EXPECT_EQ(scheduler_.devices()[0].lost, "");
  Queue(after);
  std::thread waits([&] { scheduler_.Take(seat); });
  ASSERT_TRUE(Eventually([&] { return scheduler_.devices()[0].idle_lanes == 1; })) << "there is no room for it";
  scheduler_.Sample({10 * kSize, 10 * kSize}, false);
  waits.join();
  EXPECT_EQ(scheduler_.running(), 1u);
  scheduler_.Finished(seat, true);
  Entry again = MakeEntry();
  scheduler_.Lose(0, "once more");
  EXPECT_EQ(scheduler_.devices()[0].lost, "once more");
  scheduler_.Regain(0, 10 * kSize);
  Queue(again);
  EXPECT_TRUE(scheduler_.Take(seat).cold);
}

// Specs come and go; what is known of their kernels must not grow with them.
TEST_F(SchedulerTest, OfManyKernelsTheFirstIsColdOnceMore) {
  Scheduler::Seat seat;
  scheduler_.AddSeat(1, seat);
  const auto cold = [&](const SharedSpec& kernel) {
    Entry entry(++number_, {{.device = 1, .extra_bytes = 1}}, kernel);
    Queue(entry);
    const bool was = scheduler_.Take(seat).cold;
    scheduler_.Finished(seat, true);
    return was;
  };
  EXPECT_TRUE(cold(kernel_));
  EXPECT_FALSE(cold(kernel_));
  for (std::size_t i = 0; i < Scheduler::kMostWarm; ++i) {
    const auto made = KernelSpecBuilder("made", "").Output("o", "int8", "").Build();
    ASSERT_TRUE(cold(std::make_shared<const KernelSpec>(*made)));
  }
  EXPECT_TRUE(cold(kernel_));
}

TEST_F(SchedulerTest, ARunIsSharedIfAnotherOneWasThere) {
  Scheduler::Seat first, second;
  scheduler_.AddSeat(0, first);
  scheduler_.AddSeat(0, second);
  Entry one = MakeEntry(), two = MakeEntry(), three = MakeEntry();
  Queue(one);
  Queue(two);
  scheduler_.Take(first);
  scheduler_.Take(second);
  EXPECT_TRUE(scheduler_.Finished(first, true));
  EXPECT_TRUE(scheduler_.Finished(second, true));
  Queue(three);
  scheduler_.Take(first);
  EXPECT_FALSE(scheduler_.Finished(first, true));
}

class TurnsTest : public SchedulerTest {
 protected:
  TurnsTest() : SchedulerTest(8) {
    for (Scheduler::Seat& seat : seats_) scheduler_.AddSeat(0, seat);
  }
  Entry MakeOf(std::uint64_t turn, unsigned device = 0) {
    Entry entry = MakeEntry(device, kSize);
    entry.turn = turn;
    return entry;
  }

  Scheduler::Seat seats_[2];
};

TEST_F(TurnsTest, ThoseOfOneTurnGoOneAfterTheOtherAndHoldUpNobody) {
  Entry first = MakeOf(7), second = MakeOf(7), third = MakeOf(7), other = MakeOf(8), plain = MakeEntry(0, kSize);
  for (Entry* const entry : {&first, &second, &third, &other, &plain}) Queue(*entry);
  EXPECT_EQ(scheduler_.waiting(), 5u);
  EXPECT_EQ(scheduler_.Take(seats_[0]).entry, &first);
  EXPECT_EQ(scheduler_.Take(seats_[1]).entry, &other) << "a lane is no use to the second while the first runs";
  scheduler_.Finished(seats_[1], true);
  EXPECT_EQ(scheduler_.Take(seats_[1]).entry, &plain);
  EXPECT_EQ(scheduler_.Ahead(second), 1u) << "the one that runs";
  EXPECT_EQ(scheduler_.Ahead(third), 2u);
  scheduler_.Finished(seats_[0], true);
  EXPECT_EQ(scheduler_.Take(seats_[0]).entry, &second);
  scheduler_.Finished(seats_[0], true);
  EXPECT_EQ(scheduler_.Take(seats_[0]).entry, &third);
  scheduler_.Finished(seats_[0], true);
  EXPECT_EQ(scheduler_.waiting(), 0u);
}

TEST_F(TurnsTest, WhoeverLeavesGivesItsTurnToTheNext) {
  Entry first = MakeOf(7), second = MakeOf(7), third = MakeOf(7);
  for (Entry* const entry : {&first, &second, &third}) Queue(*entry);
  EXPECT_TRUE(scheduler_.Remove(second));  // it waits aside
  EXPECT_TRUE(scheduler_.Remove(first));   // it is in the queue
  EXPECT_EQ(scheduler_.Take(seats_[0]).entry, &third);
  EXPECT_FALSE(scheduler_.Remove(third));
  EXPECT_EQ(scheduler_.waiting(), 0u);
}

TEST_F(TurnsTest, WorkThatRunsMayClaimATurnThatNobodyHas) {
  Entry first = MakeOf(7), second = MakeOf(7);
  EXPECT_TRUE(scheduler_.ClaimTurn(7));
  EXPECT_FALSE(scheduler_.ClaimTurn(7));
  EXPECT_TRUE(scheduler_.ClaimTurn(8));
  Queue(first);
  Queue(second);
  Scheduler::Begun begun;
  std::thread lane([&] { begun = scheduler_.Take(seats_[0]); });
  ASSERT_TRUE(Eventually([&] { return scheduler_.devices()[0].idle_lanes == 1; }));
  scheduler_.LeaveTurn(7);  // which wakes the lane
  lane.join();
  EXPECT_EQ(begun.entry, &first);
  EXPECT_FALSE(scheduler_.ClaimTurn(7)) << "the first one has it";
  scheduler_.Finished(seats_[0], true);
  EXPECT_FALSE(scheduler_.ClaimTurn(7)) << "the second one has it, in the queue";
  EXPECT_EQ(scheduler_.Take(seats_[0]).entry, &second);
  scheduler_.Finished(seats_[0], true);
  EXPECT_TRUE(scheduler_.ClaimTurn(7));
}

TEST_F(TurnsTest, TheQueueIsAsLongAsItIsForAll) {
  std::vector<std::unique_ptr<Entry>> entries;
  for (int i = 0; i < 8; ++i) {
    entries.push_back(std::make_unique<Entry>(MakeOf(7)));
    Queue(*entries.back());
  }
  Entry ninth = MakeOf(7);
  EXPECT_THAT(std::string(scheduler_.Admit(ninth).message()), HasSubstr("8 jobs wait"));
}

TEST_F(TurnsTest, ALostDeviceStrandsThoseThatWaitAside) {
  Entry first = MakeOf(7), second = MakeOf(7), elsewhere = MakeOf(8, 1);
  for (Entry* const entry : {&first, &second, &elsewhere}) Queue(*entry);
  const auto stranded = scheduler_.Lose(0, "unplugged");
  ASSERT_TRUE(stranded.has_value());
  EXPECT_THAT(*stranded, ::testing::UnorderedElementsAre(&first, &second));
  EXPECT_FALSE(scheduler_.Remove(first));
  EXPECT_FALSE(scheduler_.Remove(second));
  EXPECT_EQ(scheduler_.waiting(), 1u);
  EXPECT_TRUE(scheduler_.ClaimTurn(7)) << "nobody has it any more";
}

}  // namespace
}  // namespace hotplate::core::testing
