// Entries that are left to the device that has their inputs.
#include <atomic>
#include <list>
#include <thread>

#include "tests/unit/core/scheduler_fixture.h"

namespace hotplate::core::testing {
namespace {

// Entries whose inputs are on the first device, and which may run on both.
class HomeTest : public SchedulerTest {
 protected:
  HomeTest() : SchedulerTest(100) {
    scheduler_.AddSeat(0, here_);
    scheduler_.AddSeat(1, there_);
  }
  Entry& QueueAtHome() { return QueueFor(1); }
  Entry& QueueFor(std::uint64_t home, std::uint64_t share = 1) {
    Entry& entry = entries_.emplace_back(
        ++number_, std::vector<DeviceNeed>{{.device = 0, .extra_bytes = 8 * kSize}, {.device = 1}}, kernel_);
    entry.home = home;
    entry.share = share;
    Queue(entry);
    return entry;
  }

  Scheduler::Seat here_, there_;
  std::list<Entry> entries_;
};

TEST_F(HomeTest, AnEntryIsLeftToTheDeviceThatHasItsInputs) {
  const Entry &homed = QueueAtHome(), &other = QueueFor(0);
  EXPECT_EQ(scheduler_.Take(there_).entry, &other);
  EXPECT_FALSE(homed.lacked_room) << "there was room, and another device for it";
  EXPECT_EQ(scheduler_.Take(here_).entry, &homed);
}

TEST_F(HomeTest, IfThatOneIsBusyAnotherTakesIt) {
  const Entry &first = QueueAtHome(), &second = QueueAtHome();
  EXPECT_EQ(scheduler_.Take(here_).entry, &first);
  EXPECT_EQ(scheduler_.Take(there_).entry, &second);
}

TEST_F(HomeTest, AnotherThatLookedTooEarlyIsCalledAgain) {
  std::atomic<int> taken{0};
  std::atomic<bool> over{false};
  const auto run = [&](Scheduler::Seat& seat) {
    while (scheduler_.Take(seat).entry != nullptr) {
      ++taken;
      while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      scheduler_.Finished(seat, true);
    }
  };
  // The home's lane is called, and held up before it looks.
  std::thread there([&] { run(there_); });
  ASSERT_TRUE(Eventually([&] { return scheduler_.devices()[1].idle_lanes == 1; }));
  QueueAtHome();
  QueueAtHome();
  ASSERT_TRUE(Eventually([&] { return scheduler_.devices()[1].idle_lanes == 1; })) << "both are left to it";
  EXPECT_EQ(taken, 0);
  std::thread here([&] { run(here_); });
  EXPECT_TRUE(Eventually([&] { return taken == 2; })) << "without the ticker's look";
  over = true;
  scheduler_.Stop();
  here.join();
  there.join();
}

TEST_F(HomeTest, IfThatOneWasLostAtFirstAnotherTakesIt) {
  ASSERT_TRUE(scheduler_.Lose(0, "off the bus"));
  Entry& entry = entries_.emplace_back(
      ++number_, std::vector<DeviceNeed>{{.device = 0, .extra_bytes = 1}, {.device = 1}}, kernel_);
  entry.home = 1;
  ASSERT_TRUE(scheduler_.Admit(entry).ok());
  scheduler_.Regain(0, 10 * kSize);
  scheduler_.Push(entry, false);
  EXPECT_EQ(scheduler_.Take(there_).entry, &entry);
}

TEST_F(HomeTest, IfThatOneIsLostAnotherTakesIt) {
  const Entry& homed = QueueAtHome();
  ASSERT_TRUE(scheduler_.Lose(0, "off the bus"));
  EXPECT_EQ(scheduler_.Take(there_).entry, &homed);
}

TEST_F(HomeTest, IfThatOneHasNoRoomAnotherTakesIt) {
  const Entry& homed = QueueAtHome();
  scheduler_.Sample({kSize, 10 * kSize}, false);
  EXPECT_EQ(scheduler_.Take(there_).entry, &homed);
}

TEST_F(HomeTest, ItIsNotLeftForEver) {
  const Entry& homed = QueueAtHome();
  int passed = 0;
  while (passed < 50) {
    QueueFor(0, /*share=*/2);
    const QueueEntry* const taken = scheduler_.Take(there_).entry;
    scheduler_.Finished(there_, true);
    if (taken == &homed) break;
    ++passed;
  }
  EXPECT_EQ(passed, 8);
}

TEST_F(HomeTest, ItsHomeIsCalledFirst) {
  std::atomic<int> at_home{0}, elsewhere{0};
  std::thread here([&] {
    while (scheduler_.Take(here_).entry != nullptr) ++at_home, scheduler_.Finished(here_, true);
  });
  std::thread there([&] {
    while (scheduler_.Take(there_).entry != nullptr) ++elsewhere, scheduler_.Finished(there_, true);
  });
  for (int i = 0; i < 20; ++i) {
    const auto idle = [&] { return scheduler_.devices()[0].idle_lanes + scheduler_.devices()[1].idle_lanes == 2; };
    ASSERT_TRUE(Eventually(idle));
    QueueFor(i % 2 == 0 ? 1 : 2);
  }
  EXPECT_TRUE(Eventually([&] { return at_home + elsewhere == 20; }));
  EXPECT_EQ(at_home, 10);
  scheduler_.Stop();
  here.join();
  there.join();
}

}  // namespace
}  // namespace hotplate::core::testing
