// The executor against a fake driver: everything that it does with a device but the kernels themselves.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "kernels/devices/cuda/executor/executor.h"
#include "tests/fakes/cuda/fake_cuda.h"
#include "tests/unit/cuda/fakes.h"

namespace hotplate {

// A call of vector_add, trig_identity or selu on float32, with its memory.
class FloatTask {
 public:
  FloatTask(const char* kernel, std::size_t n, int precision = HOTPLATE_PRECISION_DEFAULT)
      : launcher_(ThisKernelSide().Find(kernel)), a_(n), b_(n), out_(n) {
    std::iota(a_.begin(), a_.end(), 1.0f);
    std::fill(b_.begin(), b_.end(), 0.5f);
    const bool binary = std::string(kernel) == "vector_add";
    inputs_[0] = FloatView(binary ? "a" : "x", a_);
    inputs_[1] = FloatView("b", b_);
    output_ = FloatView(binary ? "c" : "y", out_);
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
  FloatTask(const FloatTask&) = delete;
  FloatTask& operator=(const FloatTask&) = delete;

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
    EXPECT_THAT(fake_.Misuse(), ::testing::IsEmpty());
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
    return FakeCudaOf(library_);
  }
  static void Log(void* self, const char* line) {
    ExecutorTest& test = *static_cast<ExecutorTest*>(self);
    const std::lock_guard lock(test.mutex_);
    test.lines_.emplace_back(line);
  }
};

}  // namespace hotplate
