// Tiny jobs on the thread that submits them: when that happens, when not, and that nobody can tell the difference.
#include <map>
#include <random>
#include <thread>
#include <utility>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class EngineInlineTest : public EngineTest {
 protected:
  // A device that lets any thread run, and has run "copy", "loop" and these before.
  void StartWarm(FakeDeviceOptions device = {}, const std::vector<std::string>& more = {}) {
    std::vector<std::string> kernels = {"copy", "loop"};
    kernels.insert(kernels.end(), more.begin(), more.end());
    for (auto& [kernel, ran] : bodies_) {
      ran = [this, body = ran](const Task& task, TaskControl& control) {
        {
          std::scoped_lock lock(mutex_);
          ran_on_ = std::this_thread::get_id();
          ++runs_[ran_on_];
        }
        return body(task, control);
      };
    }
    device.any_thread = true;
    AddDevice(std::move(device));
    Start();
    for (const std::string& kernel : kernels) {
      auto warm_up = std::make_shared<Recorder>();
      ASSERT_TRUE(engine_->Submit(kRoot, Request(kernel), warm_up, 0).ok());
      ASSERT_NE(warm_up->AwaitEnd(0), nullptr);
    }
    // A kernel counts as warm a moment after its job has ended.
    ASSERT_TRUE(Eventually([&] { return engine_->Status().running == 0; }));
    ASSERT_TRUE(AllIdle());
  }

  // Lanes become idle a moment after their jobs have ended.
  bool AllIdle() {
    return Eventually([&] {
      auto probe = std::make_shared<Recorder>();
      const int before = RunsOn(std::this_thread::get_id());
      EXPECT_TRUE(engine_->Submit(kRoot, Request("copy"), probe, 0).ok());
      const bool here = RunsOn(std::this_thread::get_id()) > before;
      EXPECT_NE(probe->AwaitEnd(0), nullptr);
      return here;
    });
  }

  bool RanHere() {
    std::scoped_lock lock(mutex_);
    return ran_on_ == std::this_thread::get_id();
  }

  int RunsOn(std::thread::id thread) {
    std::scoped_lock lock(mutex_);
    return runs_[thread];
  }

  std::mutex mutex_;
  std::thread::id ran_on_;
  std::map<std::thread::id, int> runs_;
};

TEST_F(EngineInlineTest, ATinyJobEndsBeforeSubmitReturns) {
  StartWarm();
  const JobId id = Submit(Request("copy", {4, 5, 6}), 7);
  EXPECT_TRUE(RanHere());
  EXPECT_EQ(StateOf(id), JobState::kCompleted);
  ASSERT_TRUE(recorder_->AwaitEnds(1));  // the ticker may be about to tell of it
  EXPECT_THAT(recorder_->states(7), ElementsAre(JobState::kPending, JobState::kRunning, JobState::kCompleted));
  const std::shared_ptr<const JobEnd> end = recorder_->AwaitEnd(7);
  EXPECT_THAT(ToFloats(*end->outputs[0].data), ElementsAre(4, 5, 6));
  ASSERT_TRUE(end->receipt.has_value());
  EXPECT_EQ(end->receipt->device, "cpu0");
  EXPECT_FALSE(end->receipt->cold);
  EXPECT_FALSE(end->receipt->device_shared);
  EXPECT_EQ(end->receipt->cost.flop, 6);
  EXPECT_EQ(engine_->Status().running, 0u);
  EXPECT_EQ(engine_->Status().devices[0].running, 0u);
}

TEST_F(EngineInlineTest, WhoWantsOnlyTheEndOfAnEndedJobHearsNoMore) {
  class OnlyEnds : public JobObserver {
   public:
    void OnChange(const JobId&, std::uint64_t, const StateChange& event,
                  const std::shared_ptr<const JobEnd>& end) override {
      std::scoped_lock lock(mutex_);
      sequences_.push_back(event.sequence);
      states_.push_back(event.state);
      ends_ += end != nullptr ? 1 : 0;
    }
    bool WantsStatesBeforeEnd() const override { return false; }
    void OnProgress(const JobId&, std::uint64_t, const JobProgress&) override {}
    void OnNotice(const std::string&, std::optional<double>) override {}

    std::vector<std::uint64_t> sequences() const {
      std::scoped_lock lock(mutex_);
      return sequences_;
    }
    std::vector<JobState> states() const {
      std::scoped_lock lock(mutex_);
      return states_;
    }
    int ends() const {
      std::scoped_lock lock(mutex_);
      return ends_;
    }

   private:
    mutable std::mutex mutex_;
    std::vector<std::uint64_t> sequences_;
    std::vector<JobState> states_;
    int ends_ = 0;
  };
  StartWarm();
  std::shared_ptr<OnlyEnds> one;
  absl::StatusOr<JobId> id;
  // A job that has not ended when the ticker comes by is told of before its end, too.
  ASSERT_TRUE(Eventually([&] {
    one = std::make_shared<OnlyEnds>();
    id = engine_->Submit(kRoot, Request("copy"), one, 1);
    return !id.ok() || (Eventually([&] { return one->ends() == 1; }) && one->sequences().size() == 1);
  }));
  ASSERT_TRUE(id.ok());
  const auto late = std::make_shared<OnlyEnds>();
  ASSERT_TRUE(engine_->Watch(kRoot, *id, 1, late, 1).ok());
  for (const auto& observer : {one, late}) {
    EXPECT_THAT(observer->sequences(), ElementsAre(3));
    EXPECT_THAT(observer->states(), ElementsAre(JobState::kCompleted));
    EXPECT_EQ(observer->ends(), 1);
  }
}

TEST_F(EngineInlineTest, WhoHearsOfTheEndHasTheMemoryOfTheInputs) {
  StartWarm();
  std::weak_ptr<const HostBuffer> input;
  std::atomic<bool> told{false}, held{true};
  recorder_->on_event = [&](const Recorder::Seen& seen) {
    if (seen.end == nullptr) return;
    held = !input.expired();
    told = true;
  };
  JobRequest request = Request("copy", {4, 5, 6});
  input = std::get<std::shared_ptr<const HostBuffer>>(request.inputs[0].source);
  ASSERT_TRUE(engine_->Submit(kRoot, std::move(request), recorder_, 7).ok());
  ASSERT_TRUE(Eventually([&] { return told.load(); }));
  EXPECT_FALSE(held);
}

TEST_F(EngineInlineTest, TheLaneServesItsOwnThreadAgainAfterwards) {
  StartWarm();
  for (std::uint64_t tag = 0; tag < 10; ++tag) {
    ASSERT_TRUE(AllIdle());
    const int before = RunsOn(std::this_thread::get_id());
    Submit(Request("copy"), 2 * tag);
    ASSERT_EQ(RunsOn(std::this_thread::get_id()), before + 1);
    Submit(Request("copy", std::vector<float>(100'000)), 2 * tag + 1);
    ASSERT_NE(recorder_->AwaitEnd(2 * tag + 1), nullptr);
    ASSERT_FALSE(RanHere());
  }
  EXPECT_TRUE(recorder_->AwaitEnds(20));
}

TEST_F(EngineInlineTest, AKernelThatIsColdIsTheLanesBusiness) {
  AddDevice({.any_thread = true});
  Start();
  Submit(Request("copy"), 1);
  const std::shared_ptr<const JobEnd> end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  EXPECT_TRUE(end->receipt->cold);
}

TEST_F(EngineInlineTest, AKernelIsWarmOnceARunOfItHasCompletedAndNotBefore) {
  std::atomic<bool> fails{true};
  bodies_["other"] = [&](const Task& task, TaskControl& control) {
    return fails ? EndsWith(Outcome::Failed("not yet")) : CopyBody(task, control);
  };
  StartWarm();
  for (std::uint64_t tag = 0; tag < 6; ++tag) {
    ASSERT_TRUE(AllIdle());
    fails = tag < 5;
    Submit(Request("other"), tag);
    const std::shared_ptr<const JobEnd> end = recorder_->AwaitEnd(tag);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->state, fails ? JobState::kFailed : JobState::kCompleted);
    EXPECT_EQ(end->receipt->cold, tag == 0);
    EXPECT_FALSE(RanHere()) << tag;
  }
  ASSERT_TRUE(AllIdle());
  Submit(Request("other"), 6);
  EXPECT_TRUE(RanHere());
}

TEST_F(EngineInlineTest, AKernelThatDoesNotBoundItsWorkIsTheLanesBusiness) {
  const std::vector<std::string> kernels = {"silent", "no_work", "less_work", "nan_work", "all_work"};
  for (const std::string& kernel : kernels) bodies_[kernel] = CopyBody;
  StartWarm({}, kernels);
  std::uint64_t tag = 0;
  for (const std::string& kernel : kernels) {
    ASSERT_TRUE(AllIdle());
    Submit(Request(kernel, {1}), ++tag);
    ASSERT_NE(recorder_->AwaitEnd(tag), nullptr);
    EXPECT_FALSE(RanHere()) << kernel;
  }
}

TEST_F(EngineInlineTest, AJobThatMayNotRunHereIsTheLanesBusiness) {
  StartWarm();
  const std::uint64_t before = engine_->Status().ran_in_submit;
  JobRequest request = Request("copy");
  request.may_run_here = false;
  Submit(std::move(request), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_FALSE(RanHere());
  EXPECT_EQ(engine_->Status().ran_in_submit, before);
  ASSERT_TRUE(AllIdle());
  EXPECT_GT(engine_->Status().ran_in_submit, before);
}

// The threads that submit have something else to do besides.
TEST_F(EngineInlineTest, OnlySoManyThreadsRunJobsAtATime) {
  std::atomic<bool> wait{false};
  bodies_["loop"] = [&, held = Uninterruptible()](const Task& task, TaskControl& control) {
    return wait ? held(task, control) : CopyBody(task, control);
  };
  options_.threads_in_submit = 2;
  StartWarm({.lanes = 4});
  wait = true;
  std::vector<std::thread> borrowers;
  for (std::uint64_t tag = 1; tag <= 2; ++tag) {
    borrowers.emplace_back([this, tag] { Submit(Request("loop"), tag); });
    EXPECT_TRUE(gate_.AwaitEntered(static_cast<int>(tag)));
  }
  for (const std::thread& borrower : borrowers) EXPECT_EQ(RunsOn(borrower.get_id()), 1);
  Submit(Request("copy"), 3);
  EXPECT_NE(recorder_->AwaitEnd(3), nullptr);
  EXPECT_FALSE(RanHere());
  gate_.Open();
  for (std::thread& borrower : borrowers) borrower.join();
  EXPECT_TRUE(AllIdle()) << "they count no more";
}

TEST_F(EngineInlineTest, ADeviceThatDoesNotSaySoKeepsToItsThreads) {
  std::mutex mutex;
  std::thread::id ran_on;
  bodies_["copy"] = [&](const Task& task, TaskControl& control) {
    std::scoped_lock lock(mutex);
    ran_on = std::this_thread::get_id();
    return CopyBody(task, control);
  };
  Start();
  for (std::uint64_t tag = 0; tag < 5; ++tag) {
    Submit(Request("copy"), tag);
    ASSERT_NE(recorder_->AwaitEnd(tag), nullptr);
    std::scoped_lock lock(mutex);
    EXPECT_NE(ran_on, std::this_thread::get_id());
  }
}

TEST_F(EngineInlineTest, AJobWithMuchToComputeOrToMoveIsTheLanesBusiness) {
  StartWarm();
  // By the fake's cost model 2 FLOP an element, and 4 bytes for each of input and output.
  Submit(Request("copy", std::vector<float>(8'193)), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_FALSE(RanHere());
  ASSERT_TRUE(AllIdle());
  Submit(Request("copy", std::vector<float>(8'000)), 2);
  EXPECT_TRUE(RanHere());
  EXPECT_NE(recorder_->AwaitEnd(2), nullptr);
}

TEST_F(EngineInlineTest, WithItsLaneTakenAJobIsQueuedAndDoesNotOvertake) {
  bodies_["other"] = Uninterruptible();
  StartWarm();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy"), 2);
  Submit(Request("copy"), 3);
  EXPECT_EQ(recorder_->ends(), 0u);
  EXPECT_EQ(engine_->Status().pending, 2u);
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(3));
  EXPECT_FALSE(RanHere());
}

TEST_F(EngineInlineTest, WithAnotherLaneIdleItRunsBesideALongJob) {
  bodies_["other"] = Uninterruptible();
  StartWarm({.lanes = 2});
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  ASSERT_TRUE(Eventually([&] {
    Submit(Request("copy"), 2);
    return RanHere();
  }));
  EXPECT_TRUE(recorder_->AwaitEnd(2)->receipt->device_shared);
  gate_.Open();
}

// While the lane is borrowed its thread sleeps: whoever gives the lane back has to wake it for what came meanwhile.
TEST_F(EngineInlineTest, JobsThatCameWhileTheLaneWasBorrowedAreSeenTo) {
  bodies_["loop"] = Cancellable();
  std::atomic<bool> wait{false};
  const KernelBody cancellable = bodies_["loop"];
  bodies_["loop"] = [&, cancellable](const Task& task, TaskControl& control) {
    return wait ? cancellable(task, control) : CopyBody(task, control);
  };
  StartWarm();
  wait = true;
  std::thread borrower([&] { Submit(Request("loop"), 1); });
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy"), 2);
  Submit(Request("copy"), 3);
  EXPECT_EQ(engine_->Status().pending, 2u);
  EXPECT_EQ(engine_->Status().running, 1u);
  gate_.Open();
  borrower.join();
  ASSERT_TRUE(recorder_->AwaitEnds(3));
}

TEST_F(EngineInlineTest, CancelTimeLimitAndSessionEndReachABorrowedLane) {
  std::atomic<bool> wait{false};
  const KernelBody cancellable = Cancellable();
  bodies_["loop"] = [&, cancellable](const Task& task, TaskControl& control) {
    return wait ? cancellable(task, control) : CopyBody(task, control);
  };
  StartWarm();
  wait = true;
  struct Case {
    JobState end;
    std::function<void(const JobId&)> act;
  };
  const std::vector<Case> cases = {
      {JobState::kCancelled, [&](const JobId& id) { EXPECT_TRUE(engine_->Cancel(kAlice, id).ok()); }},
      {JobState::kTimeout, [&](const JobId&) { clock_.Advance(std::chrono::seconds(2)); }},
      {JobState::kCancelled, [&](const JobId&) { engine_->EndSession(kAlice.session); }},
  };
  int entered = 0;
  std::uint64_t tag = 0;
  for (const Case& one : cases) {
    ASSERT_TRUE(AllIdle());
    ++tag;
    std::thread borrower([&] {
      JobRequest request = Request("loop");
      request.time_limit = std::chrono::seconds(1);
      request.attached = true;
      Submit(std::move(request), tag);
    });
    const bool began = gate_.AwaitEntered(++entered);
    // Its observer hears that it runs although its thread is busy with it.
    EXPECT_TRUE(recorder_->AwaitState(tag, JobState::kRunning));
    const std::vector<JobSnapshot> active = engine_->List(kAlice, {.active_only = true});
    EXPECT_EQ(active.size(), 1u);
    if (!active.empty()) one.act(active[0].id);
    borrower.join();
    ASSERT_TRUE(began);
    EXPECT_EQ(recorder_->AwaitEnd(tag)->state, one.end);
  }
}

TEST_F(EngineInlineTest, ADeviceLostOnABorrowedLaneTakesNoMoreJobs) {
  bodies_["loop"] = [count = std::make_shared<std::atomic<int>>(0)](const Task& task, TaskControl& control) {
    return ++*count == 1 ? CopyBody(task, control) : EndsWith(Outcome::DeviceLost("it fell off the bus"));
  };
  StartWarm({.lanes = 2});
  Submit(Request("loop"), 1);
  EXPECT_TRUE(RanHere());
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kFailed);
  EXPECT_EQ(Refusal(Request("copy")).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(EngineInlineTest, DrainWaitsForWhatRunsOnABorrowedLaneAndThenNothingBegins) {
  std::atomic<bool> wait{false};
  const KernelBody held = Uninterruptible();
  bodies_["loop"] = [&, held](const Task& task, TaskControl& control) {
    return wait ? held(task, control) : CopyBody(task, control);
  };
  StartWarm();
  wait = true;
  std::thread borrower([&] { Submit(Request("loop"), 1); });
  ASSERT_TRUE(gate_.AwaitEntered(1));
  std::atomic<bool> drained{false};
  std::thread drain([&] {
    EXPECT_TRUE(engine_->Drain(kPatience, "the test says so"));
    EXPECT_EQ(recorder_->ends(), 1u);
    drained = true;
  });
  ASSERT_TRUE(Eventually([&] { return engine_->Status().draining; }));
  EXPECT_EQ(Refusal(Request("copy")).code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(drained);
  gate_.Open();
  borrower.join();
  drain.join();
}

TEST_F(EngineInlineTest, TheNextJobOfAnObserverDoesNotRunInsideTheFirst) {
  // Another lane is idle, so that nothing but the rule keeps the second from running inside the first.
  StartWarm({.lanes = 2});
  const std::thread::id here = std::this_thread::get_id();
  int told_here = 0, ran_inside = 0;
  recorder_->on_event = [&](const Recorder::Seen& seen) {
    // Where this thread is held up another tells of the end, and may run the next one.
    if (seen.end == nullptr || seen.tag % 2 == 0 || std::this_thread::get_id() != here) return;
    const int before = RunsOn(here);
    Submit(Request("copy"), seen.tag + 1);
    ran_inside += RunsOn(here) - before;
    ++told_here;
  };
  std::uint64_t tag = 1;
  EXPECT_TRUE(Eventually([&] {
    Submit(Request("copy"), std::exchange(tag, tag + 2));
    return told_here > 0;
  }));
  EXPECT_EQ(ran_inside, 0);
  EXPECT_TRUE(recorder_->AwaitEnds(tag / 2 + static_cast<std::size_t>(told_here)));
  EXPECT_TRUE(engine_->Drain(kPatience, "test")) << "nobody is in on_event any more";
}

TEST_F(EngineInlineTest, AnObserverMaySubmitTheNextJobAndSoOn) {
  StartWarm({.lanes = 2});
  static thread_local int depth = 0;
  constexpr std::uint64_t kJobs = 500;
  std::atomic<int> deepest{0};
  recorder_->on_event = [&](const Recorder::Seen& seen) {
    if (seen.end == nullptr || seen.tag >= kJobs) return;
    const int now = ++depth;
    for (int most = deepest; now > most && !deepest.compare_exchange_weak(most, now);) continue;
    Submit(Request("copy"), seen.tag + 1);
    --depth;
  };
  Submit(Request("copy"), 1);
  EXPECT_TRUE(recorder_->AwaitEnds(kJobs));
  EXPECT_LE(deepest, 2) << "a lane's thread may run one inside another's end, and no more";
  // A lane may be in the last one's end.
  EXPECT_TRUE(Eventually([&] { return engine_->Status().running == 0; }));
}

TEST_F(EngineInlineTest, TheSameRequestTwiceRunsOnce) {
  StartWarm();
  JobRequest request = Request("copy");
  request.request_id = "once";
  const JobId first = Submit(request, 1);
  EXPECT_EQ(Submit(request, 2), first);
  EXPECT_TRUE(recorder_->AwaitEnds(2)) << "each is told";
}

// Lanes are borrowed, called and given back by many threads at once, beside jobs that are queued.
TEST_F(EngineInlineTest, EveryJobEndsOnceWhoeverRunsIt) {
  bodies_["other"] = [](const Task& task, TaskControl& control) {
    std::this_thread::yield();
    return CopyBody(task, control);
  };
  options_.lane_spin = std::chrono::microseconds(20);
  options_.threads_in_submit = 2;
  StartWarm({.lanes = 2}, {"other"});
  constexpr int kThreads = 4, kJobs = 1000;
  std::atomic<int> here{0};  // runs on the threads below
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (int t = 0; t < kThreads; ++t) recorders.push_back(std::make_shared<Recorder>());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      const Principal who = t % 2 == 0 ? kAlice : kBob;
      for (int i = 0; i < kJobs; ++i) {
        const bool large = random() % 4 == 0;
        JobRequest request = Request(random() % 3 == 0 ? "other" : "copy", std::vector<float>(large ? 10'000 : 3));
        request.attached = random() % 2 == 0;
        const absl::StatusOr<JobId> id = engine_->Submit(who, std::move(request), recorders[t], i);
        ASSERT_TRUE(id.ok()) << id.status();
        if (random() % 7 == 0) engine_->Cancel(who, *id).IgnoreError();
        // Now and then everything has ended, so that lanes are idle for the next ones.
        if (random() % 8 != 0) continue;
        ASSERT_TRUE(recorders[t]->AwaitEnds(static_cast<std::size_t>(i) + 1));
      }
      here += RunsOn(std::this_thread::get_id());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(engine_->Drain(kPatience, "test"));
  for (const auto& recorder : recorders) {
    EXPECT_EQ(recorder->ends(), static_cast<std::size_t>(kJobs));
    EXPECT_THAT(recorder->complaints(), IsEmpty());
  }
  EXPECT_GT(here, 0);
  EXPECT_LT(here, kThreads * kJobs);
  EXPECT_GE(engine_->Status().ran_in_submit, static_cast<std::uint64_t>(here));
  EXPECT_EQ(engine_->Status().running, 0u);
}

}  // namespace
}  // namespace hotplate::core::testing
