// What is said of arrays whose only bytes were on a device that is lost, and when it comes back.
#include <future>

#include "tests/unit/core/array_places_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ArrayLossTest : public ArrayPlacesTest {
 protected:
  // The pauses of a device that comes back, before StartWith.
  void ReopenSoon() {
    options_.reopen = {.first_pause = std::chrono::milliseconds(1), .longest_pause = std::chrono::milliseconds(4)};
  }
  void LoseGpu0() {
    JobRequest breaking = Request("other");
    breaking.device = "gpu0";
    Submit(breaking, ++tag_);
    EXPECT_EQ(recorder_->AwaitEnd(tag_)->state, JobState::kFailed);
  }
  bool AwaitBack() {
    return Eventually([&] { return engine_->Status().devices[0].lost.empty(); });
  }
  std::vector<std::string> Losses() {
    std::vector<std::string> losses;
    for (const std::string& line : log()) {
      if (line.starts_with("lost with device")) losses.push_back(line);
    }
    return losses;
  }
};

TEST_F(ArrayLossTest, ArraysAreLostWithTheDeviceThatAloneHadThem) {
  StartWith(2);
  Make("", "A");
  Make("", "B");
  Make("", "C", "gpu1");
  EXPECT_EQ(Read("B"), (std::vector<float>{2, 4, 6}));
  const auto reader = store_->Open(kAlice, "A");
  LoseGpu0();
  EXPECT_THAT(log(), Contains("lost with device gpu0, which had their only copy: array A"));
  const auto names_it = AllOf(HasSubstr("array A: it is lost: the only copy was on gpu0, which was lost: job "),
                              HasSubstr("it fell off the bus"), HasSubstr("make it again"));
  const absl::Status opened = store_->Open(kAlice, "A").status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Text(opened), names_it);
  EXPECT_EQ(LocationOf("A"), "");
  EXPECT_THAT(store_->Describe(kAlice, "A")->lost,
              AllOf(HasSubstr("the only copy was on gpu0, which was lost: job "), HasSubstr("it fell off the bus")));
  EXPECT_EQ(store_->List(kAlice).front().lost, store_->Describe(kAlice, "A")->lost);
  EXPECT_EQ(LocationOf("B"), "host");
  EXPECT_EQ(LocationOf("C"), "gpu1");
  EXPECT_EQ(store_->Describe(kAlice, "B")->lost + store_->Describe(kAlice, "C")->lost, "");
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

TEST_F(ArrayLossTest, TheyStayLostWhenTheDeviceComesBack) {
  ReopenSoon();
  StartWith(2);
  gpus_[0]->comes_back = true;
  Make("", "A");
  Make("", "freed");
  auto buffer = store_->Open(kAlice, "A")->buffer;
  LoseGpu0();
  ASSERT_TRUE(AwaitBack());
  Make("", "B");
  EXPECT_EQ(LocationOf("B"), "gpu0");
  EXPECT_EQ(Read("B"), (std::vector<float>{2, 4, 6})) << "the device keeps arrays as before";
  const auto names_it = AllOf(HasSubstr("array A: it is lost: the only copy was on gpu0, which was lost: job "),
                              HasSubstr("it fell off the bus"), HasSubstr("make it again"));
  EXPECT_THAT(Text(store_->Open(kAlice, "A").status()), names_it);
  EXPECT_EQ(LocationOf("A"), "") << "a device of that id is there";
  EXPECT_THAT(Text(store_->Fetch(buffer)), names_it);
  EXPECT_THAT(Text(Refusal(Making("A", "", "gpu0"))), names_it);
  EXPECT_TRUE(store_->Free(kAlice, "freed").ok());
  EXPECT_EQ(gpus_[0]->fetches, 1) << "of B";

  Make("", "C");
  LoseGpu0();
  EXPECT_THAT(Losses(), ElementsAre("lost with device gpu0, which had their only copy: arrays A, freed",
                                    "lost with device gpu0, which had their only copy: array C"))
      << "each once";
}

// A job on another lane may end well after the loss, and leave its output on the device that is closed then.
TEST_F(ArrayLossTest, WhatStayedAfterTheLossIsLostToo) {
  ReopenSoon();
  StartWith(1);
  gpus_[0]->comes_back = true;
  JobRequest slow = Making("", "late");
  slow.kernel = "loop";
  Submit(slow, 100);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  LoseGpu0();
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(100)->state, JobState::kCompleted);
  ASSERT_TRUE(AwaitBack());
  EXPECT_THAT(Text(store_->Open(kAlice, "late").status()), HasSubstr("array late: it is lost"));
  EXPECT_THAT(Losses(), ElementsAre("lost with device gpu0, which had their only copy: array late"));
}

TEST_F(ArrayLossTest, AReaderIsToldTheReasonThatTheJobGave) {
  StartWith(1);
  Make("", "A");
  gpus_[0]->held = true;
  std::promise<absl::Status> fetched;
  store_->Fetch(store_->Open(kAlice, "A")->buffer, [&](const absl::Status& status) { fetched.set_value(status); });
  ASSERT_TRUE(gate_.AwaitEntered(1));
  gpus_[0]->broken = true;
  LoseGpu0();
  gate_.Open();
  EXPECT_THAT(Text(fetched.get_future().get()), HasSubstr("which was lost: job "));
}

// A copy notices the loss before any job does.
TEST_F(ArrayLossTest, AJobWhoseInputIsLostFailsAndNamesIt) {
  StartWith(2);
  Make("", "A");
  gpus_[0]->broken = true;
  Submit(Making("A", "B", "gpu1"), ++tag_);
  const auto end = recorder_->AwaitEnd(tag_);
  EXPECT_EQ(end->state, JobState::kFailed);
  EXPECT_THAT(Text(end->error), AllOf(HasSubstr("x: array A: it is lost"), HasSubstr("it fell off the bus")));
  EXPECT_EQ(store_->Open(kAlice, "A").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace hotplate::core::testing
