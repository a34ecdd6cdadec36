// How a kernel's work is shared out: every element once, whatever the number of threads and of lanes at work.
#include "kernels/devices/cpu/cpu_context.h"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace hotplate {
namespace {

TEST(CpuContextTest, ParallelForCoversEveryElementOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadBudget budget(threads, 1);
    for (const std::size_t count : {0, 1, 63, 64, 1024, 1025, 5000, 4096 * threads, 100'003}) {
      hotplate_control control{};
      std::vector<int> touched(count);
      CpuContext(budget, control).ParallelFor(count, 50, [&](std::size_t begin, std::size_t end) {
        EXPECT_EQ(begin % CpuContext::kRangeUnit, 0u);
        for (std::size_t i = begin; i < end; ++i) ++touched[i];
      });
      EXPECT_EQ(touched, std::vector<int>(count, 1)) << threads << " threads";
    }
  }
}

TEST(CpuContextTest, ShortRangesStayOnTheCallingThread) {
  ThreadBudget budget(4, 1);
  hotplate_control control{};
  CpuContext context(budget, control);
  const std::thread::id self = std::this_thread::get_id();
  context.ParallelFor(99, 100, [&](std::size_t begin, std::size_t end) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    EXPECT_EQ(end - begin, 99u);
  });
  EXPECT_EQ(context.threads_used(), 1);
}

TEST(CpuContextTest, ChunksAreDoneOnceAndProgressEndsAtOne) {
  ThreadBudget budget(3, 1);
  hotplate_control control{};
  CpuContext context(budget, control);
  std::vector<int> touched(1000);
  EXPECT_TRUE(context.ParallelChunks(1000, 7, [&](std::size_t begin, std::size_t end) {
    EXPECT_LE(end - begin, 7u);
    for (std::size_t i = begin; i < end; ++i) ++touched[i];
  }));
  EXPECT_EQ(touched, std::vector<int>(1000, 1));
  EXPECT_EQ(std::atomic_ref(control.progress).load(), 1'000'000u);
  EXPECT_TRUE(context.ParallelChunks(0, 7, [](std::size_t, std::size_t) { FAIL(); }));
}

TEST(CpuContextTest, StepsShareTheProgressOfTheirWhole) {
  const CpuContext::Part second = CpuContext::Part().Step(1, 4);
  EXPECT_EQ(second.from, 0.25);
  EXPECT_EQ(second.to, 0.5);
  EXPECT_EQ(second.Step(0, 2).to, 0.375);
  EXPECT_EQ(CpuContext::Part().Step(2, 3).to, 1);
  ThreadBudget budget(2, 1);
  hotplate_control control{};
  CpuContext context(budget, control);
  EXPECT_TRUE(context.ParallelChunks(
      1000, 7, [](std::size_t, std::size_t) {}, second));
  EXPECT_EQ(std::atomic_ref(control.progress).load(), 500'000u);
}

TEST(CpuContextTest, NoChunkBeginsAfterACancel) {
  ThreadBudget budget(3, 1);
  hotplate_control control{};
  CpuContext context(budget, control);
  std::atomic<int> chunks{0};
  EXPECT_FALSE(context.ParallelChunks(1'000'000, 1, [&](std::size_t, std::size_t) {
    // Each from the tenth on: the thread of the tenth may be held up before it says so.
    if (++chunks >= 10) std::atomic_ref(control.cancel).store(1, std::memory_order_relaxed);
  }));
  EXPECT_GE(chunks, 10);
  EXPECT_LE(chunks, 10 + 2) << "the chunks that had begun, and no more";
}

TEST(CpuContextTest, LanesShareTheWorkers) {
  ThreadBudget budget(4, 2);
  std::vector<std::thread> lanes;
  std::atomic<int> wrong{0};
  for (int lane = 0; lane < 3; ++lane) {
    lanes.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        hotplate_control control{};
        CpuContext context(budget, control);
        std::atomic<std::size_t> sum{0};
        context.ParallelChunks(100, 1, [&](std::size_t begin, std::size_t) { sum += begin; });
        if (sum != 4950 || context.threads_used() < 2) ++wrong;
      }
    });
  }
  for (std::thread& lane : lanes) lane.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(budget.Take(), 4) << "everything was given back";
}

// Of one loop after the other over the same arrays, each thread's caches have what it had before.
TEST(CpuContextTest, ThreadsBeginInLotsOfTheirOwn) {
  ThreadBudget budget(2, 2);
  hotplate_control control{};
  const std::thread::id self = std::this_thread::get_id();
  constexpr std::size_t kNone = 1000;
  std::atomic<std::size_t> first_here{kNone}, first_there{kNone};
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  CpuContext(budget, control).ParallelChunks(100, 1, [&](std::size_t begin, std::size_t) {
    std::atomic<std::size_t>& first = std::this_thread::get_id() == self ? first_here : first_there;
    if (first == kNone) first = begin;
    while ((first_here == kNone || first_there == kNone) && std::chrono::steady_clock::now() < patience)
      std::this_thread::yield();
  });
  EXPECT_EQ(first_here, 0u);
  EXPECT_EQ(first_there, 50u);
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Workers wait awake for the next loop, but not for long: a daemon with nothing to do takes no processor time.
TEST(CpuContextTest, IdleWorkersSleep) {
  ThreadBudget budget(3, 3);
  hotplate_control control{};
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<bool> joined{false};  // a worker that has never worked sleeps anyway
  for (int round = 0; round < 100 && !joined; ++round) {
    CpuContext(budget, control).ParallelChunks(100, 1, [&](std::size_t, std::size_t) {
      if (std::this_thread::get_id() != self) joined = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  }
  ASSERT_TRUE(joined);
  // Of the processor time of 0.1 s, in which one that stayed awake would take as much.
  double spent = 1;
  for (int look = 0; look < 100 && spent > 0.01; ++look) {
    const double before = ProcessorSeconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    spent = ProcessorSeconds() - before;
  }
  EXPECT_LT(spent, 0.01);
}

}  // namespace
}  // namespace hotplate
