// What devices with memory of their own are told of arrays: pieces of an upload before its end, identities with tasks,
// and the end of every array; never by the thread that writes or frees it.
#include "server/core/arrays/device_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Remembers what it is told, and checks that pieces come in order.
class RecordingDevice final : public FakeDevice {
 public:
  using FakeDevice::FakeDevice;

  bool Upload(std::uint64_t identity, std::uint64_t total_bytes, std::uint64_t offset,
              std::span<const std::byte> piece) override {
    if (held) gate.Enter();
    std::scoped_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    std::vector<std::byte>& bytes = arrived_[identity];
    if (bytes.size() != offset || offset + piece.size() > total_bytes || piece.empty())
      complaints_ += "a piece is out of order; ";
    if (forgotten_.contains(identity)) complaints_ += "a piece of what was forgotten; ";
    largest_ = std::max<std::uint64_t>(largest_, piece.size());
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return !refuses;
  }
  void Forget(std::uint64_t identity) override {
    std::scoped_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    if (!forgotten_.insert(identity).second) complaints_ += "forgotten twice; ";
  }

  std::map<std::uint64_t, std::vector<std::byte>> arrived() const {
    std::scoped_lock lock(mutex_);
    return arrived_;
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& [identity, bytes] : arrived()) sum += bytes.size();
    return sum;
  }
  std::set<std::uint64_t> forgotten() const {
    std::scoped_lock lock(mutex_);
    return forgotten_;
  }
  std::set<std::thread::id> threads() const {
    std::scoped_lock lock(mutex_);
    return threads_;
  }
  std::uint64_t largest() const {
    std::scoped_lock lock(mutex_);
    return largest_;
  }
  std::string complaints() const {
    std::scoped_lock lock(mutex_);
    return complaints_;
  }

  std::atomic<bool> refuses{false}, held{false};
  Gate gate;

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::uint64_t, std::vector<std::byte>> arrived_;
  std::set<std::uint64_t> forgotten_;
  std::set<std::thread::id> threads_;
  std::uint64_t largest_ = 0;
  std::string complaints_;
};

class DeviceCopiesTest : public EngineTest {
 protected:
  DeviceCopiesTest() {
    bodies_["copy"] = [this](const Task& task, TaskControl& control) {
      std::scoped_lock lock(mutex_);
      inputs_.push_back(task.call.inputs[0].identity);
      outputs_.push_back(task.call.outputs[0].identity);
      return CopyBody(task, control);
    };
  }
  ~DeviceCopiesTest() override {
    for (RecordingDevice* gpu : gpus_) {
      gpu->gate.Open();
      EXPECT_EQ(gpu->complaints(), "");
    }
  }

  void StartWith(int gpus) {
    for (int i = 0; i < gpus; ++i) {
      auto gpu = std::make_unique<RecordingDevice>(
          FakeDeviceOptions{.id = absl::StrCat("gpu", i), .backend = "cuda", .host_memory = false}, bodies_);
      gpus_.push_back(gpu.get());
      devices_.push_back(std::move(gpu));
    }
    Start();
  }
  // An array of floats that is being written.
  std::unique_ptr<ArrayStore::Writer> Create(const std::string& name, std::size_t floats) {
    const auto array =
        store_->Create(kAlice, {DType::kFloat32, {static_cast<std::int64_t>(floats)}}, name, std::nullopt, false);
    EXPECT_TRUE(array.ok()) << array.status();
    auto writer = store_->OpenWriter(kAlice, name, 0);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }
  static void Write(ArrayStore::Writer& writer, std::size_t bytes) {
    std::memset(writer.remaining().data(), 7, bytes);
    writer.Advance(bytes);
  }
  std::uint64_t IdentityOf(const std::string& name) { return store_->Open(kAlice, name)->buffer->identity(); }
  JobRequest OnArray(const std::string& name) {
    JobRequest request = Request("copy");
    request.inputs[0].source = name;
    request.inputs[0].signature = {};
    return request;
  }
  std::vector<std::uint64_t> inputs() {
    std::scoped_lock lock(mutex_);
    return inputs_;
  }
  std::vector<std::uint64_t> outputs() {
    std::scoped_lock lock(mutex_);
    return outputs_;
  }

  std::vector<RecordingDevice*> gpus_;
  std::mutex mutex_;
  std::vector<std::uint64_t> inputs_, outputs_;  // what tasks were given; guarded by mutex_
};

TEST_F(DeviceCopiesTest, AnUploadGoesToTheDeviceBeforeItsEnd) {
  StartWith(1);
  RecordingDevice& gpu = *gpus_[0];
  auto writer = Create("X", 10 * kMiB / 4);
  Write(*writer, 3 * kMiB);
  EXPECT_TRUE(Eventually([&] { return gpu.bytes() == 3 * kMiB; }));
  EXPECT_EQ(store_->Describe(kAlice, "X")->state, ArrayState::kWriting);
  Write(*writer, kMiB / 2);
  Write(*writer, 6 * kMiB + kMiB / 2);
  EXPECT_TRUE(Eventually([&] { return gpu.bytes() == 10 * kMiB; }));
  EXPECT_LE(gpu.largest(), 4 * kMiB);
  const std::uint64_t identity = IdentityOf("X");
  EXPECT_NE(identity, 0u);
  ASSERT_TRUE(gpu.arrived().contains(identity));
  EXPECT_EQ(gpu.arrived()[identity], std::vector<std::byte>(10 * kMiB, std::byte{7}));
  EXPECT_THAT(gpu.threads(), SizeIs(1));
  EXPECT_THAT(gpu.threads(), Not(Contains(std::this_thread::get_id())));

  writer.reset();
  Submit(OnArray("X"), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_THAT(inputs(), ElementsAre(identity));
  EXPECT_THAT(outputs(), ElementsAre(0)) << "it is not kept";
  EXPECT_THAT(gpu.forgotten(), IsEmpty());
  ASSERT_TRUE(store_->Free(kAlice, "X").ok());
  EXPECT_TRUE(Eventually([&] { return gpu.forgotten().contains(identity); }));
}

TEST_F(DeviceCopiesTest, AKeptOutputHasAnIdentity) {
  StartWith(1);
  RecordingDevice& gpu = *gpus_[0];
  JobRequest request = Request("copy");
  request.outputs = {{"y", true, "Y", std::nullopt}};
  Submit(request, 1);
  ASSERT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  EXPECT_THAT(inputs(), ElementsAre(0)) << "it came inline";
  const std::uint64_t identity = IdentityOf("Y");
  EXPECT_THAT(outputs(), ElementsAre(identity));
  Submit(OnArray("Y"), 2);
  ASSERT_NE(recorder_->AwaitEnd(2), nullptr);
  EXPECT_THAT(inputs(), ElementsAre(0, identity));
  EXPECT_THAT(gpu.forgotten(), IsEmpty());
  engine_->EndSession(kAlice.session);
  EXPECT_TRUE(Eventually([&] { return gpu.forgotten().contains(identity); }));
  EXPECT_EQ(gpu.bytes(), 0u) << "nothing was uploaded";
}

// What a job made that failed is nobody's.
TEST_F(DeviceCopiesTest, TheOutputOfAFailedJobIsForgotten) {
  std::atomic<std::uint64_t> given{0};
  bodies_["other"] = [&](const Task& task, TaskControl&) {
    given = task.call.outputs[0].identity;
    return EndsWith(Outcome::Failed("no"));
  };
  StartWith(1);
  JobRequest request = Request("other");
  request.outputs = {{"y", true, "", std::nullopt}};
  Submit(request, 1);
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kFailed);
  EXPECT_NE(given, 0u);
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->forgotten().contains(given); }));
}

TEST_F(DeviceCopiesTest, AnUploadThatIsCutOffIsForgotten) {
  StartWith(1);
  RecordingDevice& gpu = *gpus_[0];
  auto writer = Create("X", 10 * kMiB / 4);
  Write(*writer, 2 * kMiB);
  EXPECT_TRUE(Eventually([&] { return gpu.bytes() == 2 * kMiB; }));
  writer.reset();
  EXPECT_THAT(gpu.forgotten(), IsEmpty()) << "it can be resumed";
  clock_.Advance(ArrayLimits{}.upload_grace);
  store_->Expire();
  EXPECT_TRUE(Eventually([&] { return gpu.forgotten().size() == 1; }));
  EXPECT_TRUE(Eventually([&] { return store_->bytes_held() == 0; }));
}

TEST_F(DeviceCopiesTest, AResumedUploadGoesOn) {
  StartWith(1);
  auto writer = Create("X", 4 * kMiB / 4);
  Write(*writer, kMiB);
  writer.reset();
  auto again = store_->OpenWriter(kAlice, "X", kMiB);
  ASSERT_TRUE(again.ok()) << again.status();
  Write(**again, 3 * kMiB);
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->bytes() == 4 * kMiB; }));
}

TEST_F(DeviceCopiesTest, NoMoreComesToADeviceThatRefuses) {
  StartWith(1);
  gpus_[0]->refuses = true;
  auto writer = Create("X", 8 * kMiB / 4);
  Write(*writer, kMiB);
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->bytes() == kMiB; }));
  gpus_[0]->refuses = false;
  auto other = Create("Y", kMiB / 4);
  Write(*writer, 7 * kMiB);
  Write(*other, kMiB);
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->bytes() >= 2 * kMiB; }));
  EXPECT_EQ(gpus_[0]->bytes(), 2 * kMiB) << "the other array alone";
}

// Writers go on and arrays end while a device takes its time; what it is behind with is dropped, not collected.
TEST_F(DeviceCopiesTest, NobodyWaitsForASlowDevice) {
  StartWith(1);
  RecordingDevice& gpu = *gpus_[0];
  gpu.held = true;
  auto writer = Create("X", 100 * kMiB / 4);
  Write(*writer, kMiB);
  ASSERT_TRUE(gpu.gate.AwaitEntered(1));
  for (int i = 0; i < 99; ++i) Write(*writer, kMiB);
  EXPECT_EQ(store_->Describe(kAlice, "X")->state, ArrayState::kReady);
  writer.reset();
  for (const char* name : {"Y", "Z"}) Write(*Create(name, 1000), 4000);
  const std::uint64_t x = IdentityOf("X"), y = IdentityOf("Y"), z = IdentityOf("Z");
  ASSERT_TRUE(store_->Free(kAlice, "Z").ok());
  EXPECT_EQ(store_->bytes_held(), 100 * kMiB + 4000);
  gpu.held = false;
  gpu.gate.Open();
  EXPECT_TRUE(Eventually([&] { return gpu.arrived()[y].size() == 4000 && gpu.forgotten().contains(z); }));
  EXPECT_EQ(gpu.arrived()[x].size(), kMiB);
  EXPECT_FALSE(gpu.arrived().contains(z));
  ASSERT_TRUE(store_->Free(kAlice, "X").ok());
  EXPECT_TRUE(Eventually([&] { return gpu.forgotten().contains(x) && store_->bytes_held() == 4000; }));
}

TEST_F(DeviceCopiesTest, UploadsGoInTurnWhereThereIsRoom) {
  StartWith(2);
  int count = 0;
  const auto goes_to = [&](std::size_t device) {
    const std::size_t all = gpus_[0]->bytes() + gpus_[1]->bytes(), before = gpus_[device]->bytes();
    Write(*Create(absl::StrCat("X", ++count), 1000), 4000);
    EXPECT_TRUE(Eventually([&] { return gpus_[0]->bytes() + gpus_[1]->bytes() == all + 4000; }));
    return gpus_[device]->bytes() == before + 4000;
  };
  gpus_[1]->free_bytes = 20 * kMiB;  // more or less does not matter, if it is enough
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(goes_to(0));
    EXPECT_TRUE(goes_to(1));
  }
  // What a device says is asked for after it was given something.
  gpus_[0]->free_bytes = 1000;
  goes_to(0);  // or to the other one, where it was asked only now
  EXPECT_TRUE(Eventually([&] { return goes_to(1) && goes_to(1); }));
  gpus_[1]->free_bytes = 2000;
  EXPECT_TRUE(goes_to(1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(goes_to(1));
}

TEST_F(DeviceCopiesTest, WithoutDeviceMemoryArraysHaveAnIdentityAllTheSame) {
  Start();  // a CPU
  Write(*Create("X", 1000), 4000);
  EXPECT_NE(IdentityOf("X"), 0u);  // workers know an array by it
  JobRequest request = OnArray("X");
  request.outputs = {{"y", true, "Y", std::nullopt}};
  Submit(request, 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_THAT(inputs(), ElementsAre(IdentityOf("X")));
  EXPECT_THAT(outputs(), ElementsAre(IdentityOf("Y")));
  EXPECT_EQ(DeviceCopies::Of(engine_->devices()), nullptr);
}

// Arrays outlive the engine and its devices.
TEST_F(DeviceCopiesTest, ArraysEndAfterTheDevices) {
  StartWith(1);
  Write(*Create("X", 1000), 4000);
  EXPECT_TRUE(Eventually([&] { return gpus_[0]->bytes() == 4000; }));
  auto writer = Create("Y", 1000);
  gpus_.clear();
  engine_.reset();
  Write(*writer, 4000);
  writer.reset();
  EXPECT_TRUE(store_->Free(kAlice, "X").ok());
  EXPECT_TRUE(store_->Free(kAlice, "Y").ok());
  EXPECT_EQ(store_->bytes_held(), 0u);
}

}  // namespace
}  // namespace hotplate::core::testing
