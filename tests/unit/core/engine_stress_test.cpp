// Many threads at once: nothing is lost, nothing is told twice, nothing is left.
#include <random>
#include <stop_token>
#include <thread>

#include "server/core/run/telemetry.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::IsEmpty;

class EngineStressTest : public EngineTest {};

TEST_F(EngineStressTest, EveryJobEndsOnceWhateverThreadsDo) {
  bodies_["loop"] = [](const Task& task, TaskControl& control) {
    for (int i = 0; i < 20; ++i) {
      if (std::atomic_ref(control.plain().cancel).load() != 0) return EndsWith(Outcome::Cancelled());
      std::this_thread::yield();
    }
    return CopyBody(task, control);
  };
  bodies_["two"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::Failed("as planned")); };
  AddDevice({.id = "cpu0", .lanes = 3});
  AddDevice({.id = "cpu1", .lanes = 2});
  options_.retained_jobs = 300;
  options_.queued_jobs = 200;
  options_.inline_bytes = 16;
  Start();

  constexpr int kThreads = 4, kJobs = 500;
  std::atomic<int> submitted{0}, refused{0};
  std::vector<std::shared_ptr<Recorder>> recorders;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) recorders.push_back(std::make_shared<Recorder>());
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      const Principal who = t % 2 == 0 ? kAlice : kBob;
      std::vector<std::shared_ptr<Recorder>> watchers;
      std::vector<JobId> ids;
      for (int i = 0; i < kJobs; ++i) {
        static const char* const kKernels[] = {"copy", "loop", "two", "other"};
        JobRequest request = Request(kKernels[random() % 4], std::vector<float>(random() % 8));
        request.attached = random() % 2 == 0;
        request.priority = static_cast<int>(random() % 3);
        if (random() % 4 == 0) request.device = "cpu1";
        const absl::StatusOr<JobId> id = engine_->Submit(who, request, recorders[t], static_cast<std::uint64_t>(i));
        if (!id.ok()) {
          EXPECT_EQ(id.status().code(), absl::StatusCode::kResourceExhausted) << id.status();
          ++refused;
          std::this_thread::yield();
          continue;
        }
        ++submitted;
        ids.push_back(*id);
        engine_->Fetch(who, ids[random() % ids.size()]).IgnoreError();
        if (random() % 3 == 0) engine_->Cancel(who, *id).IgnoreError();
        if (random() % 5 == 0) {
          watchers.push_back(std::make_shared<Recorder>());
          engine_->Watch(who, *id, random() % 4, watchers.back(), 0).IgnoreError();
          if (random() % 2 == 0) engine_->Unsubscribe(watchers.back(), Engine::OnDisconnect::kCancelNow);
        }
        if (random() % 50 == 0) (void)engine_->List(kRoot, {.limit = 1000});
        if (random() % 50 == 0) engine_->Announce("noise", std::nullopt);
      }
      for (const auto& watcher : watchers) EXPECT_THAT(watcher->complaints(), IsEmpty());
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Nobody fetches the outputs: the drain gives that up as the clock goes on.
  std::jthread time_passes([this](const std::stop_token& over) {
    while (!over.stop_requested()) {
      clock_.Advance(std::chrono::seconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_TRUE(engine_->Drain(kPatience, "test"));
  time_passes.request_stop();
  std::size_t ends = 0;
  for (const auto& recorder : recorders) {
    EXPECT_THAT(recorder->complaints(), IsEmpty());
    ends += recorder->ends();
  }
  EXPECT_EQ(ends, static_cast<std::size_t>(submitted));
  EXPECT_EQ(engine_->Status().ended, static_cast<std::uint64_t>(submitted));
  EXPECT_EQ(submitted + refused, kThreads * kJobs);
  EXPECT_LE(engine_->List(kRoot, {.limit = 10'000}).size(), 600u) << "tiny attached ones are counted apart";
  engine_->EndSession(kAlice.session);
  engine_->EndSession(kBob.session);
  recorders.clear();
}

TEST_F(EngineStressTest, ObserversComeAndGo) {
  AddDevice({.lanes = 2});
  options_.disconnect_grace = nanoseconds::zero();
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        auto observer = std::make_shared<Recorder>();
        for (std::uint64_t tag = 0; tag < 5; ++tag) {
          JobRequest request = Request("copy");
          request.attached = true;
          ASSERT_TRUE(engine_->Submit(kAlice, request, observer, tag).ok());
        }
        engine_->Unsubscribe(observer, static_cast<Engine::OnDisconnect>(i % 3));
        const std::size_t ends = observer->ends();
        std::this_thread::yield();
        EXPECT_EQ(observer->ends(), ends) << "a call came after Unsubscribe returned";
        EXPECT_THAT(observer->complaints(), IsEmpty());
        EXPECT_TRUE(Eventually([&] { return observer.use_count() == 1; })) << "the engine lets go of it";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(engine_->Drain(kPatience, "test"));
  EXPECT_EQ(engine_->Status().ended, 3000u);
}

TEST_F(EngineStressTest, TelemetrySamplesWhileJobsRun) {
  Start();
  const Clock clock;
  const TelemetrySampler sampler(*engine_, clock);
  const TelemetrySample first = sampler.Newest();
  ASSERT_EQ(first.devices.size(), 1u) << "there is one from the start";
  EXPECT_EQ(first.devices[0].device, "cpu0");
  EXPECT_EQ(first.devices[0].metrics.utilisation, 0.25);
  EXPECT_GT(first.daemon.resident_bytes, 1u << 20);
  EXPECT_GE(first.daemon.threads, 3u);  // this one, a lane, the ticker
  EXPECT_EQ(first.daemon.array_bytes_limit, limits_.total_bytes);
  for (std::uint64_t tag = 0; tag < 100; ++tag) Submit(Request("copy"), tag);
  ASSERT_TRUE(recorder_->AwaitEnds(100));
  ASSERT_TRUE(Eventually([&] { return sampler.Newest().daemon.engine.ended == 100; }));
  const std::vector<TelemetrySample> history = sampler.History(1'000'000);
  ASSERT_GE(history.size(), 2u);
  for (std::size_t i = 1; i < history.size(); ++i) EXPECT_LE(history[i - 1].time, history[i].time);
  EXPECT_EQ(sampler.History(1).size(), 1u);
}

}  // namespace
}  // namespace hotplate::core::testing
