// An engine on fake devices, as most tests want it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/status.h"
#include "server/core/jobs/job_event.h"
#include "tests/unit/core/fakes.h"

namespace hotplate::core::testing {

inline std::string Text(const absl::Status& status) { return std::string(status.message()); }

inline std::vector<std::string> Fields(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const FieldViolation& one : Violations(status)) fields.push_back(one.field);
  return fields;
}

class EngineTest : public ::testing::Test {
 protected:
  // Tests change these before Start().
  EngineOptions options_;
  ArrayLimits limits_{.total_bytes = std::uint64_t{1} << 30, .array_bytes = std::uint64_t{1} << 29};
  std::map<std::string, KernelBody> bodies_{
      {"copy", CopyBody}, {"other", CopyBody}, {"loop", CopyBody}, {"two", CopyBody}};
  std::vector<std::unique_ptr<FakeDevice>> devices_;
  Catalogues catalogues_{FakeCatalog()};

  ~EngineTest() override {
    // Whatever a test left waiting may go on, or the engine's end would wait for it.
    gate_.Open();
    clock_.Advance(std::chrono::minutes(2));  // nor for what a client might fetch
    if (engine_ != nullptr) engine_->Drain(kPatience, "the test is over");
    engine_.reset();
    EXPECT_THAT(recorder_->complaints(), ::testing::IsEmpty());
  }

  void AddDevice(FakeDeviceOptions options) {
    devices_.push_back(std::make_unique<FakeDevice>(std::move(options), bodies_));
  }

  void Start() {
    if (devices_.empty()) AddDevice({});
    store_ = std::make_unique<ArrayStore>(limits_, clock_, options_.allowances);
    DeviceSet set;
    for (std::unique_ptr<FakeDevice>& device : devices_) {
      fakes_.push_back(device.get());
      set.devices.push_back(std::move(device));
    }
    options_.log = [this](LogLevel level, const std::string& text) {
      std::scoped_lock lock(log_mutex_);
      log_.push_back(text);
      if (level >= LogLevel::kWarning) warnings_.push_back(text);
    };
    options_.log_level = LogLevel::kDebug;
    engine_ = std::make_unique<Engine>(options_, catalogues_, std::move(set), *store_, clock_);
  }

  // A kernel that waits at the gate, whatever happens to its job.
  KernelBody Uninterruptible() {
    return [this](const Task& task, TaskControl& control) {
      gate_.Enter();
      return CopyBody(task, control);
    };
  }
  // One that ends when it is told to.
  KernelBody Cancellable() {
    return [this](const Task& task, TaskControl& control) {
      if (gate_.EnterUnlessCancelled(control)) return EndsWith(Outcome::Cancelled());
      return CopyBody(task, control);
    };
  }

  JobId Submit(JobRequest request, std::uint64_t tag = 0, const Principal& who = kAlice) {
    const absl::StatusOr<JobId> id = engine_->Submit(who, std::move(request), recorder_, tag);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : JobId();
  }
  absl::Status Refusal(JobRequest request, const Principal& who = kAlice) {
    return engine_->Submit(who, std::move(request), nullptr, 0).status();
  }
  JobState StateOf(const JobId& id) { return engine_->Get(kRoot, id)->state; }

  std::vector<std::string> log() {
    std::scoped_lock lock(log_mutex_);
    return log_;
  }
  std::vector<std::string> warnings() {
    std::scoped_lock lock(log_mutex_);
    return warnings_;
  }

  FakeClock clock_;
  Gate gate_;
  std::vector<FakeDevice*> fakes_;
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  std::mutex log_mutex_;
  std::vector<std::string> log_, warnings_;  // warnings: and what is worse
  std::unique_ptr<ArrayStore> store_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace hotplate::core::testing
