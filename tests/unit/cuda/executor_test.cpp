// The executor against a fake driver: everything that it does with a device but the kernels themselves.
#include "kernels/cuda/executor.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

#include "tests/fakes/cuda/fake_cuda.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kChunk = StagingBuffer::kBytes;

// A call of vector_add, trig_identity or selu on float32, with its memory.
class Task {
 public:
  Task(const char* kernel, std::size_t n, int precision = HOTPLATE_PRECISION_DEFAULT)
      : launcher_(ThisKernelSide().Find(kernel)), a_(n), b_(n), out_(n) {
    std::iota(a_.begin(), a_.end(), 1.0f);
    std::fill(b_.begin(), b_.end(), 0.5f);
    const bool binary = std::string(kernel) == "vector_add";
    inputs_[0] = View(binary ? "a" : "x", a_);
    inputs_[1] = View("b", b_);
    output_ = View(binary ? "c" : "y", out_);
    params_[0].name = "alpha";
    params_[0].real = 1.67;
    params_[1].name = "lambda";
    params_[1].real = 1.05;
    call_.params = params_;
    call_.param_count = 2;
    call_.inputs = inputs_;
    call_.input_count = binary ? 2 : 1;
    call_.outputs = &output_;
    call_.output_count = 1;
    call_.precision = precision;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // The same array for both inputs.
  void Twice() { inputs_[1].data = inputs_[0].data; }
  Outcome RunOn(LaneExecutor& lane) {
    lane.Run(*launcher_, call_, control_, report_);
    return Outcome(report_.outcome);
  }
  bool Added() const {
    const auto* b = static_cast<const float*>(inputs_[1].data);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      if (out_[i] != a_[i] + b[i]) return false;
    }
    return true;
  }

  const CudaLauncher* launcher_;
  std::vector<float> a_, b_, out_;
  hotplate_array inputs_[2] = {}, output_ = {};
  hotplate_param params_[2] = {};
  hotplate_call call_{};
  hotplate_control control_{};
  hotplate_cuda_report report_{};

 private:
  static hotplate_array View(const char* name, std::vector<float>& values) {
    hotplate_array array{};
    array.name = name;
    array.dtype = static_cast<int>(DType::kFloat32);
    array.rank = 1;
    array.shape[0] = static_cast<std::int64_t>(values.size());
    array.data = values.data();
    array.bytes = values.size() * sizeof(float);
    return array;
  }
};

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() : fake_(Load()) {
    options_.driver_library = library_;
    options_.pinned_bytes = 64 * kMiB;
    fake_.Reset({});
  }
  ~ExecutorTest() override {
    fake_.Release();
    lanes_.clear();
    device_.reset();
    EXPECT_EQ(fake_.Counts(), FakeCounts{});
    EXPECT_THAT(fake_.Misuse(), IsEmpty());
  }

  // OK, or why the device or its lanes cannot be opened.
  Outcome Open(const FakeScript& script = {}, int lanes = 1) {
    fake_.Reset(script);
    Driver driver;
    Outcome why = Driver::Load(library_, driver);
    if (why.ok()) why = driver.Check(driver.cuInit(0), "cuInit");
    if (why.ok()) device_ = DeviceExecutor::Open(options_, Log, this, why);
    for (int i = 0; why.ok() && i < lanes; ++i) {
      if (auto lane = LaneExecutor::Open(*device_, why)) lanes_.push_back(std::move(lane));
    }
    return why;
  }
  std::string WhyNot(const FakeScript& script) {
    const Outcome why = Open(script);
    EXPECT_FALSE(why.ok());
    return std::string(why.message());
  }
  LaneExecutor& lane() { return *lanes_.front(); }
  hotplate_cuda_sample Sampled() {
    hotplate_cuda_sample sample{};
    EXPECT_TRUE(device_->Sample(sample));
    return sample;
  }
  int CallsOf(const std::string& name) {
    const std::vector<std::string> calls = fake_.Calls();
    return static_cast<int>(
        std::count_if(calls.begin(), calls.end(), [&](const std::string& call) { return call.starts_with(name); }));
  }
  // Waits until `condition` holds; false after a minute.
  template <typename Condition>
  static bool Eventually(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  void* library_ = nullptr;
  FakeCuda& fake_;
  hotplate_cuda_device_options options_{};
  std::unique_ptr<DeviceExecutor> device_;
  std::vector<std::unique_ptr<LaneExecutor>> lanes_;
  std::mutex mutex_;
  std::vector<std::string> lines_;  // guarded by mutex_

 private:
  FakeCuda& Load() {
    library_ = dlopen(HOTPLATE_FAKE_CUDA, RTLD_NOW);
    if (library_ == nullptr) std::abort();
    return reinterpret_cast<FakeCuda& (*)()>(dlsym(library_, "fake_cuda"))();
  }
  static void Log(void* self, const char* line) {
    ExecutorTest& test = *static_cast<ExecutorTest*>(self);
    const std::lock_guard lock(test.mutex_);
    test.lines_.emplace_back(line);
  }
};

TEST_F(ExecutorTest, RunsATaskAndTimesIt) {
  ASSERT_TRUE(Open().ok());
  Task task("vector_add", 1000);
  const Outcome outcome = task.RunOn(lane());
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_TRUE(task.Added());
  EXPECT_NE(task.report_.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(task.report_.kernel_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(task.report_.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(task.control_.progress, 1'000'000u);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  EXPECT_EQ(Sampled().pool_peak_bytes, 3u * 4096);
}

// Small arrays lie one behind the other and travel in one copy each way.
TEST_F(ExecutorTest, SmallInputsAreOneCopy) {
  ASSERT_TRUE(Open().ok());
  Task task("vector_add", 100);
  fake_.ForgetCalls();
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
  EXPECT_THAT(fake_.Calls(), AllOf(Contains("cuMemcpyHtoDAsync 912"), Contains("cuMemcpyDtoHAsync 400")));
  EXPECT_EQ(CallsOf("cuMemcpy"), 2);
  EXPECT_EQ(CallsOf("cuStreamSynchronize"), 0) << "a complete task waits for its last event alone";
}

TEST_F(ExecutorTest, AnArrayThatIsGivenTwiceIsCopiedOnce) {
  ASSERT_TRUE(Open().ok());
  Task task("vector_add", 100);
  task.Twice();
  fake_.ForgetCalls();
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
  EXPECT_THAT(fake_.Calls(), Contains("cuMemcpyHtoDAsync 400"));
}

TEST_F(ExecutorTest, EmptyArraysAreFine) {
  ASSERT_TRUE(Open().ok());
  Task task("vector_add", 0);
  const Outcome outcome = task.RunOn(lane());
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_EQ(task.report_.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(task.report_.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
}

// Sizes around the borders of chunks and helped copies, with threads that help and without.
TEST_F(ExecutorTest, EverySizeArrivesWhole) {
  for (const int helpers : {0, 2}) {
    lanes_.clear();
    device_.reset();
    options_.copy_threads = helpers;
    ASSERT_TRUE(Open().ok());
    for (const std::size_t n : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, kChunk / 8 - 1,
                                kChunk / 8, kChunk / 4 - 1, kChunk / 4, kChunk / 4 + 1, 3 * kChunk / 4 + 17}) {
      Task task("vector_add", n);
      const Outcome outcome = task.RunOn(lane());
      ASSERT_TRUE(outcome.ok()) << n << ": " << outcome.message();
      EXPECT_TRUE(task.Added()) << n;
    }
  }
}

// The first bytes are on the bus while the last are not staged yet, and no buffer is filled again too early.
TEST_F(ExecutorTest, AnUploadRunsAheadByItsBuffers) {
  ASSERT_TRUE(Open().ok());
  Task task("selu", 10 * kChunk / 4);
  fake_.ForgetCalls();
  fake_.Hold();
  std::thread runner([&] { EXPECT_TRUE(task.RunOn(lane()).ok()); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), static_cast<int>(Staging::kMostBuffers));
  fake_.Release();
  runner.join();
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), 10);
  for (std::size_t i = 0; i < task.out_.size(); i += 999) ASSERT_EQ(task.out_[i], 1.05f * task.a_[i]) << i;
}

// With no more than its own two buffers a lane works just the same.
TEST_F(ExecutorTest, ALaneMakesDoWithItsOwnBuffers) {
  options_.pinned_bytes = 2 * kChunk;
  ASSERT_TRUE(Open().ok());
  Task task("vector_add", 5 * kChunk / 4);
  fake_.Hold();
  std::thread runner([&] { EXPECT_TRUE(task.RunOn(lane()).ok()); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), 2);
  fake_.Release();
  runner.join();
  EXPECT_TRUE(task.Added());
  EXPECT_EQ(Sampled().pinned_bytes, 2 * kChunk);
}

// The next chunks of the output are asked for before the first is copied out.
TEST_F(ExecutorTest, ADownloadRunsAheadByItsBuffers) {
  ASSERT_TRUE(Open().ok());
  Task task("selu", 6 * kChunk / 4);
  ASSERT_TRUE(task.RunOn(lane()).ok());
  const std::vector<std::string> calls = fake_.Calls();
  const auto first = std::find_if(calls.begin(), calls.end(),
                                  [](const std::string& call) { return call.starts_with("cuMemcpyDtoH"); });
  const auto waited = std::find_if(first, calls.end(), [](const std::string& call) {
    return call.starts_with("cuEventQuery") || call.starts_with("cuEventSynchronize");
  });
  EXPECT_EQ(std::count_if(first, waited, [](const std::string& call) { return call.starts_with("cuMemcpyDtoH"); }),
            static_cast<int>(Staging::kMostBuffers));
}

TEST_F(ExecutorTest, PinnedMemoryIsBoundedAndShared) {
  options_.pinned_bytes = 5 * kChunk;
  const Outcome third = Open({}, 3);
  EXPECT_EQ(third.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(third.message()), AllOf(HasSubstr("pinned host memory"), HasSubstr("20971520 bytes")));
  ASSERT_EQ(lanes_.size(), 2u);
  // The fifth buffer is for whoever needs it, and afterwards for the next: each lane in turn runs ahead by three.
  for (const auto& one : lanes_) {
    Task task("selu", 5 * kChunk / 4);
    fake_.ForgetCalls();
    fake_.Hold();
    std::thread runner([&] { EXPECT_TRUE(task.RunOn(*one).ok()); });
    EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
    EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), 3);
    fake_.Release();
    runner.join();
  }
  EXPECT_EQ(Sampled().pinned_bytes, 5 * kChunk);
  EXPECT_EQ(Sampled().pinned_peak_bytes, 5 * kChunk);
  lanes_.pop_back();
  Outcome why = Outcome::Ok();
  lanes_.push_back(LaneExecutor::Open(*device_, why));
  EXPECT_TRUE(why.ok()) << "what a lane leaves behind is there for the next";
}

TEST_F(ExecutorTest, RefusedPinnedMemoryIsSaid) {
  FakeScript script;
  script.pinnable_bytes = kMiB;
  const Outcome why = Open(script);
  EXPECT_EQ(why.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(why.message()), HasSubstr("pinned host memory: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"));
}

TEST_F(ExecutorTest, OutOfMemoryIsSaidAndForgotten) {
  FakeScript script;
  script.memory_bytes = 320 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  EXPECT_EQ(device_->info().memory_bytes, 64 * kMiB);
  {
    Task small("vector_add", 4 * kMiB / 4);
    ASSERT_TRUE(small.RunOn(lane()).ok());
  }
  script.memory_bytes = 290 * kMiB;  // another process takes its part
  fake_.Change(script);
  Task large("vector_add", 100 * kMiB / 4);
  const Outcome outcome = large.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(outcome.message()),
              AllOf(HasSubstr("out of device memory on gpu0: 314572800 bytes needed"),
                    HasSubstr(std::to_string(34 * kMiB) + " bytes free"),
                    HasSubstr("the largest block found is " + std::to_string(34 * kMiB) + " bytes")));
  EXPECT_TRUE(device_->Usable().ok());
  EXPECT_EQ(Sampled().pool_reserved_bytes, 0u) << "nothing stays behind";
  Task again("vector_add", 1000);
  EXPECT_TRUE(again.RunOn(lane()).ok());
  EXPECT_TRUE(again.Added());
}

// What the pool keeps of earlier tasks is given back before memory is said to be out.
TEST_F(ExecutorTest, WhatThePoolKeepsIsNotInTheWay) {
  FakeScript script;
  script.memory_bytes = 400 * kMiB;
  ASSERT_TRUE(Open(script, 2).ok());
  Task first("selu", 50 * kMiB / 4);
  ASSERT_TRUE(first.RunOn(lane()).ok());
  EXPECT_GT(Sampled().pool_reserved_bytes, 0u) << "kept for the next task";
  EXPECT_GT(device_->FreeBytes(), 100 * kMiB) << "and still counted as free";
}

// A task's frees are in flight when it is over; what they leave in the pool, whichever lane's, must not be in the way
// of a larger task.
TEST_F(ExecutorTest, MemoryThatThePoolKeepsMakesRoomForALargerTask) {
  for (const std::size_t second : {0, 1}) {
    FakeScript script;
    script.memory_bytes = 250 * kMiB;
    ASSERT_TRUE(Open(script, 2).ok());
    Task first("vector_add", 40 * kMiB / 4);
    ASSERT_TRUE(first.RunOn(lane()).ok());
    EXPECT_EQ(Sampled().pool_reserved_bytes, 120 * kMiB);
    Task larger("vector_add", 50 * kMiB / 4);
    const Outcome outcome = larger.RunOn(*lanes_[second]);
    EXPECT_TRUE(outcome.ok()) << outcome.message();
    EXPECT_TRUE(larger.Added());
    lanes_.clear();
    device_.reset();
  }
}

// Nor does a task that finds no room wait for another lane's.
TEST_F(ExecutorTest, OutOfMemoryIsSaidWhileAnotherLaneRuns) {
  FakeScript script;
  script.memory_bytes = 300 * kMiB;
  script.waiting_kernels.insert("vector_add");
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  ASSERT_TRUE(Open(script, 2).ok());
  Task running("vector_add", 1000), breaking("selu", 100);
  std::thread beside([&] { EXPECT_EQ(running.RunOn(*lanes_[1]).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") >= 1; }));
  Task large("trig_identity", 160 * kMiB / 4);
  EXPECT_EQ(large.RunOn(lane()).code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_EQ(breaking.RunOn(lane()).code(), HOTPLATE_DEVICE_LOST);  // and so ends the other
  beside.join();
}

// Measuring what could be had maps it, with all lanes waiting: a few times only, and not at all where that takes long.
TEST_F(ExecutorTest, LargeMemoryIsNotMeasured) {
  FakeScript script;
  script.memory_bytes = 16384 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  fake_.ForgetCalls();
  DevicePointer block = 0;
  const Outcome outcome = device_->Allocate(20480 * kMiB, lane(), block);
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr(std::to_string(16128 * kMiB) + " bytes free"));
  EXPECT_EQ(CallsOf("cuMemAllocFromPoolAsync"), 2);
}

// What others have when the device is opened is theirs for now, not for good.
TEST_F(ExecutorTest, AFullDeviceIsNotSmallForGood) {
  FakeScript script;
  script.memory_bytes = 16384 * kMiB;
  script.others_bytes = 16380 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  EXPECT_EQ(device_->info().memory_bytes, (16384 - 1024 - 256) * kMiB) << "but for a context and the reserve";
  EXPECT_EQ(device_->FreeBytes(), 0u);
  Task task("vector_add", 8 * kMiB / 4);
  EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_OUT_OF_MEMORY);
  script.others_bytes = 0;
  fake_.Change(script);
  EXPECT_EQ(device_->FreeBytes(), device_->info().memory_bytes);
  EXPECT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
}

TEST_F(ExecutorTest, AnIdleDeviceGivesItsPoolBack) {
  using std::chrono::seconds;
  const auto later = [](int s) { return std::chrono::steady_clock::now() + seconds(s); };
  FakeScript script;
  script.waiting_kernels.insert("trig_identity");
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  ASSERT_TRUE(Open(script, 2).ok());
  Task task("vector_add", 40 * kMiB / 4);
  ASSERT_TRUE(task.RunOn(lane()).ok());
  device_->Rest(std::chrono::steady_clock::time_point());
  EXPECT_EQ(Sampled().pool_reserved_bytes, 120 * kMiB) << "kept for the next task";
  device_->Rest(later(3600));
  EXPECT_EQ(Sampled().pool_reserved_bytes, 64 * kMiB);
  fake_.ForgetCalls();
  device_->Rest(later(7200));
  EXPECT_THAT(fake_.Calls(), IsEmpty()) << "once";
  // Not while a task runs.
  ASSERT_TRUE(task.RunOn(lane()).ok());
  Task running("trig_identity", 1000), breaking("selu", 100);
  std::thread beside([&] { EXPECT_EQ(running.RunOn(*lanes_[1]).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 2; }));
  const int trims = CallsOf("cuMemPoolTrimTo");
  device_->Rest(later(3600));
  EXPECT_EQ(CallsOf("cuMemPoolTrimTo"), trims);
  EXPECT_EQ(breaking.RunOn(lane()).code(), HOTPLATE_DEVICE_LOST);
  beside.join();
}

// A task whose host side runs out of memory leaves nothing behind and nothing in flight.
TEST_F(ExecutorTest, AnExceptionLeavesNothing) {
  FakeScript script;
  script.throwing_kernels.insert("vector_add");
  options_.pinned_bytes = 4 * kChunk;
  ASSERT_TRUE(Open(script).ok());
  for (int i = 0; i < 2; ++i) {
    Task task("vector_add", 5 * kChunk / 4);
    fake_.ForgetCalls();
    const Outcome outcome = task.RunOn(lane());
    EXPECT_EQ(outcome.code(), HOTPLATE_FAILED);
    EXPECT_THAT(std::string(outcome.message()), HasSubstr("bad_alloc"));
    EXPECT_EQ(CallsOf("cuStreamSynchronize"), 1) << "what is in flight uses the task's memory";
    EXPECT_EQ(fake_.Counts().allocations, 0);
    EXPECT_EQ(lane().kernel(), nullptr);
  }
  Task next("selu", 100);
  EXPECT_TRUE(next.RunOn(lane()).ok());
}

// What lies between two outputs was never written, and is not read.
TEST_F(ExecutorTest, NothingBetweenOutputsIsRead) {
  ASSERT_TRUE(Open().ok());
  Task task("vector_add", 100);
  std::vector<float> more(64);
  hotplate_array outputs[3] = {task.output_, task.output_, task.output_};
  outputs[1].name = outputs[2].name = "more";
  outputs[1].data = more.data();
  outputs[1].bytes = more.size() * sizeof(float);  // without a gap before the next
  std::vector<float> last(100);
  outputs[2].data = last.data();
  task.call_.outputs = outputs;
  task.call_.output_count = 3;
  fake_.ForgetCalls();
  ASSERT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
  EXPECT_THAT(fake_.Calls(), AllOf(Contains("cuMemcpyDtoHAsync 400"), Contains("cuMemcpyDtoHAsync 656")));
  EXPECT_EQ(CallsOf("cuMemcpyDtoH"), 2);
}

TEST_F(ExecutorTest, AStickyErrorLosesTheDevice) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  ASSERT_TRUE(Open(script, 2).ok());
  Task breaking("selu", 100);
  const Outcome outcome = breaking.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_DEVICE_LOST);
  const std::string why(outcome.message());
  EXPECT_THAT(why, ContainsRegex("gpu0 is lost since 20[0-9-]+T[0-9:]+Z: kernel selu failed: .*illegal memory access"));
  EXPECT_THAT(lines_, ElementsAre(why));
  // Every later task is refused in the same words, and nothing is asked of the device for it.
  fake_.ForgetCalls();
  Task after("vector_add", 100);
  const Outcome refused = after.RunOn(*lanes_.back());
  EXPECT_EQ(refused.code(), HOTPLATE_DEVICE_LOST);
  EXPECT_EQ(std::string(refused.message()), why);
  EXPECT_THAT(fake_.Calls(), IsEmpty());
  hotplate_cuda_sample sample{};
  EXPECT_FALSE(device_->Sample(sample));
  EXPECT_EQ(device_->FreeBytes(), 0u);
  Outcome lane_why = Outcome::Ok();
  EXPECT_EQ(LaneExecutor::Open(*device_, lane_why), nullptr);
  EXPECT_EQ(lane_why.code(), HOTPLATE_DEVICE_LOST);
  EXPECT_THAT(lines_, ElementsAre(why)) << "said once";
}

// CUDA cannot say which of several kernels broke the context, so the message names those that ran beside.
TEST_F(ExecutorTest, ALostDeviceNamesWhatRanBeside) {
  FakeScript script;
  script.breaking_kernels["selu"] = kDriverIllegalAddress;
  script.waiting_kernels.insert("vector_add");
  ASSERT_TRUE(Open(script, 2).ok());
  Task breaking("selu", 100), beside("vector_add", 100);
  fake_.Hold();  // until both run
  std::thread first([&] { EXPECT_EQ(breaking.RunOn(*lanes_[0]).code(), HOTPLATE_DEVICE_LOST); });
  std::thread second([&] { EXPECT_EQ(beside.RunOn(*lanes_[1]).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 2; }));
  fake_.Release();
  first.join();
  second.join();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_.front(), AllOf(HasSubstr("selu"), HasSubstr("vector_add"), HasSubstr("beside")));
}

TEST_F(ExecutorTest, ARefusedLaunchFailsTheTaskAlone) {
  FakeScript script;
  script.refused_launches["vector_add"] = 9;
  ASSERT_TRUE(Open(script).ok());
  Task task("vector_add", 100);
  const Outcome outcome = task.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_FAILED);
  EXPECT_THAT(std::string(outcome.message()), HasSubstr("launch: invalid configuration argument"));
  EXPECT_TRUE(task.RunOn(lane()).ok()) << "the error is not found again";
  EXPECT_TRUE(task.Added());
}

// Whichever call of a task fails, the task fails, the device keeps nothing of it, and the next task is fine.
TEST_F(ExecutorTest, EveryCallIsChecked) {
  ASSERT_TRUE(Open().ok());
  const auto run = [&](int fail_at) {
    FakeScript script;
    script.fail_at = fail_at;
    script.fail_code = 999;
    fake_.Change(script);
    Task task("vector_add", 1000);
    return task.RunOn(lane());
  };
  int failed = 0, left = 0;
  // Each run comes one call further; polls make a task's calls a few more now and then.
  for (; failed < 100; ++failed) {
    const Outcome outcome = run(failed + 1);
    if (outcome.ok()) break;
    EXPECT_EQ(outcome.code(), HOTPLATE_FAILED) << outcome.message();
    EXPECT_THAT(std::string(outcome.message()), HasSubstr("CUDA_ERROR_UNKNOWN")) << failed;
    // What CUDA does not take back is lost, and nothing else.
    if (outcome.message().starts_with("freeing device memory")) ++left;
    EXPECT_EQ(fake_.Counts().allocations, left) << failed;
    ASSERT_TRUE(run(0).ok()) << failed;
  }
  fake_.Change({});
  EXPECT_EQ(Sampled().pool_used_bytes, static_cast<std::uint64_t>(left) * 3 * 4096);
  lanes_.clear();
  device_.reset();
  EXPECT_THAT(fake_.Misuse(), SizeIs(left)) << "blocks that were left, and nothing else";
  fake_.Reset({});
  EXPECT_GE(failed, 14) << "a task makes that many calls";
}

// The same for opening: no lane and no device is half there (the fixture counts what is left).
TEST_F(ExecutorTest, OpeningChecksEveryCall) {
  int failed = 0;
  for (; failed < 100; ++failed) {
    FakeScript script;
    script.fail_at = failed + 1;
    script.fail_code = 999;
    const Outcome why = Open(script, 2);
    lanes_.clear();
    device_.reset();
    fake_.Change({});
    EXPECT_THAT(fake_.Misuse(), IsEmpty());
    if (why.ok()) break;
    EXPECT_THAT(std::string(why.message()), HasSubstr("CUDA_ERROR_UNKNOWN"));
    EXPECT_EQ(fake_.Counts().streams + fake_.Counts().events + fake_.Counts().contexts, 0) << failed;
  }
  EXPECT_GE(failed, 40);
}

TEST_F(ExecutorTest, ACancelStopsAChunkedKernel) {
  ASSERT_TRUE(Open().ok());
  Task task("trig_identity", 100'000);
  fake_.Hold();
  std::thread runner([&] { EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 2; }));
  std::atomic_ref(task.control_.cancel).store(1);
  fake_.Release();
  runner.join();
  EXPECT_EQ(CallsOf("cuLaunchHostFunc"), 2) << "two steps are in flight, and no more are enqueued";
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  Task next("trig_identity", 5000);
  EXPECT_TRUE(next.RunOn(lane()).ok());
  EXPECT_NEAR(next.out_[4999], 1, 1e-6);
}

TEST_F(ExecutorTest, ACancelledTaskDoesNotBegin) {
  ASSERT_TRUE(Open().ok());
  Task task("vector_add", 100);
  task.control_.cancel = 1;
  EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_CANCELLED);
  EXPECT_EQ(CallsOf("cuLaunchHostFunc"), 0);
}

// Matrices of a lane's scratch, sums of several lanes at once: nobody's memory is anybody else's.
TEST_F(ExecutorTest, LanesDoNotDisturbOneAnother) {
  ASSERT_TRUE(Open({}, 3).ok());
  const std::uint64_t before = Sampled().pool_used_bytes;
  std::vector<std::thread> threads;
  for (const auto& one : lanes_) {
    threads.emplace_back([&one] {
      for (const std::size_t n : {10, 100'000, 7, 2'000'000, 1000}) {
        Task task("vector_add", n);
        const Outcome outcome = task.RunOn(*one);
        ASSERT_TRUE(outcome.ok()) << outcome.message();
        EXPECT_TRUE(task.Added());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Sampled().pool_used_bytes, before);
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

TEST_F(ExecutorTest, DescribesTheDevice) {
  FakeScript script;
  script.name = "NVIDIA H100 MIG 1g.10gb";
  ASSERT_TRUE(Open(script).ok());
  const hotplate_cuda_device_info& info = device_->info();
  EXPECT_STREQ(info.name, "NVIDIA H100 MIG 1g.10gb");
  EXPECT_STREQ(info.uuid, "MIG-00000000-0000-0000-0000-000000000010");
  EXPECT_STREQ(info.pci_bus_id, "00000000:60:00.0");
  EXPECT_STREQ(info.mode, "MIG");
  EXPECT_EQ(info.compute_major, 9);
  EXPECT_EQ(info.multiprocessors, 8);
}

TEST_F(ExecutorTest, SaysWhyADeviceCannotBeUsed) {
  FakeScript taken;
  taken.taken = true;
  EXPECT_THAT(WhyNot(taken), HasSubstr("busy or unavailable"));
  taken.compute_mode = kComputeModeExclusiveProcess;
  EXPECT_EQ(WhyNot(taken), "its compute mode is EXCLUSIVE_PROCESS and another process has it");
  FakeScript prohibited;
  prohibited.compute_mode = kComputeModeProhibited;
  EXPECT_THAT(WhyNot(prohibited), HasSubstr("PROHIBITED"));
  FakeScript no_pools;
  no_pools.memory_pools = 0;
  EXPECT_THAT(WhyNot(no_pools), HasSubstr("no memory pools"));
  FakeScript no_code;
  no_code.no_code = true;
  no_code.compute_major = 6;
  no_code.compute_minor = 1;
  EXPECT_EQ(WhyNot(no_code), "compute capability 6.1 has no code in this plug-in (it has 75 80 90)");
}

TEST_F(ExecutorTest, RefusesAPrecisionThatTheDeviceHasNot) {
  FakeScript turing;
  turing.name = "Tesla T4";
  turing.compute_major = 7;
  turing.compute_minor = 5;
  ASSERT_TRUE(Open(turing).ok());
  EXPECT_TRUE(device_->CheckPrecision(HOTPLATE_PRECISION_DEFAULT).ok());
  EXPECT_TRUE(device_->CheckPrecision(HOTPLATE_PRECISION_F16).ok());
  for (const int precision : {HOTPLATE_PRECISION_TF32, HOTPLATE_PRECISION_BF16}) {
    const Outcome refused = device_->CheckPrecision(precision);
    EXPECT_EQ(refused.code(), HOTPLATE_INVALID);
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("compute capability 8.0"), HasSubstr("Tesla T4"), HasSubstr("7.5")));
    Task task("vector_add", 10, precision);
    EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_INVALID) << "whoever did not ask for a plan";
  }
}

TEST_F(ExecutorTest, NamesAnExclusiveDevice) {
  FakeScript script;
  script.compute_mode = kComputeModeExclusiveProcess;
  ASSERT_TRUE(Open(script).ok());
  EXPECT_STREQ(device_->info().mode, "EXCLUSIVE_PROCESS");
}

}  // namespace
}  // namespace hotplate
