// Arrays whose only bytes are on a device: when they are copied to the host, and when they are not.
#include <atomic>
#include <future>
#include <thread>

#include "tests/unit/core/array_places_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::HasSubstr;

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

TEST_F(ArrayPlacesTest, AnotherDeviceTakesItOverIfItCan) {
  StartWith(2);
  for (KeepingDevice* const gpu : gpus_) gpu->reaches = true;
  Make("", "A");
  EXPECT_TRUE(Make("A", "B", "gpu1")->receipt->load) << "the copy is told with the job that wanted it";
  EXPECT_EQ(LocationOf("A"), "gpu1");
  EXPECT_EQ(gpus_[1]->taken, 1);
  Make("A", "C", "gpu1");
  EXPECT_EQ(gpus_[1]->taken, 1) << "it is there now";
  gpus_[0]->Evict(store_->Open(kAlice, "A")->buffer->identity());
  Make("A", "D", "gpu0");
  EXPECT_EQ(gpus_[0]->taken, 1);
  EXPECT_EQ(LocationOf("A"), "gpu0");
  EXPECT_EQ(gpus_[0]->fetches + gpus_[1]->fetches, 0);
  EXPECT_EQ(Read("A"), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(Read("B"), (std::vector<float>{4, 8, 12}));
  EXPECT_EQ(Read("D"), (std::vector<float>{4, 8, 12}));
}

TEST_F(ArrayPlacesTest, WhatATaskReliesOnIsNotTakenAway) {
  StartWith(2);
  for (KeepingDevice* const gpu : gpus_) gpu->reaches = true;
  Make("", "A");
  JobRequest loop = Making("A", "L");
  loop.kernel = "loop";
  Submit(loop, ++tag_);
  const std::uint64_t runs = tag_;
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Make("A", "B", "gpu1");
  EXPECT_EQ(gpus_[1]->taken, 0);
  EXPECT_EQ(gpus_[0]->fetches, 1) << "through the host";
  gate_.Open();
  EXPECT_TRUE(recorder_->AwaitEnd(runs)->error.ok());
  EXPECT_EQ(Read("B"), (std::vector<float>{4, 8, 12}));
  EXPECT_EQ(Read("L"), (std::vector<float>{4, 8, 12}));
  Make("", "C");
  Make("C", "D", "gpu1");
  EXPECT_EQ(gpus_[1]->taken, 1) << "when nobody relies on it";
}

TEST_F(ArrayPlacesTest, AReaderComesWhileItIsTakenOver) {
  StartWith(3);
  Gate over;
  for (KeepingDevice* const gpu : gpus_) gpu->reaches = true;
  Make("", "A");
  gpus_[1]->handing_over = &over;
  Submit(Making("A", "B", "gpu1"), ++tag_);
  const std::uint64_t first = tag_;
  ASSERT_TRUE(over.AwaitEntered(1));
  Submit(Making("A", "C", "gpu0"), ++tag_);
  const std::uint64_t second = tag_;
  Submit(Making("A", "D", "gpu2"), ++tag_);
  const std::uint64_t third = tag_;
  std::promise<absl::Status> read;
  const auto buffer = store_->Open(kAlice, "A")->buffer;
  store_->Fetch(buffer, [&](const absl::Status& status) { read.set_value(status); });
  over.Open();
  EXPECT_TRUE(read.get_future().get().ok());
  EXPECT_EQ(ToFloats(*buffer), (std::vector<float>{2, 4, 6}));
  for (const std::uint64_t tag : {first, second, third}) {
    EXPECT_TRUE(recorder_->AwaitEnd(tag)->error.ok()) << recorder_->AwaitEnd(tag)->error;
  }
  for (const char* const name : {"B", "C", "D"}) EXPECT_EQ(Read(name), (std::vector<float>{4, 8, 12})) << name;
}

TEST_F(ArrayPlacesTest, ManyJobsOnThreeDevicesWantOneArray) {
  StartWith(3);
  for (KeepingDevice* const gpu : gpus_) gpu->reaches = true;
  for (int round = 0; round < 30; ++round) {
    const std::string name = absl::StrCat("A", round);
    Make("", name);
    const std::uint64_t first = tag_ + 1;
    for (int i = 0; i < 12; ++i) Submit(Making(name, "", absl::StrCat("gpu", i % 3)), ++tag_);
    for (std::uint64_t tag = first; tag <= tag_; ++tag) {
      const auto end = recorder_->AwaitEnd(tag);
      ASSERT_TRUE(end != nullptr && end->error.ok()) << (end == nullptr ? absl::OkStatus() : end->error);
    }
  }
  EXPECT_GT(gpus_[0]->taken + gpus_[1]->taken + gpus_[2]->taken, 0);
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

// Or the device's thread would wait for itself.
TEST_F(ArrayPlacesTest, TheFetchMayBeTheLastToHoldTheArray) {
  StartWith(1);
  Make("", "A");
  gpus_[0]->held = true;
  std::promise<absl::Status> fetched;
  store_->Fetch(store_->Open(kAlice, "A")->buffer, [&](const absl::Status& status) { fetched.set_value(status); });
  ASSERT_TRUE(gate_.AwaitEntered(1));
  ASSERT_TRUE(store_->Free(kAlice, "A").ok());
  gate_.Open();
  EXPECT_TRUE(fetched.get_future().get().ok());
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->forgotten == 1; }));
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

TEST_F(ArrayPlacesTest, JobsRunWhereTheirInputsAre) {
  StartWith(2);
  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {3}}, "H", std::nullopt, false, "gpu1").ok());
  {
    auto writer = store_->OpenWriter(kAlice, "H", 0);
    ASSERT_TRUE(writer.ok()) << writer.status();
    const float values[] = {1, 2, 3};
    std::memcpy((*writer)->remaining().data(), values, sizeof values);
    (*writer)->Advance(sizeof values);
  }
  EXPECT_EQ(store_->Describe(kAlice, "H")->device, "gpu1");
  EXPECT_EQ(LocationOf("H"), "host") << "until a job wants it";
  EXPECT_EQ(Make("H", "B", "")->receipt->device, "gpu1");
  EXPECT_EQ(store_->Describe(kAlice, "B")->device, "gpu1") << "what it keeps is there too";
  EXPECT_EQ(Make("B", "C", "")->receipt->device, "gpu1");
  EXPECT_EQ(Make("C", "D", "gpu0")->receipt->device, "gpu0") << "the request's device wins";
  EXPECT_EQ(store_->Describe(kAlice, "D")->device, "gpu0");
  EXPECT_EQ(Read("D"), (std::vector<float>{8, 16, 24}));
}

TEST_F(ArrayPlacesTest, ArraysThatAreOnNoDeviceInParticularAreForAny) {
  StartWith(2);
  Make("", "A", "");
  EXPECT_EQ(store_->Describe(kAlice, "A")->device, "");
  Make("A", "B", kAnyDevice);
  EXPECT_EQ(store_->Describe(kAlice, "B")->device, "");
}

TEST_F(ArrayPlacesTest, AJobForAnyDeviceRunsOnTheOneThatHasItsInputs) {
  StartWith(3);
  JobRequest loop = Request("loop");
  loop.device = "gpu0";
  Submit(loop, ++tag_);
  const std::uint64_t first = tag_;
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Make("", "A", "");
  const std::string home = LocationOf("A");
  ASSERT_NE(home, "gpu0") << "the others have nothing to do";
  gate_.Open();
  recorder_->AwaitEnd(first);
  for (const char* const names : {"AB", "BC", "CD"}) {
    EXPECT_EQ(Make({names[0]}, {names[1]}, "")->receipt->device, home);
  }
  for (const auto& gpu : gpus_) EXPECT_EQ(gpu->fetches, 0);
}

TEST_F(ArrayPlacesTest, InputsOnTwoDevicesAreRefused) {
  StartWith(2);
  Make("", "A", "gpu0");
  Make("", "B", "gpu1");
  JobRequest request = Request("expression");
  request.expression = "x + y";
  request.inputs = {{"x", {}, std::string("A")}, {"y", {}, std::string("B")}};
  const absl::Status refused = Refusal(request);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(refused), HasSubstr("y is on gpu1, and x on gpu0: bring both to one device, or ask for one"));
}

}  // namespace
}  // namespace hotplate::core::testing
