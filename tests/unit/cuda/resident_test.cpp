// Arrays that stay on the device, against a fake driver: what is copied and what is not, what makes room for what, and
// that nobody ever reads half a copy.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda/executor.h"
#include "kernels/cuda/resident_arrays.h"
#include "tests/unit/cuda/fakes.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kChunk = StagingBuffer::kBytes;

// An array of the host: identity 0 for one that nobody knows by name.
struct HostArray {
  HostArray(std::uint64_t the_identity, std::size_t n, float first = 1) : identity(the_identity), values(n) {
    std::iota(values.begin(), values.end(), first);
  }
  hotplate_array View(const char* name) {
    hotplate_array array = FloatView(name, values);
    array.identity = identity;
    return array;
  }
  std::uint64_t identity;
  std::vector<float> values;
};

// One run of selu (y = 2x where x > 0, as all values here are) or vector_add.
struct Attempt {
  Outcome On(LaneExecutor& lane, const char* kernel, std::vector<HostArray*> in, HostArray& out) {
    const bool binary = in.size() == 2;
    hotplate_array inputs[2] = {in[0]->View(binary ? "a" : "x"), in[in.size() - 1]->View("b")};
    hotplate_array output = out.View(binary ? "c" : "y");
    hotplate_param params[2] = {};
    params[0].name = "alpha";
    params[1].name = "lambda";
    params[1].real = 2;
    hotplate_call call{};
    call.params = params;
    call.param_count = 2;
    call.inputs = inputs;
    call.input_count = static_cast<int>(in.size());
    call.outputs = &output;
    call.output_count = 1;
    lane.Run(*ThisKernelSide().Find(kernel), call, control, report);
    return Outcome(report.outcome);
  }
  void Cancel() { std::atomic_ref(control.cancel).store(1); }

  hotplate_control control{};
  hotplate_cuda_report report{};
};

::testing::AssertionResult Doubled(const HostArray& out, const HostArray& in) {
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    if (out.values[i] != 2 * in.values[i]) return ::testing::AssertionFailure() << out.values[i] << " at " << i;
  }
  return ::testing::AssertionSuccess();
}

class ResidentTest : public ::testing::Test {
 protected:
  ResidentTest() : fake_(Load()) {
    options_.driver_library = library_;
    options_.pinned_bytes = 64 * kMiB;
  }
  ~ResidentTest() override {
    fake_.Release();
    lanes_.clear();
    device_.reset();
    EXPECT_EQ(fake_.Counts(), FakeCounts{});
    EXPECT_THAT(fake_.Misuse(), IsEmpty());
  }

  void Open(const FakeScript& script = {}, int lanes = 1) {
    fake_.Reset(script);
    Driver driver;
    Outcome why = Driver::Load(library_, driver);
    if (why.ok()) why = driver.Check(driver.cuInit(0), "cuInit");
    if (why.ok()) device_ = DeviceExecutor::Open(options_, nullptr, nullptr, why);
    for (int i = 0; why.ok() && i < lanes; ++i) {
      if (auto lane = LaneExecutor::Open(*device_, why)) lanes_.push_back(std::move(lane));
    }
    ASSERT_TRUE(why.ok()) << why.message();
  }
  // A device whose tasks have so much.
  void OpenWith(std::uint64_t bytes, int lanes = 1) {
    FakeScript script;
    script.memory_bytes = bytes + 256 * kMiB;
    Open(script, lanes);
    ASSERT_EQ(device_->info().memory_bytes, bytes);
  }
  LaneExecutor& lane() { return *lanes_.front(); }
  void Double(HostArray& in, HostArray& out, std::size_t lane = 0) {
    Attempt run;
    const Outcome outcome = run.On(*lanes_[lane], "selu", {&in}, out);
    ASSERT_TRUE(outcome.ok()) << outcome.message();
    EXPECT_TRUE(Doubled(out, in));
  }
  // Whether a run of it copies it in.
  bool IsCopied(HostArray& in) {
    HostArray out(0, in.values.size());
    fake_.ForgetCalls();
    Double(in, out);
    return CopiedIn() > 0;
  }
  bool Send(const HostArray& array, std::size_t from, std::size_t to) {
    return device_->Upload(array.identity, array.values.size() * 4, from * 4,
                           reinterpret_cast<const std::byte*>(array.values.data() + from), (to - from) * 4);
  }

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
  // Bytes.
  std::uint64_t Copied(const std::string& name) {
    std::uint64_t sum = 0;
    for (const std::string& call : fake_.Calls()) {
      if (call.starts_with(name)) sum += std::stoull(call.substr(name.size() + 1));
    }
    return sum;
  }
  std::uint64_t CopiedIn() { return Copied("cuMemcpyHtoDAsync"); }
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

 private:
  FakeCuda& Load() {
    library_ = dlopen(HOTPLATE_FAKE_CUDA, RTLD_NOW);
    return FakeCudaOf(library_);
  }
};

TEST_F(ResidentTest, TheSecondTaskOnAnArrayCopiesNothingIn) {
  Open();
  HostArray a(1, 1000), b(2, 1000, 5), c(0, 1000);
  Attempt first;
  ASSERT_TRUE(first.On(lane(), "vector_add", {&a, &b}, c).ok());
  EXPECT_NE(first.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(CopiedIn(), 2u * 4000);
  EXPECT_EQ(Sampled().resident_bytes, 2u * 4096);
  EXPECT_EQ(Sampled().resident_arrays, 2u);
  EXPECT_EQ(Sampled().pool_used_bytes, 2u * 4096);
  fake_.ForgetCalls();
  std::fill(c.values.begin(), c.values.end(), 0);
  Attempt second;
  ASSERT_TRUE(second.On(lane(), "vector_add", {&a, &b}, c).ok());
  EXPECT_EQ(CopiedIn(), 0u);
  EXPECT_EQ(second.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(second.report.kernel_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_NE(second.report.device_to_host_ns, HOTPLATE_CUDA_ABSENT);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(c.values[i], a.values[i] + b.values[i]);
}

// One that is there beside one that is inline: only that one travels.
TEST_F(ResidentTest, OnlyWhatIsNotThereIsCopied) {
  Open();
  HostArray a(1, 1000), b(0, 1000, 5), c(0, 1000);
  Double(a, c);
  fake_.ForgetCalls();
  Attempt run;
  ASSERT_TRUE(run.On(lane(), "vector_add", {&a, &b}, c).ok());
  EXPECT_EQ(CopiedIn(), 4000u);
  EXPECT_NE(run.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_EQ(c.values[999], a.values[999] + b.values[999]);
}

TEST_F(ResidentTest, TheOutputOfOneTaskIsTheInputOfTheNext) {
  Open({}, 2);
  HostArray x(0, 3 * kChunk / 4 + 17), y(7, x.values.size()), z(0, x.values.size());
  Double(x, y);
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  EXPECT_EQ(Copied("cuMemcpyDtoHAsync"), y.values.size() * 4) << "the host keeps every array";
  for (const std::size_t lane : {0, 1}) {
    fake_.ForgetCalls();
    Double(y, z, lane);
    EXPECT_EQ(CopiedIn(), 0u);
  }
}

TEST_F(ResidentTest, AnArrayThatIsGivenTwiceIsOne) {
  Open();
  HostArray a(1, 1000), c(0, 1000);
  Attempt run;
  ASSERT_TRUE(run.On(lane(), "vector_add", {&a, &a}, c).ok());
  EXPECT_EQ(CopiedIn(), 4000u);
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  EXPECT_EQ(c.values[999], 2 * a.values[999]);
}

TEST_F(ResidentTest, OutputsOfATaskThatDidNotCompleteAreDropped) {
  FakeScript script;
  script.throwing_kernels.insert("vector_add");
  Open(script);
  HostArray a(1, 1000), b(2, 1000), c(3, 1000);
  Attempt failed;
  EXPECT_EQ(failed.On(lane(), "vector_add", {&a, &b}, c).code(), HOTPLATE_FAILED);
  EXPECT_EQ(Sampled().resident_arrays, 2u) << "the inputs";
  HostArray x(4, 100'000), y(5, 100'000);
  Attempt cancelled;
  fake_.Hold();
  std::thread runner([&] { EXPECT_EQ(cancelled.On(lane(), "trig_identity", {&x}, y).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 3; }));
  cancelled.Cancel();
  fake_.Release();
  runner.join();
  EXPECT_EQ(Sampled().resident_arrays, 3u) << "and this one's";
  EXPECT_EQ(Sampled().pool_used_bytes, Sampled().resident_bytes);
}

// While one lane copies, another that wants the same array waits for that, and reads all of it.
TEST_F(ResidentTest, TwoLanesCopyAnArrayOnce) {
  Open({}, 2);
  HostArray x(1, 10 * kChunk / 4), y(0, x.values.size()), z(0, x.values.size());
  fake_.Hold();
  std::thread first([&] { Double(x, y, 0); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  EXPECT_EQ(CallsOf("cuMemcpyHtoDAsync"), static_cast<int>(Staging::kMostBuffers));
  const int marks = CallsOf("cuEventRecord");
  std::thread second([&] { Double(x, z, 1); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventRecord") > marks; }));  // it has begun
  fake_.Release();
  first.join();
  second.join();
  EXPECT_EQ(CopiedIn(), x.values.size() * 4);
}

TEST_F(ResidentTest, WhoWaitsForAnothersCopyCanBeCancelled) {
  Open({}, 2);
  HostArray x(1, 10 * kChunk / 4), y(0, x.values.size()), z(0, x.values.size());
  fake_.Hold();
  std::thread first([&] { Double(x, y, 0); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  Attempt waiting;
  waiting.Cancel();
  std::thread second([&] { EXPECT_EQ(waiting.On(*lanes_[1], "selu", {&x}, z).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuStreamSynchronize") == 1; })) << "it has given up";
  fake_.Release();
  first.join();
  second.join();
}

// The lane that copies gives up: the one that waits goes on where that one was not.
TEST_F(ResidentTest, WhoWaitsTakesOver) {
  Open({}, 2);
  HostArray x(1, 10 * kChunk / 4), y(0, x.values.size()), z(0, x.values.size());
  fake_.Hold();
  Attempt first;
  std::thread one([&] { EXPECT_EQ(first.On(*lanes_[0], "selu", {&x}, y).code(), HOTPLATE_CANCELLED); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 1; }));
  std::thread two([&] { Double(x, z, 1); });
  first.Cancel();
  fake_.Release();
  one.join();
  two.join();
  EXPECT_FALSE(IsCopied(x));
}

TEST_F(ResidentTest, AnArrayInUseIsFreedByItsLastUser) {
  Open({}, 2);
  HostArray x(1, 1000), y(0, 1000), z(0, 1000);
  Double(x, y);
  fake_.ForgetCalls();
  fake_.Hold();
  std::thread first([&] { Double(x, y, 0); });
  std::thread second([&] { Double(x, z, 1); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") == 2; }));
  device_->Forget(1);
  EXPECT_EQ(Sampled().resident_arrays, 0u);
  EXPECT_EQ(Sampled().resident_bytes, 4096u);
  EXPECT_EQ(fake_.Counts().allocations, 3);
  fake_.Release();
  first.join();
  second.join();
  EXPECT_EQ(Sampled().resident_bytes, 0u);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

TEST_F(ResidentTest, TheOldestMakesRoom) {
  OpenWith(40 * kMiB);
  std::vector<HostArray> x;
  for (std::uint64_t id = 0; id <= 5; ++id) x.emplace_back(id, 8 * kMiB / 4, static_cast<float>(id + 1));
  HostArray y(0, 8 * kMiB / 4);
  for (const int id : {1, 2, 3, 1, 4}) {
    Double(x[id], y);
    EXPECT_EQ(device_->FreeBytes(), 40 * kMiB) << "what nobody uses is free";
  }
  EXPECT_EQ(Sampled().resident_bytes, 32 * kMiB);
  Double(x[5], y);
  EXPECT_EQ(Sampled().resident_arrays, 4u) << "one goes, and no more";
  EXPECT_EQ(Sampled().pool_used_bytes, 32 * kMiB);
  for (const int id : {3, 1, 4, 5}) EXPECT_FALSE(IsCopied(x[id])) << id;
  EXPECT_TRUE(IsCopied(x[2]));
  EXPECT_TRUE(IsCopied(x[3])) << "now the oldest";
}

// What tasks in other processes took is not known beforehand: the driver says no, and then room is made.
TEST_F(ResidentTest, ArraysMakeRoomWhenTheDriverHasNone) {
  FakeScript script;
  script.memory_bytes = 356 * kMiB;
  Open(script, 2);
  HostArray x(1, 30 * kMiB / 4), y(2, 30 * kMiB / 4), small(3, 1000), out(0, 1000);
  Double(x, y);
  Double(small, out);
  EXPECT_EQ(Sampled().resident_arrays, 3u);
  script.others_bytes = 290 * kMiB;  // 66 are left, 60 of them in arrays
  fake_.Change(script);
  HostArray large(4, 15 * kMiB / 4), twice(0, 15 * kMiB / 4);
  Attempt run;
  const Outcome outcome = run.On(*lanes_[1], "selu", {&large}, twice);
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_TRUE(Doubled(twice, large));
  EXPECT_FALSE(IsCopied(large));
}

// A module's code or a library's workspace is no memory of the pool's.
TEST_F(ResidentTest, ALaunchThatFindsNoMemoryGetsRoom) {
  OpenWith(64 * kMiB);
  HostArray x(1, 8 * kMiB / 4), y(2, 8 * kMiB / 4), a(0, 1000), b(0, 1000, 5), c(0, 1000);
  Double(x, y);
  FakeScript script = fake_.script();
  script.refused_launches["vector_add"] = kDriverOutOfMemory;
  fake_.Change(script);
  Attempt run;
  const Outcome outcome = run.On(lane(), "vector_add", {&a, &b}, c);
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(c.values[i], a.values[i] + b.values[i]);
  EXPECT_EQ(Sampled().resident_arrays, 0u);
}

TEST_F(ResidentTest, ALaunchThatCannotGetRoomFails) {
  OpenWith(64 * kMiB);
  FakeScript script = fake_.script();
  script.refused_launches["vector_add"] = kDriverOutOfMemory;
  fake_.Change(script);
  HostArray a(0, 1000), b(0, 1000), c(0, 1000);
  Attempt run;
  EXPECT_EQ(run.On(lane(), "vector_add", {&a, &b}, c).code(), HOTPLATE_OUT_OF_MEMORY);
}

TEST_F(ResidentTest, AnInputMakesNoRoomForAnother) {
  OpenWith(40 * kMiB);
  std::vector<HostArray> x;
  for (std::uint64_t id = 0; id <= 5; ++id) x.emplace_back(id, 8 * kMiB / 4, static_cast<float>(id + 1));
  HostArray y(0, 8 * kMiB / 4);
  for (const int id : {1, 2, 3, 4}) Double(x[id], y);
  fake_.ForgetCalls();
  Attempt run;
  const Outcome outcome = run.On(lane(), "vector_add", {&x[5], &x[1]}, y);  // the new one, and the oldest
  ASSERT_TRUE(outcome.ok()) << outcome.message();
  EXPECT_EQ(CopiedIn(), 8 * kMiB) << "the new one alone";
  EXPECT_EQ(y.values[7], x[5].values[7] + x[1].values[7]);
}

TEST_F(ResidentTest, AnUploadThatFindsNoRoomTakesNone) {
  OpenWith(40 * kMiB);
  HostArray x(1, 8 * kMiB / 4), y(0, 8 * kMiB / 4), large(2, 30 * kMiB / 4);
  Double(x, y);
  FakeScript script = fake_.script();
  script.others_bytes = 286 * kMiB;
  fake_.Change(script);
  EXPECT_FALSE(Send(large, 0, 1000));
  EXPECT_EQ(Sampled().resident_arrays, 1u);
}

TEST_F(ResidentTest, OutOfMemoryIsSaidOfAllThatIsMissing) {
  OpenWith(64 * kMiB, 2);
  HostArray x(1, 16 * kMiB / 4), y(0, 16 * kMiB / 4);
  Double(x, y);
  HostArray a(2, 100 * kMiB / 4), b(3, 100 * kMiB / 4), c(4, 100 * kMiB / 4);
  FakeScript script = fake_.script();
  script.memory_bytes = 290 * kMiB;  // another process takes its part
  fake_.Change(script);
  Attempt large;
  const Outcome outcome = large.On(lane(), "vector_add", {&a, &b}, c);
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_THAT(std::string(outcome.message()),
              AllOf(HasSubstr("gpu0: 314572800 bytes needed"), HasSubstr(std::to_string(34 * kMiB) + " bytes free"),
                    HasSubstr("the largest block found is " + std::to_string(34 * kMiB) + " bytes")));
  EXPECT_EQ(Sampled().resident_arrays, 0u) << "all of it made room";
  EXPECT_EQ(Sampled().pool_reserved_bytes, 0u);
  Double(x, y);
}

// An array that a task uses stays, whatever another wants.
TEST_F(ResidentTest, WhatIsInUseMakesNoRoom) {
  OpenWith(40 * kMiB, 2);
  HostArray x(1, 16 * kMiB / 4), y(0, 16 * kMiB / 4);
  Double(x, y);
  fake_.ForgetCalls();
  FakeScript script = fake_.script();
  script.waiting_kernels.insert("selu");
  script.breaking_kernels["trig_identity"] = kDriverIllegalAddress;
  fake_.Change(script);
  Attempt running, large, breaking;
  std::thread beside([&] { EXPECT_EQ(running.On(lane(), "selu", {&x}, y).code(), HOTPLATE_DEVICE_LOST); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuEventSynchronize") >= 1; }));
  EXPECT_EQ(device_->FreeBytes(), 8 * kMiB);
  HostArray a(2, 150 * kMiB / 4), b(3, 150 * kMiB / 4), c(0, 150 * kMiB / 4);
  const Outcome outcome = large.On(*lanes_[1], "vector_add", {&a, &b}, c);
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  HostArray small(0, 10), out(0, 10);
  EXPECT_EQ(breaking.On(*lanes_[1], "trig_identity", {&small}, out).code(), HOTPLATE_DEVICE_LOST);  // ends the other
  beside.join();
}

TEST_F(ResidentTest, AnIdleDeviceKeepsItsArrays) {
  Open();
  HostArray x(1, 100 * kMiB / 4), y(0, 100 * kMiB / 4);
  Double(x, y);
  device_->Rest(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(Sampled().pool_reserved_bytes, 100 * kMiB);
  EXPECT_FALSE(IsCopied(x));
  device_->Rest(std::chrono::steady_clock::now() + std::chrono::hours(2));
  device_->Forget(1);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  device_->Rest(std::chrono::steady_clock::now() + std::chrono::hours(3));
  EXPECT_EQ(Sampled().pool_reserved_bytes, 64 * kMiB) << "what was freed while no task ran goes back too";
}

// Nothing that could wait for it is asked of a lost device.
TEST_F(ResidentTest, ALostDeviceForgetsAll) {
  FakeScript script;
  script.breaking_kernels["trig_identity"] = kDriverIllegalAddress;
  Open(script);
  HostArray x(1, 1000), y(2, 1000), z(3, 1000);
  Double(x, y);
  Attempt breaking;
  EXPECT_EQ(breaking.On(lane(), "trig_identity", {&y}, z).code(), HOTPLATE_DEVICE_LOST);
  fake_.ForgetCalls();
  device_->Forget(1);
  EXPECT_FALSE(Send(HostArray(9, 100), 0, 100));
  EXPECT_EQ(device_->FreeBytes(), 0u);
  Attempt after;
  EXPECT_EQ(after.On(lane(), "selu", {&x}, y).code(), HOTPLATE_DEVICE_LOST);
  EXPECT_THAT(fake_.Calls(), IsEmpty());
  lanes_.clear();
  fake_.ForgetCalls();
  device_.reset();
  EXPECT_EQ(CallsOf("cuMemFreeAsync") + CallsOf("cuStreamSynchronize") + CallsOf("cuEventSynchronize"), 0);
}

TEST_F(ResidentTest, AnUploadAheadIsThereForTheTask) {
  Open();
  HostArray x(1, 100'000), y(0, 100'000);
  EXPECT_TRUE(Send(x, 0, 30'000));
  EXPECT_EQ(CopiedIn(), 120'000u) << "before the rest has come";
  EXPECT_TRUE(Send(x, 30'000, 100'000));
  fake_.ForgetCalls();
  Attempt run;
  ASSERT_TRUE(run.On(lane(), "selu", {&x}, y).ok());
  EXPECT_TRUE(Doubled(y, x));
  EXPECT_EQ(CopiedIn(), 0u);
  EXPECT_EQ(run.report.host_to_device_ns, HOTPLATE_CUDA_ABSENT);
  EXPECT_FALSE(Send(x, 0, 100'000)) << "it is there";
}

// The copies that are ahead need not be over: the task comes after them on the device, not on the host.
TEST_F(ResidentTest, ATaskWaitsForTheUploadOnTheDevice) {
  Open();
  HostArray x(1, 100'000), y(0, 100'000);
  fake_.Hold();
  EXPECT_TRUE(Send(x, 0, 100'000));
  std::thread runner([&] { Double(x, y); });
  EXPECT_TRUE(Eventually([&] { return CallsOf("cuLaunchHostFunc") == 1; }));
  fake_.Release();
  runner.join();
}

TEST_F(ResidentTest, ATaskCopiesWhatAnUploadHasNot) {
  Open();
  HostArray x(1, 100'000), y(0, 100'000);
  EXPECT_TRUE(Send(x, 0, 30'000));
  fake_.ForgetCalls();
  Double(x, y);
  EXPECT_EQ(CopiedIn(), 280'000u);
  EXPECT_FALSE(Send(x, 30'000, 60'000)) << "the task was faster";
  EXPECT_FALSE(IsCopied(x));
}

TEST_F(ResidentTest, AnUploadThatIsForgottenLeavesNothing) {
  Open();
  HostArray x(1, 100'000);
  EXPECT_TRUE(Send(x, 0, 30'000));
  EXPECT_EQ(Sampled().resident_bytes, ResidentArrays::MemoryBytes(400'000));
  device_->Forget(1);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  EXPECT_FALSE(Send(x, 30'000, 60'000)) << "its beginning is missing";
  EXPECT_EQ(Sampled().resident_arrays, 0u);
}

TEST_F(ResidentTest, UploadsAreRefusedWhereTheyCannotBe) {
  OpenWith(40 * kMiB);
  HostArray large(1, 48 * kMiB / 4), x(2, 24 * kMiB / 4), y(3, 24 * kMiB / 4);
  EXPECT_FALSE(Send(large, 0, 1000)) << "no device memory for it";
  EXPECT_TRUE(Send(x, 0, 1000));
  EXPECT_TRUE(Send(y, 0, 1000)) << "the other makes room";
  EXPECT_FALSE(Send(x, 1000, 2000)) << "and is gone";
  EXPECT_EQ(Sampled().resident_arrays, 1u);
  EXPECT_FALSE(Send(y, 2000, 3000)) << "a piece is missing";
  const std::byte byte{};
  EXPECT_FALSE(device_->Upload(0, 1, 0, &byte, 1));
  EXPECT_FALSE(device_->Upload(5, 1, 1, &byte, 1));
  EXPECT_FALSE(device_->Upload(5, 1, 0, &byte, 0));
  EXPECT_FALSE(device_->Upload(5, 1, UINT64_MAX, &byte, 2));
}

TEST_F(ResidentTest, WithoutPinnedMemoryNothingIsAhead) {
  options_.pinned_bytes = 2 * kChunk;  // the lane's
  Open();
  HostArray x(1, 1000), y(0, 1000);
  EXPECT_FALSE(Send(x, 0, 1000));
  EXPECT_EQ(Sampled().resident_arrays, 0u);
  EXPECT_TRUE(IsCopied(x));
}

// Whichever call fails, no task ever computes with half a copy, and nothing is left once all is forgotten.
TEST_F(ResidentTest, EveryCallIsChecked) {
  Open();
  int failed = 0, left = 0;
  bool all_went_well = false;
  for (std::uint64_t id = 1; failed < 200 && !all_went_well; ++failed, id += 2) {
    HostArray x(id, 1000, static_cast<float>(id)), y(id + 1, 1000);
    FakeScript script;
    script.fail_at = failed + 1;
    script.fail_code = 999;
    fake_.Change(script);
    const bool sent = Send(x, 0, 500);
    Attempt run;
    const Outcome outcome = run.On(lane(), "selu", {&x}, y);
    fake_.Change({});
    all_went_well = sent && outcome.ok();
    if (outcome.ok()) {
      EXPECT_TRUE(Doubled(y, x)) << failed;
    }
    Double(x, y);
    device_->Forget(id);
    device_->Forget(id + 1);
    // What CUDA does not take back is lost, and nothing else.
    EXPECT_LE(fake_.Counts().allocations, left + 1) << failed;
    left = fake_.Counts().allocations;
  }
  EXPECT_GE(failed, 25);
  EXPECT_LE(left, 3);
  lanes_.clear();
  device_.reset();
  EXPECT_THAT(fake_.Misuse(), ::testing::SizeIs(left)) << "blocks that were left, and nothing else";
  fake_.Reset({});
}

// Lanes, uploads ahead and ends of arrays, all at once on a device that is too small for all of it.
TEST_F(ResidentTest, ManyAtOnce) {
  constexpr int kLanes = 3, kArrays = 12, kRounds = 60;
  OpenWith(48 * kMiB, kLanes);
  const std::uint64_t before = Sampled().pool_used_bytes;
  std::atomic<std::uint64_t> next{100};
  for (int generation = 0; generation < 3; ++generation) {
    std::vector<HostArray> arrays;
    for (int i = 0; i < kArrays; ++i) {
      arrays.emplace_back(next++, static_cast<std::size_t>((i % 4 + 1) * 500'000), static_cast<float>(i + 1));
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < kLanes; ++i) {
      threads.emplace_back([&, i] {
        std::mt19937 random(static_cast<unsigned>(generation * 10 + i));
        for (int round = 0; round < kRounds / 3; ++round) {
          HostArray& in = arrays[random() % kArrays];
          HostArray out(random() % 2 == 0 ? next++ : 0, in.values.size());
          Double(in, out, static_cast<std::size_t>(i));
          if (out.identity != 0) device_->Forget(out.identity);
        }
      });
    }
    threads.emplace_back([&] {
      for (const HostArray& array : arrays) {
        const std::size_t n = array.values.size();
        for (std::size_t at = 0; at < n && Send(array, at, std::min(n, at + 300'000)); at += 300'000) {
        }
      }
    });
    for (std::thread& thread : threads) thread.join();
    for (const HostArray& array : arrays) device_->Forget(array.identity);
  }
  EXPECT_EQ(Sampled().resident_bytes, 0u);
  EXPECT_EQ(Sampled().pool_used_bytes, before);
  EXPECT_EQ(device_->FreeBytes(), 48 * kMiB);
  EXPECT_EQ(fake_.Counts().allocations, 0);
}

}  // namespace
}  // namespace hotplate
