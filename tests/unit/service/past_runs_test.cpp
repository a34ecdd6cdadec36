// Run times, as receipts in the journal tell them.
#include "server/durable/past_runs.h"

#include <gtest/gtest.h>

#include "hotplate/v1/jobs.pb.h"

namespace hotplate::server {
namespace {

class PastRunsTest : public ::testing::Test {
 protected:
  PastRunsTest() {
    kept_.accepted.kernel = "matmul";
    kept_.accepted.label = "mine";
    kept_.state = journal::JobState::kCompleted;
    v1::JobResult& result = *end_.mutable_result();
    result.add_outputs()->mutable_signature()->set_dtype(v1::DTYPE_FLOAT32);
    v1::Receipt& receipt = *result.mutable_receipt();
    receipt.set_queue_ns(3'000'000);
    receipt.set_total_ns(10'000'000);
    receipt.set_flop(2e9);
    receipt.set_device_name("H100");
  }
  std::optional<core::PastRun> Run() {
    kept_.end = end_.SerializeAsString();
    return PastRunOf(kept_);
  }

  journal::KeptJob kept_;
  v1::JobEnd end_;
};

TEST_F(PastRunsTest, AKernelIsKnownByTypeDeviceAndWork) {
  const auto run = Run();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->kernel, "matmul");
  EXPECT_EQ(run->variant, "float32") << "not its label";
  EXPECT_EQ(run->device_name, "H100");
  EXPECT_EQ(run->cost.flop, 2e9);
  EXPECT_EQ(run->time, std::chrono::milliseconds(7));
  EXPECT_FALSE(run->cold);
}

TEST_F(PastRunsTest, AProgramIsKnownByItsLabelOrNotAtAll) {
  kept_.accepted.kernel = "exec";
  EXPECT_EQ(Run()->variant, "mine");
  kept_.accepted.label.clear();
  EXPECT_EQ(Run(), std::nullopt);
}

TEST_F(PastRunsTest, OnlyWhatCompletedAndHasAReceiptTells) {
  kept_.state = journal::JobState::kTimeout;
  EXPECT_EQ(Run(), std::nullopt);
  kept_.state = journal::JobState::kCompleted;
  end_.mutable_result()->clear_receipt();
  EXPECT_EQ(Run(), std::nullopt);
  kept_.end = "no message \xff";
  EXPECT_EQ(PastRunOf(kept_), std::nullopt);
}

TEST_F(PastRunsTest, ASweepIsNoRunOfOneTask) {
  end_.mutable_sweep()->mutable_counts()->set_total(1000);
  EXPECT_EQ(Run(), std::nullopt);
}

}  // namespace
}  // namespace hotplate::server
