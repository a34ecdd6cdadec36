// Large jobs of divisible kernels, in parts on several devices.
#include <numeric>
#include <set>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::size_t kLarge = 1000;  // elements, in the smallest parts that tests allow

std::vector<float> Counting(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 1.0F);
  return x;
}

class EnginePartsTest : public EngineTest {
 protected:
  EnginePartsTest() {
    options_.part_bytes = 1024;
    bodies_["each"] = [this](const Task& task, TaskControl& control) {
      {
        std::scoped_lock lock(mutex_);
        sizes_.push_back(task.call.inputs[0].bytes / sizeof(float));
        threads_.insert(std::this_thread::get_id());
      }
      return CopyBody(task, control);
    };
  }

  void AddGpus(int count) {
    for (int i = 0; i < count; ++i) {
      AddDevice({.id = "gpu" + std::to_string(i),
                 .backend = "cuda",
                 .name = "model",
                 .scratch_bytes = 60,
                 .lanes = 2,
                 .host_memory = false});
    }
  }

  // Until all lanes wait for a job: those that do not get no part.
  void AwaitIdle() {
    ASSERT_TRUE(Eventually([&] {
      const std::vector<EngineStatus::DeviceStatus> devices = engine_->Status().devices;
      return std::all_of(devices.begin(), devices.end(), [&](const EngineStatus::DeviceStatus& device) {
        return !device.lost.empty() || device.idle_lanes == (device.id < "gpu" || device.id > "gpu2" ? 1U : 2U);
      });
    }));
  }

  // The end of a job of "each" on so many numbers, whose result is looked at.
  std::shared_ptr<const JobEnd> RunEach(JobRequest request, std::size_t n = kLarge) {
    const std::uint64_t tag = ++tag_;
    AwaitIdle();
    Submit(std::move(request), tag);
    auto end = recorder_->AwaitEnd(tag);
    EXPECT_NE(end, nullptr);
    if (end == nullptr) return end;
    EXPECT_EQ(end->state, JobState::kCompleted) << end->error;
    if (end->outputs.size() == 1 && end->outputs[0].data != nullptr) {
      EXPECT_EQ(ToFloats(*end->outputs[0].data), Counting(n));
    }
    return end;
  }
  static std::string DeviceOf(const JobEnd& end) { return end.receipt->device; }

  std::vector<std::size_t> sizes() {
    std::scoped_lock lock(mutex_);
    return sizes_;
  }
  std::size_t threads() {
    std::scoped_lock lock(mutex_);
    return threads_.size();
  }
  void Forget() {
    std::scoped_lock lock(mutex_);
    sizes_.clear();
    threads_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> sizes_;
  std::set<std::thread::id> threads_;
  std::uint64_t tag_ = 0;
};

TEST_F(EnginePartsTest, EachDeviceComputesAPart) {
  AddGpus(3);
  AddDevice({.id = "gpu3", .backend = "cuda", .name = "another model", .host_memory = false});
  AddDevice({.id = "cpu0"});
  Start();
  std::shared_ptr<const JobEnd> end;
  // Where the lane that was called is held up, a lane of another model or back-end takes the job, and all of it.
  ASSERT_TRUE(Eventually([&] {
    Forget();
    end = RunEach(Request("each", Counting(kLarge)));
    return end == nullptr || (DeviceOf(*end) >= "gpu0" && DeviceOf(*end) < "gpu3");
  }));
  ASSERT_NE(end, nullptr);
  EXPECT_THAT(sizes(), UnorderedElementsAre(384, 320, 296));
  EXPECT_EQ(threads(), 3u);
  std::vector<std::string> all = end->receipt->part_devices;
  all.push_back(DeviceOf(*end));
  EXPECT_THAT(all, UnorderedElementsAre("gpu0", "gpu1", "gpu2"));
  EXPECT_EQ(end->receipt->cost.flop, 0);
  for (const EngineStatus::DeviceStatus& device : engine_->Status().devices) EXPECT_EQ(device.running, 0u);
}

TEST_F(EnginePartsTest, ThePartsTimesAreTheLongest) {
  std::atomic<int> runs{0};
  bodies_["each"] = [&](const Task& task, TaskControl& control) {
    Report report = CopyBody(task, control);
    report.kernel_ns = ++runs == 1 ? 5000 : 3000;
    report.host_to_device_ns = runs == 1 ? 100 : 700;
    return report;
  };
  AddGpus(2);
  Start();
  const auto end = RunEach(Request("each", Counting(kLarge)));
  EXPECT_EQ(end->receipt->part_devices.size(), 1u);
  EXPECT_EQ(end->receipt->kernel, nanoseconds(5000));
  EXPECT_GE(end->receipt->host_to_device, nanoseconds(100));
  EXPECT_EQ(end->receipt->conditions.energy_state, EnergyState::kNotMeasurable);
}

TEST_F(EnginePartsTest, OneDeviceDoesAllOfAJobThatIsNotToBeDivided) {
  AddGpus(2);
  Start();
  const auto whole = [&](JobRequest request, std::size_t n = kLarge) {
    const auto end = RunEach(std::move(request), n);
    ASSERT_TRUE(end != nullptr && end->receipt);
    EXPECT_THAT(end->receipt->part_devices, IsEmpty());
    EXPECT_EQ(sizes().back(), n);
  };
  {
    SCOPED_TRACE("too small for two parts");
    whole(Request("each", Counting(255)), 255);
  }
  {
    SCOPED_TRACE("a device was named");
    JobRequest request = Request("each", Counting(kLarge));
    request.device = "gpu1";
    whole(std::move(request));
  }
  {
    SCOPED_TRACE("the same bits were asked for");
    JobRequest request = Request("each", Counting(kLarge));
    request.deterministic = true;
    whole(std::move(request));
  }
  {
    SCOPED_TRACE("the output stays");
    JobRequest request = Request("each", Counting(kLarge));
    request.outputs.push_back({.name = "y", .keep = true, .array_name = {}, .lease = {}});
    whole(std::move(request));
  }
}

TEST_F(EnginePartsTest, AnArrayThatTheDaemonHoldsIsUsedWhereItIs) {
  AddGpus(2);
  Start();
  JobRequest keep = Request("each", Counting(kLarge));
  keep.outputs.push_back({.name = "y", .keep = true, .array_name = "held", .lease = {}});
  RunEach(std::move(keep));
  JobRequest request = Request("each");
  request.inputs[0].source = std::string("held");
  const auto end = RunEach(std::move(request));
  EXPECT_THAT(end->receipt->part_devices, IsEmpty());
  EXPECT_THAT(sizes(), ElementsAre(kLarge, kLarge));
}

TEST_F(EnginePartsTest, ADeviceThatIsAtWorkIsLeftAlone) {
  bodies_["other"] = Uninterruptible();
  AddGpus(2);
  Start();
  AwaitIdle();
  JobRequest busy = Request("other");
  busy.device = "gpu1";
  Submit(std::move(busy), 100);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  std::shared_ptr<const JobEnd> end;
  // Where the lane of the other device that was called is held up, the second lane of this one takes the job.
  std::uint64_t tag = 100;
  ASSERT_TRUE(Eventually([&] {
    Submit(Request("each", Counting(kLarge)), ++tag);
    end = recorder_->AwaitEnd(tag);
    return end == nullptr || DeviceOf(*end) == "gpu0";
  }));
  ASSERT_NE(end, nullptr);
  EXPECT_THAT(end->receipt->part_devices, IsEmpty());
  gate_.Open();
  ASSERT_NE(recorder_->AwaitEnd(100), nullptr);
}

TEST_F(EnginePartsTest, AJobThatComesWhileADeviceHasAPartSharesIt) {
  bodies_["each"] = [this](const Task& task, TaskControl& control) {
    gate_.Enter();
    return CopyBody(task, control);
  };
  AddGpus(2);
  Start();
  AwaitIdle();
  Submit(Request("each", Counting(kLarge)), 1);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  for (const EngineStatus::DeviceStatus& device : engine_->Status().devices) EXPECT_EQ(device.running, 1u);
  EXPECT_EQ(engine_->Status().running, 1u);
  for (const char* const device : {"gpu0", "gpu1"}) {
    JobRequest other = Request("copy");
    other.device = device;
    Submit(std::move(other), device[3] == '0' ? 2 : 3);
  }
  for (const std::uint64_t tag : {2, 3}) {
    const auto end = recorder_->AwaitEnd(tag);
    ASSERT_NE(end, nullptr);
    EXPECT_TRUE(end->receipt->device_shared) << tag;
  }
  gate_.Open();
  EXPECT_TRUE(recorder_->AwaitEnd(1)->receipt->device_shared);
}

TEST_F(EnginePartsTest, ACancelReachesAllParts) {
  bodies_["each"] = Cancellable();
  AddGpus(2);
  Start();
  AwaitIdle();
  const JobId id = Submit(Request("each", Counting(kLarge)), 1);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  ASSERT_TRUE(engine_->Cancel(kAlice, id).ok());
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kCancelled);
}

TEST_F(EnginePartsTest, APartThatItsDeviceCouldNotDoIsDoneByTheOther) {
  for (const Outcome& trouble : {Outcome::OutOfMemory("no room"), Outcome::DeviceLost("off the bus")}) {
    SCOPED_TRACE(trouble.message());
    // The lane that has the job computes the first part, which begins with 1.
    bodies_["each"] = [this, &trouble, failed = std::make_shared<std::atomic<bool>>(false)](const Task& task,
                                                                                            TaskControl& control) {
      const float first = static_cast<const float*>(task.call.inputs[0].data)[0];
      if (first != 1 && !failed->exchange(true)) return EndsWith(trouble);
      return CopyBody(task, control);
    };
    devices_.clear();
    fakes_.clear();
    engine_.reset();
    AddGpus(2);
    Start();
    const auto end = RunEach(Request("each", Counting(kLarge)));
    EXPECT_THAT(end->receipt->part_devices, IsEmpty());
    int lost = 0;
    for (const EngineStatus::DeviceStatus& device : engine_->Status().devices) lost += device.lost.empty() ? 0 : 1;
    EXPECT_EQ(lost, trouble.code() == HOTPLATE_DEVICE_LOST ? 1 : 0);
  }
}

TEST_F(EnginePartsTest, APartThatFailsFailsTheJob) {
  bodies_["each"] = [](const Task& task, TaskControl& control) {
    const float first = static_cast<const float*>(task.call.inputs[0].data)[0];
    return first == 1 ? CopyBody(task, control) : EndsWith(Outcome::Failed("library error 7"));
  };
  AddGpus(2);
  Start();
  AwaitIdle();
  Submit(Request("each", Counting(kLarge)), 1);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_THAT(Text(end->error), ::testing::HasSubstr("library error 7"));
}

TEST_F(EnginePartsTest, ManyAtOnceEndRightWithPartsOrWithout) {
  AddGpus(3);
  Start();
  constexpr std::uint64_t kJobs = 200;
  for (std::uint64_t tag = 1; tag <= kJobs; ++tag) Submit(Request("each", Counting(kLarge + tag % 3)), tag);
  for (std::uint64_t tag = 1; tag <= kJobs; ++tag) {
    const auto end = recorder_->AwaitEnd(tag);
    ASSERT_NE(end, nullptr);
    ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
    EXPECT_EQ(ToFloats(*end->outputs[0].data), Counting(kLarge + tag % 3));
  }
  for (const EngineStatus::DeviceStatus& device : engine_->Status().devices) EXPECT_EQ(device.running, 0u);
}

TEST_F(EnginePartsTest, AnEngineThatEndsWaitsForAllParts) {
  bodies_["each"] = [this](const Task& task, TaskControl& control) {
    gate_.Enter();
    return CopyBody(task, control);
  };
  AddGpus(2);
  Start();
  AwaitIdle();
  Submit(Request("each", Counting(kLarge)), 1);
  ASSERT_TRUE(gate_.AwaitEntered(2));
  std::thread open([&] { gate_.Open(); });
  EXPECT_TRUE(engine_->Drain(kPatience, "the test is over"));
  open.join();
  engine_.reset();
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
}

TEST_F(EngineTest, TheSameBitsAreRefusedWhereAKernelCannot) {
  bodies_["measure"] = CopyBody;
  Start();
  JobRequest request = Request("measure");
  request.deterministic = true;
  const absl::Status status = Refusal(std::move(request));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Fields(status), ElementsAre("deterministic"));
}

TEST_F(EngineTest, TheSameBitsReachTheKernelAndTheReceipt) {
  std::atomic<int> asked{-1};
  bodies_["copy"] = [&](const Task& task, TaskControl& control) {
    asked = task.call.deterministic;
    return CopyBody(task, control);
  };
  Start();
  for (const bool deterministic : {false, true}) {
    JobRequest request = Request("copy");
    request.deterministic = deterministic;
    const std::uint64_t tag = deterministic ? 2 : 1;
    Submit(std::move(request), tag);
    const auto end = recorder_->AwaitEnd(tag);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(asked, deterministic ? 1 : 0);
    EXPECT_EQ(end->receipt->deterministic, deterministic);
  }
}

}  // namespace
}  // namespace hotplate::core::testing
