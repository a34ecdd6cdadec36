// Devices of an engine: how many there may be, and how one that was lost comes back.
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

DeviceSet SetOf(std::size_t devices) {
  DeviceSet set;
  for (std::size_t i = 0; i < devices; ++i) {
    FakeDeviceOptions options;
    options.id = absl::StrCat("gpu", i);
    set.devices.push_back(std::make_unique<FakeDevice>(options, std::map<std::string, KernelBody>()));
  }
  return set;
}

TEST(NumberOfDevicesTest, MoreThanOneDaemonServesAreRefused) {
  EXPECT_TRUE(CheckNumber(SetOf(0)).ok());
  EXPECT_TRUE(CheckNumber(SetOf(64)).ok());
  const absl::Status refused = CheckNumber(SetOf(66));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(refused), AllOf(HasSubstr("66 devices"), HasSubstr("gpu0 to gpu65"), HasSubstr("at most 64"),
                                   HasSubstr("--device gpu0")));
}

class EngineDevicesTest : public EngineTest {
 protected:
  EngineDevicesTest() {
    options_.reopen = {.first_pause = std::chrono::milliseconds(1), .longest_pause = std::chrono::milliseconds(4)};
    bodies_["other"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::DeviceLost("error 700")); };
  }
  ~EngineDevicesTest() override {
    reopening_->Open();  // or the engine's end would wait for it
    breaking_->Open();
  }

  // A GPU, which a job of "other" loses, and a CPU.
  void StartWithGpu(std::function<absl::Status()> reopen, int lanes = 2) {
    FakeDeviceOptions gpu;
    gpu.id = "gpu0";
    gpu.backend = "cuda";
    gpu.lanes = lanes;
    gpu.reopen = std::move(reopen);
    AddDevice(gpu);
    AddDevice({.id = "cpu0"});
    Start();
    engine_->Subscribe(recorder_);
  }
  static JobRequest OnGpu(const std::string& kernel) {
    JobRequest request = Request(kernel);
    request.device = "gpu0";
    return request;
  }
  JobState Run(const std::string& kernel, std::uint64_t tag) {
    Submit(OnGpu(kernel), tag);
    const auto end = recorder_->AwaitEnd(tag);
    return end == nullptr ? JobState::kPending : end->state;
  }
  std::string WhyLost() const { return engine_->Status().devices[0].lost; }
  bool AwaitLost(const std::string& why) {
    return Eventually([&] { return WhyLost().find(why) != std::string::npos; });
  }
  bool AwaitBack() {
    return Eventually([&] { return WhyLost().empty(); });
  }

  // Reopening succeeds, once the gate is open.
  std::function<absl::Status()> AtTheGate() const {
    return [gate = reopening_] {
      gate->Enter();
      return absl::OkStatus();
    };
  }

  // Shared with threads of the engine, which ends after this object's members.
  const std::shared_ptr<Gate> reopening_ = std::make_shared<Gate>(), breaking_ = std::make_shared<Gate>();
};

using ReopenTest = EngineDevicesTest;

// The last bit of a set of devices is as good as the others.
TEST_F(EngineDevicesTest, TheLastOf64RunsJobs) {
  for (int i = 0; i < 64; ++i) {
    FakeDeviceOptions options;
    options.id = absl::StrCat("gpu", i);
    AddDevice(options);
  }
  Start();
  JobRequest request = Request("copy");
  request.device = "gpu63";
  Submit(request, 1);
  EXPECT_EQ(recorder_->AwaitEnd(1)->receipt->device, "gpu63");
}

TEST_F(ReopenTest, ALostDeviceComesBackWithAllLanes) {
  bodies_["two"] = Uninterruptible();
  StartWithGpu(AtTheGate());
  EXPECT_EQ(Run("copy", 1), JobState::kCompleted);
  EXPECT_EQ(Run("copy", 2), JobState::kCompleted);
  EXPECT_FALSE(recorder_->AwaitEnd(2)->receipt->cold);
  EXPECT_EQ(Run("other", 3), JobState::kFailed);
  ASSERT_TRUE(reopening_->AwaitEntered(1));
  EXPECT_THAT(WhyLost(), HasSubstr("error 700")) << "until it is back";
  EXPECT_EQ(Refusal(OnGpu("copy")).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(recorder_->notices(), Contains(AllOf(HasSubstr("gpu0 is lost"), HasSubstr("error 700"))));
  reopening_->Open();

  ASSERT_TRUE(AwaitBack()) << WhyLost();
  const std::string back = "device gpu0 is back and takes jobs again, on 2 of 2 lanes";
  EXPECT_TRUE(Eventually([&] { return recorder_->notices().back() == back; }));
  EXPECT_THAT(log(), Contains(back));
  // Both lanes at once, one of which tells that its kernel is cold.
  Submit(OnGpu("two"), 4);
  Submit(OnGpu("two"), 5);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(4)->state, JobState::kCompleted);
  EXPECT_EQ(recorder_->AwaitEnd(5)->state, JobState::kCompleted);
  EXPECT_EQ(Run("copy", 6), JobState::kCompleted);
  EXPECT_TRUE(recorder_->AwaitEnd(6)->receipt->cold) << "nothing is loaded on a device that was opened anew";
  EXPECT_EQ(recorder_->AwaitEnd(6)->receipt->device, "gpu0");
  EXPECT_EQ(fakes_[0]->opened_lanes, 4);
  EXPECT_EQ(fakes_[0]->reopenings, 1);
}

TEST_F(ReopenTest, ItIsLostAndComesBackAgainAndAgain) {
  StartWithGpu([] { return absl::OkStatus(); });
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(AwaitBack()) << i;
    ASSERT_EQ(Run("copy", 2 * i), JobState::kCompleted);
    ASSERT_EQ(Run("other", 2 * i + 1), JobState::kFailed);
  }
  ASSERT_TRUE(AwaitBack());
  EXPECT_EQ(fakes_[0]->reopenings, 10);
}

TEST_F(ReopenTest, ADeviceThatDoesNotReopenStaysLostWithTheReasonAndIsTriedAgain) {
  const auto well = std::make_shared<std::atomic<bool>>(false);
  StartWithGpu([well] { return *well ? absl::OkStatus() : absl::UnavailableError("another process has it"); });
  EXPECT_EQ(Run("other", 1), JobState::kFailed);
  ASSERT_TRUE(AwaitLost("it was not reopened, and is tried again: another process has it"));
  EXPECT_THAT(WhyLost(), HasSubstr("error 700")) << "the first reason stays";
  EXPECT_THAT(Text(Refusal(OnGpu("copy"))), HasSubstr("another process has it"));
  ASSERT_TRUE(Eventually([&] { return fakes_[0]->reopenings >= 10; }));
  EXPECT_THAT(warnings(), Contains(HasSubstr("another process has it")).Times(1)) << "the same reason is told once";
  *well = true;
  ASSERT_TRUE(AwaitBack());
  EXPECT_EQ(Run("copy", 2), JobState::kCompleted);
}

TEST_F(ReopenTest, ADeviceThatCannotComeBackInThisProcessIsNotTriedAgain) {
  StartWithGpu(nullptr);
  EXPECT_EQ(Run("other", 1), JobState::kFailed);
  ASSERT_TRUE(AwaitLost("it cannot be reopened: it cannot be opened again in this process; restart hotplated"));
  EXPECT_TRUE(Eventually([&] {
    const std::vector<std::string> notices = recorder_->notices();
    return !notices.empty() && notices.back().find("gpu0 stays away") != std::string::npos;
  }));
  EXPECT_THAT(log(), Contains(AllOf(HasSubstr("gpu0 stays away"), HasSubstr("restart hotplated"))));
  JobRequest any = Request("copy");
  any.device = "any";
  Submit(any, 2);
  EXPECT_EQ(recorder_->AwaitEnd(2)->receipt->device, "cpu0");
  EXPECT_EQ(fakes_[0]->reopenings, 1);
}

TEST_F(ReopenTest, LanesThatDoNotOpenAreAnotherReasonToTryAgain) {
  StartWithGpu([] { return absl::OkStatus(); });
  fakes_[0]->lanes_open = false;
  EXPECT_EQ(Run("other", 1), JobState::kFailed);
  ASSERT_TRUE(AwaitLost("it was not reopened, and is tried again: none of its lanes opened: the driver is not well"));
  ASSERT_TRUE(Eventually([&] { return fakes_[0]->reopenings >= 3; }));
  fakes_[0]->lanes_open = true;
  ASSERT_TRUE(AwaitBack());
  EXPECT_EQ(Run("copy", 2), JobState::kCompleted);
}

TEST_F(ReopenTest, ADeviceWhoseLanesDidNotOpenAtTheStartComesLater) {
  FakeDeviceOptions gpu;
  gpu.id = "gpu0";
  gpu.backend = "cuda";
  gpu.lanes = 2;
  gpu.lanes_open = false;
  gpu.reopen = AtTheGate();
  AddDevice(gpu);
  Start();
  EXPECT_THAT(WhyLost(), HasSubstr("none of its lanes opened: the driver is not well"));
  fakes_[0]->lanes_open = true;
  reopening_->Open();
  ASSERT_TRUE(AwaitBack());
  EXPECT_EQ(Run("copy", 1), JobState::kCompleted);
}

// A driver may never answer for one device, while another one breaks and comes back.
TEST_F(ReopenTest, OneDeviceDoesNotWaitForAnother) {
  FakeDeviceOptions gpu;
  gpu.backend = "cuda";
  gpu.id = "gpu1";
  gpu.reopen = AtTheGate();
  AddDevice(gpu);
  gpu.id = "gpu0";
  gpu.reopen = [] { return absl::OkStatus(); };
  AddDevice(gpu);
  Start();
  JobRequest fatal = Request("other");
  fatal.device = "gpu1";
  Submit(fatal, 1);
  ASSERT_TRUE(reopening_->AwaitEntered(1));
  EXPECT_EQ(Run("other", 2), JobState::kFailed);
  ASSERT_TRUE(Eventually([&] { return engine_->Status().devices[1].lost.empty(); }));
  EXPECT_EQ(Run("copy", 3), JobState::kCompleted);
  EXPECT_NE(engine_->Status().devices[0].lost, "");
}

TEST_F(ReopenTest, AJobOnAnotherLaneIsWaitedFor) {
  bodies_["loop"] = Uninterruptible();
  StartWithGpu([] { return absl::OkStatus(); }, /*lanes=*/8);  // so that the first one, which reopens it, is done
  Submit(OnGpu("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  EXPECT_EQ(Run("other", 2), JobState::kFailed);
  ASSERT_TRUE(Eventually([&] { return fakes_[0]->lanes == 1; }));
  EXPECT_NE(WhyLost(), "");
  gate_.Open();
  ASSERT_TRUE(AwaitBack());
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  EXPECT_EQ(fakes_[0]->reopenings, 1) << "the fake refuses while a lane is open";
}

TEST_F(ReopenTest, AJobThatWaitedForTwoDevicesRunsOnTheOneThatCameBack) {
  bodies_["loop"] = Uninterruptible();
  bodies_["other"] = [gate = breaking_](const Task&, TaskControl&) {
    gate->Enter();
    return EndsWith(Outcome::DeviceLost("error 700"));
  };
  FakeDeviceOptions gpu;
  gpu.backend = "cuda";
  gpu.reopen = [] { return absl::OkStatus(); };
  for (const char* id : {"gpu0", "gpu1"}) {
    gpu.id = id;
    AddDevice(gpu);
  }
  Start();
  Submit(OnGpu("other"), 1);
  JobRequest busy = Request("loop");
  busy.device = "gpu1";
  Submit(busy, 2);
  ASSERT_TRUE(breaking_->AwaitEntered(1));
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy"), 3);  // for either
  breaking_->Open();
  const auto end = recorder_->AwaitEnd(3);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_EQ(end->receipt->device, "gpu0") << "the other one is still busy";
}

TEST_F(ReopenTest, ADrainDoesNotWaitForADevice) {
  StartWithGpu(AtTheGate());
  EXPECT_EQ(Run("other", 1), JobState::kFailed);
  ASSERT_TRUE(reopening_->AwaitEntered(1));
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_TRUE(engine_->Drain(kPatience, "the test"));
  EXPECT_NE(WhyLost(), "");
  reopening_->Open();
  engine_.reset();
}

TEST_F(ReopenTest, TheEndDoesNotWaitForTheNextTry) {
  options_.reopen = {.first_pause = std::chrono::hours(1), .longest_pause = std::chrono::hours(1)};
  StartWithGpu([] { return absl::OkStatus(); });
  EXPECT_EQ(Run("other", 1), JobState::kFailed);
  ASSERT_TRUE(Eventually([&] { return fakes_[0]->lanes == 0; }));
  clock_.Advance(std::chrono::minutes(2));
  engine_.reset();  // or the test runs for an hour
}

TEST(PauseTest, GrowsToABound) {
  using std::chrono::milliseconds;
  const ReopenOptions options{.first_pause = milliseconds(100), .longest_pause = milliseconds(1000)};
  std::vector<nanoseconds> pauses;
  for (unsigned tries = 0; tries < 6; ++tries) pauses.push_back(PauseBefore(tries, options));
  EXPECT_THAT(pauses, ::testing::ElementsAre(milliseconds(100), milliseconds(200), milliseconds(400), milliseconds(800),
                                             milliseconds(1000), milliseconds(1000)));
  EXPECT_EQ(PauseBefore(4'000'000'000, options), milliseconds(1000));
  EXPECT_EQ(PauseBefore(0, {.first_pause = milliseconds(9), .longest_pause = milliseconds(2)}), milliseconds(2));
  EXPECT_EQ(PauseBefore(1000, {.first_pause = nanoseconds(1), .longest_pause = nanoseconds::max()}),
            nanoseconds::max());
}

}  // namespace
}  // namespace hotplate::core::testing
