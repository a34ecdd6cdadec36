// Arrays whose only bytes are on a device: who has them copied to the host, who does not, and what is said when the
// device is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// y = 2x. Leaves outputs that may stay in memory of its own, and knows their place on the host as a real one would.
class KeepingDevice final : public FakeDevice {
 public:
  KeepingDevice(const std::string& id, Gate& the_gate)
      : FakeDevice({.id = id, .backend = "cuda", .host_memory = false},
                   {{"copy", [this](const Task& task, TaskControl&) { return Run(task); }},
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
  // The array has made room.
  void Evict(std::uint64_t identity) {
    const std::scoped_lock lock(mutex_);
    WriteBack(identity);
    kept_.erase(identity);
  }

  std::atomic<int> fetches{0}, forgotten{0};
  std::atomic<bool> held{false}, broken{false};

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

TEST_F(ArrayPlacesTest, AChainIsFetchedAtTheFirstRead) {
  StartWith(1);
  Make("", "A0");
  for (int i = 1; i < 10; ++i) Make(absl::StrCat("A", i - 1), absl::StrCat("A", i));
  EXPECT_EQ(gpus_[0]->fetches, 0);
  EXPECT_EQ(LocationOf("A9"), "gpu0");
  EXPECT_EQ(store_->List(kAlice).front().location, "gpu0");
  EXPECT_EQ(store_->bytes_held(), 10u * 12) << "the host keeps room for all of them";
  EXPECT_EQ(Read("A9"), (std::vector<float>{1024, 2048, 3072}));
  EXPECT_EQ(LocationOf("A9"), "host");
  EXPECT_EQ(LocationOf("A8"), "gpu0");
  EXPECT_EQ(Read("A9"), (std::vector<float>{1024, 2048, 3072}));
  EXPECT_EQ(gpus_[0]->fetches, 1);
}

TEST_F(ArrayPlacesTest, WhatIsFreedUnreadIsNotFetched) {
  StartWith(1);
  gpus_[0]->held = true;
  Make("", "A");
  ASSERT_TRUE(store_->Free(kAlice, "A").ok());
  EXPECT_EQ(store_->bytes_held(), 0u) << "its memory on the host is addresses without bytes";
  ASSERT_TRUE(gate_.AwaitEntered(1));
  gate_.Open();
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->forgotten == 1; }));
  EXPECT_EQ(gpus_[0]->fetches, 0);
}

TEST_F(ArrayPlacesTest, AnotherDeviceHasItFetched) {
  StartWith(2, /*cpu=*/true);
  Make("", "A");
  const auto on_gpu1 = Make("A", "B", "gpu1");
  EXPECT_EQ(gpus_[0]->fetches, 1);
  EXPECT_TRUE(on_gpu1->receipt->load) << "the copy is told with the job that wanted it";
  EXPECT_EQ(LocationOf("B"), "gpu1");
  EXPECT_FALSE(Make("B", "C", "gpu1")->receipt->load);
  EXPECT_EQ(gpus_[1]->fetches, 0);
  Make("B", "D", "cpu0");
  EXPECT_EQ(gpus_[1]->fetches, 1);
  EXPECT_EQ(LocationOf("D"), "host");
  EXPECT_EQ(Read("D"), (std::vector<float>{4, 8, 12})) << "the CPU's copy of B";
}

TEST_F(ArrayPlacesTest, WhatMadeRoomIsReadOnTheHost) {
  StartWith(1);
  Make("", "A");
  gpus_[0]->Evict(store_->Open(kAlice, "A")->buffer->identity());
  EXPECT_EQ(LocationOf("A"), "host");
  Make("A", "B");
  EXPECT_EQ(gpus_[0]->fetches, 0);
  EXPECT_EQ(Read("A"), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(Read("B"), (std::vector<float>{4, 8, 12}));
}

TEST_F(ArrayPlacesTest, TwoReadersMakeOneCopy) {
  StartWith(1);
  Make("", "A");
  gpus_[0]->held = true;
  const auto buffer = store_->Open(kAlice, "A")->buffer;
  std::promise<absl::Status> first, second;
  store_->Fetch(buffer, [&](const absl::Status& status) { first.set_value(status); });
  ASSERT_TRUE(gate_.AwaitEntered(1));
  store_->Fetch(buffer, [&](const absl::Status& status) { second.set_value(status); });
  gate_.Open();
  EXPECT_TRUE(first.get_future().get().ok());
  EXPECT_TRUE(second.get_future().get().ok());
  EXPECT_EQ(gpus_[0]->fetches, 1);
  EXPECT_EQ(ToFloats(*buffer), (std::vector<float>{2, 4, 6}));
}

// Tiny jobs run on the thread that submits them, which must not wait for a device.
TEST_F(ArrayPlacesTest, TheThreadThatSubmitsFetchesNothing) {
  std::atomic<std::thread::id> ran{};
  bodies_["copy"] = [&](const Task& task, TaskControl& control) {
    ran = std::this_thread::get_id();
    return CopyBody(task, control);
  };
  StartWith(1, /*cpu=*/true);
  for (const char* name : {"A", "B", "C"}) {
    Make("", name);
    EXPECT_TRUE(Eventually([&] {
      Make("", "", "cpu0");
      return ran.load() == std::this_thread::get_id();
    })) << "tiny jobs do run there, once the device is warm and idle";
    Make(name, "", "cpu0");
    EXPECT_NE(ran.load(), std::this_thread::get_id()) << name;
  }
}

TEST_F(ArrayPlacesTest, ArraysAreLostWithTheDeviceThatAloneHadThem) {
  StartWith(2);
  Make("", "A");
  Make("", "B");
  Make("", "C", "gpu1");
  EXPECT_EQ(Read("B"), (std::vector<float>{2, 4, 6}));
  const auto reader = store_->Open(kAlice, "A");
  JobRequest breaking = Request("other");
  breaking.device = "gpu0";
  Submit(breaking, ++tag_);
  EXPECT_EQ(recorder_->AwaitEnd(tag_)->state, JobState::kFailed);
  EXPECT_THAT(log(), Contains("lost with device gpu0, which had their only copy: array A"));
  const auto names_it = AllOf(HasSubstr("array A: it is lost: its only copy was on gpu0, which was lost: job "),
                              HasSubstr("it fell off the bus"), HasSubstr("make it again"));
  const absl::Status opened = store_->Open(kAlice, "A").status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Text(opened), names_it);
  const absl::Status fetched = store_->Fetch(reader->buffer);
  EXPECT_EQ(fetched.code(), absl::StatusCode::kNotFound) << "it was opened before";
  EXPECT_THAT(Text(fetched), names_it);
  const absl::Status refused = Refusal(Making("A", "", "gpu1"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Text(refused), names_it);
  EXPECT_EQ(gpus_[0]->fetches, 1) << "a lost device is not asked";
  EXPECT_EQ(Read("B"), (std::vector<float>{2, 4, 6})) << "the host had it";
  EXPECT_EQ(Read("C"), (std::vector<float>{2, 4, 6}));
  EXPECT_TRUE(store_->Free(kAlice, "A").ok());
}

// A copy notices the loss before any job does.
TEST_F(ArrayPlacesTest, AJobWhoseInputIsLostFailsAndNamesIt) {
  StartWith(2);
  Make("", "A");
  gpus_[0]->broken = true;
  Submit(Making("A", "B", "gpu1"), ++tag_);
  const auto end = recorder_->AwaitEnd(tag_);
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_THAT(Text(end->error), AllOf(HasSubstr("x: array A: it is lost"), HasSubstr("it fell off the bus")));
  EXPECT_EQ(store_->Open(kAlice, "A").status().code(), absl::StatusCode::kNotFound);
}

// The memory of the host is there for as long as a device may write to it (AddressSanitizer sees it if not).
TEST_F(ArrayPlacesTest, TheOutputOfAFailedJobIsForgottenFirst) {
  StartWith(1);
  Make("", "A");
  ASSERT_TRUE(store_->Free(kAlice, "A").ok());
  JobRequest request = Making("", "B");
  request.outputs[0].lease = std::chrono::hours(1);
  Submit(request, ++tag_);
  ASSERT_EQ(recorder_->AwaitEnd(tag_)->state, JobState::kCompleted);
  engine_->EndSession(kAlice.session);
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->forgotten == 1; })) << "B has a lease";
  clock_.Advance(std::chrono::hours(2));
  store_->Expire();
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->forgotten == 2; }));
  EXPECT_EQ(gpus_[0]->fetches, 0);
}

TEST_F(ArrayPlacesTest, AtTheEndWhoeverWaitsIsTold) {
  StartWith(1);
  for (const char* name : {"A", "B", "C"}) Make("", name);
  gpus_[0]->held = true;
  const auto a = store_->Open(kAlice, "A")->buffer, b = store_->Open(kAlice, "B")->buffer;
  const auto c = store_->Open(kAlice, "C")->buffer;
  std::promise<absl::Status> of_a, of_b;
  store_->Fetch(a, [&](const absl::Status& status) { of_a.set_value(status); });
  ASSERT_TRUE(gate_.AwaitEntered(1));
  store_->Fetch(b, [&](const absl::Status& status) { of_b.set_value(status); });
  clock_.Advance(std::chrono::minutes(2));
  std::thread ending([&] { engine_.reset(); });
  std::atomic<bool> closed{false};
  EXPECT_TRUE(Eventually([&] {
    store_->Fetch(c, [&](const absl::Status& status) { closed = closed || absl::IsUnavailable(status); });
    return closed.load();
  }));
  gate_.Open();
  ending.join();
  gpus_.clear();
  EXPECT_TRUE(of_a.get_future().get().ok()) << "a copy under way goes on to its end";
  std::future<absl::Status> second = of_b.get_future();
  ASSERT_EQ(second.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(second.get().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(b->absent());
  EXPECT_THAT(Text(store_->Fetch(b)), HasSubstr("array B: "));
}

}  // namespace
}  // namespace hotplate::core::testing
