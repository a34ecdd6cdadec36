// An engine on devices that keep outputs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {

// y = 2x. Leaves outputs that may stay in memory of its own, and knows their place on the host as a real one would.
class KeepingDevice final : public FakeDevice {
 public:
  KeepingDevice(const std::string& id, Gate& the_gate)
      : FakeDevice({.id = id, .backend = "cuda", .lanes = 2, .host_memory = false},
                   {{"copy", [this](const Task& task, TaskControl&) { return Run(task); }},
                    {"loop",
                     [this](const Task& task, TaskControl&) {
                       gate_.Enter();
                       return Run(task);
                     }},
                    {"other",
                     [](const Task&, TaskControl&) { return EndsWith(Outcome::DeviceLost("it fell off the bus")); }}}),
        gate_(the_gate) {}

  Outcome Fetch(std::uint64_t identity) override {
    ++fetches;
    if (held) gate_.Enter();
    if (broken) return Outcome::DeviceLost("it fell off the bus");
    const std::scoped_lock lock(mutex_);
    WriteBack(identity);
    return Outcome::Ok();
  }
  Outcome TakeFrom(Device& other, std::uint64_t identity, std::uint64_t bytes) override {
    if (!reaches) return FakeDevice::TakeFrom(other, identity, bytes);
    if (handing_over != nullptr) handing_over->Enter();
    auto& from = static_cast<KeepingDevice&>(other);
    const std::scoped_lock lock(mutex_, from.mutex_);
    const auto at = from.kept_.find(identity);
    if (at == from.kept_.end()) return Outcome::Ok();
    kept_[identity] = at->second;
    at->second.absent = nullptr;
    ++taken;
    return Outcome::Ok();
  }
  void Forget(std::uint64_t identity) override {
    if (held) gate_.Enter();
    const std::scoped_lock lock(mutex_);
    // As if the array had just made room: its memory on the host must be there until this returns.
    const auto at = kept_.find(identity);
    if (at == kept_.end()) return;
    if (at->second.absent != nullptr) std::memset(at->second.host, 1, at->second.bytes.size());
    kept_.erase(at);
    ++forgotten;
  }
  absl::Status Reopen() override {
    if (!comes_back) return FakeDevice::Reopen();
    if (lanes != 0) return absl::InternalError("lanes are open");
    const std::scoped_lock lock(mutex_);
    // As if a copy had been under way until now.
    for (const auto& [identity, kept] : kept_) {
      if (kept.absent != nullptr) std::memset(kept.host, 1, kept.bytes.size());
    }
    kept_.clear();
    return absl::OkStatus();
  }
  // The array has made room.
  void Evict(std::uint64_t identity) {
    const std::scoped_lock lock(mutex_);
    WriteBack(identity);
    kept_.erase(identity);
  }

  std::atomic<int> fetches{0}, forgotten{0}, taken{0};
  std::atomic<bool> held{false}, broken{false}, comes_back{false}, reaches{false};
  Gate* handing_over = nullptr;

 private:
  struct Kept {
    std::vector<std::byte> bytes;
    void* host;
    std::uint32_t* absent;  // null: the host has it
  };

  Report Run(const Task& task) {
    const std::scoped_lock lock(mutex_);
    const hotplate_array& in = task.call.inputs[0];
    const hotplate_array& out = task.call.outputs[0];
    const void* from = in.data;
    if (in.absent != nullptr && std::atomic_ref(*in.absent).load() != 0) {
      const auto at = kept_.find(in.identity);
      if (at == kept_.end()) return EndsWith(Outcome::Failed("the input is not here"));
      from = at->second.bytes.data();
    }
    std::vector<std::byte> result(out.bytes);
    for (std::size_t i = 0; i < out.bytes / 4; ++i) {
      reinterpret_cast<float*>(result.data())[i] = 2 * static_cast<const float*>(from)[i];
    }
    if (out.absent == nullptr) {
      std::memcpy(out.data, result.data(), out.bytes);
    } else {
      kept_[out.identity] = {std::move(result), out.data, out.absent};
      std::atomic_ref(*out.absent).store(1);
    }
    return {};
  }
  void WriteBack(std::uint64_t identity) {
    const auto at = kept_.find(identity);
    if (at == kept_.end() || at->second.absent == nullptr) return;
    std::memcpy(at->second.host, at->second.bytes.data(), at->second.bytes.size());
    std::atomic_ref(*std::exchange(at->second.absent, nullptr)).store(0);  // the memory there may go from here on
  }

  Gate& gate_;
  std::mutex mutex_;
  std::map<std::uint64_t, Kept> kept_;  // guarded by mutex_
};

class ArrayPlacesTest : public EngineTest {
 protected:
  void StartWith(int gpus, bool cpu = false) {
    for (int i = 0; i < gpus; ++i) {
      auto gpu = std::make_unique<KeepingDevice>(absl::StrCat("gpu", i), gate_);
      gpus_.push_back(gpu.get());
      devices_.push_back(std::move(gpu));
    }
    if (cpu) AddDevice({.any_thread = true});
    Start();
    // Which device takes a job is to depend on none that starts late.
    EXPECT_TRUE(Eventually([&] {
      const EngineStatus status = engine_->Status();
      return std::all_of(status.devices.begin(), status.devices.end(),
                         [](const auto& one) { return one.idle_lanes > 0; });
    }));
  }
  // A job on the array `from` (or on 1, 2, 3) whose output is kept as `to`.
  JobRequest Making(const std::string& from, const std::string& to, const std::string& device = "gpu0") {
    JobRequest request = Request("copy");
    if (!from.empty()) {
      request.inputs[0].source = from;
      request.inputs[0].signature = {};
    }
    if (!to.empty()) request.outputs = {{"y", true, to, std::nullopt}};
    request.device = device;
    return request;
  }
  std::shared_ptr<const JobEnd> Make(const std::string& from, const std::string& to,
                                     const std::string& device = "gpu0") {
    Submit(Making(from, to, device), ++tag_);
    auto end = recorder_->AwaitEnd(tag_);
    EXPECT_TRUE(end != nullptr && end->error.ok()) << to << ": " << (end == nullptr ? absl::OkStatus() : end->error);
    return end;
  }
  std::string LocationOf(const std::string& name) { return store_->Describe(kAlice, name)->location; }
  std::vector<float> Read(const std::string& name) {
    const auto reader = store_->Open(kAlice, name);
    EXPECT_TRUE(reader.ok()) << reader.status();
    const absl::Status fetched = store_->Fetch(reader->buffer);
    EXPECT_TRUE(fetched.ok()) << fetched;
    return ToFloats(*reader->buffer);
  }

  std::vector<KeepingDevice*> gpus_;
  std::uint64_t tag_ = 0;
};

}  // namespace hotplate::core::testing
