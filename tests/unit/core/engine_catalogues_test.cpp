// Principals who see different kernels, and kernels that are made and dropped while jobs of them wait.
#include <memory>
#include <mutex>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// y = x, then as often again as it was made for: cost and shape are functions that own what they know.
KernelSpecBuilder Repeated(const std::string& name, std::int64_t times) {
  return KernelSpecBuilder(name, "y = x, again and again")
      .Input("x", "float32", "n")
      .Output("y", "float32", "m")
      .CostModel("7 * times", [times](const BoundCall&) { return Cost{.flop = 7.0 * static_cast<double>(times)}; })
      .Shapes([times](BoundCall& call) {
        call.outputs[0].shape = {times * call.inputs[0].shape[0]};
        return absl::OkStatus();
      });
}

Report RepeatBody(const Task& task, TaskControl&) {
  const std::size_t bytes = task.call.inputs[0].bytes;
  for (std::size_t at = 0; at < task.call.outputs[0].bytes; at += bytes) {
    std::memcpy(static_cast<std::byte*>(task.call.outputs[0].data) + at, task.call.inputs[0].data, bytes);
  }
  Report report;
  report.kernel_ns = 1000;
  return report;
}

class EngineCataloguesTest : public EngineTest {
 protected:
  EngineCataloguesTest() {
    bodies_["twice"] = RepeatBody;
    bodies_["other"] = Uninterruptible();
    catalogues_ = Catalogues([this](const Principal& who) {
      std::scoped_lock lock(mutex_);
      return who.token == kAlice.token ? alices_ : all_;
    });
  }

  void GiveAlice(std::shared_ptr<const Catalog> catalog) {
    std::scoped_lock lock(mutex_);
    alices_ = std::move(catalog);
  }
  static std::shared_ptr<const Catalog> AndTwice() {
    // Not make_shared: a weak_ptr would keep the memory, and hide from the sanitizer who uses it too long.
    const SharedSpec spec(new KernelSpec(Repeated("twice", 2).Build().value()));
    return std::make_shared<const Catalog>(FakeCatalog().With(spec).value());
  }

  const std::shared_ptr<const Catalog> all_ = std::make_shared<const Catalog>(FakeCatalog());
  std::mutex mutex_;
  std::shared_ptr<const Catalog> alices_ = all_;  // guarded by mutex_
};

TEST_F(EngineCataloguesTest, AKernelMadeAtRunTimeRunsForThoseWhoSeeIt) {
  Start();
  EXPECT_EQ(Refusal(Request("twice")).code(), absl::StatusCode::kNotFound) << "not made yet";
  GiveAlice(AndTwice());
  Submit(Request("twice", {1, 2}), 1);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_NE(end, nullptr);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_EQ(ToFloats(*end->outputs[0].data), (std::vector<float>{1, 2, 1, 2}));
  EXPECT_EQ(end->receipt->device, "cpu0");
  EXPECT_EQ(end->receipt->cost.flop, 14);
  EXPECT_EQ(engine_->Check(kAlice, Request("twice", {1, 2}))->cost.flop, 14);

  const absl::Status refused = Refusal(Request("twice"), kBob);
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Text(refused), AllOf(HasSubstr("no kernel \"twice\""), Not(HasSubstr("Nearest: twice"))));
  EXPECT_EQ(engine_->Check(kBob, Request("twice")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(engine_->CatalogFor(kAlice)->Find("twice").ok());
  EXPECT_FALSE(engine_->CatalogFor(kBob)->Find("twice").ok());
  Submit(Request("copy"), 2, kBob);
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
}

TEST_F(EngineCataloguesTest, AJobRunsThatWaitedWhenItsKernelWasDropped) {
  Start();
  GiveAlice(AndTwice());
  const std::weak_ptr<const KernelSpec> spec = *engine_->CatalogFor(kAlice)->Find("twice");
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));  // the only lane has something to do
  const JobId waits = Submit(Request("twice", {3}), 2);

  GiveAlice(all_);
  EXPECT_EQ(Refusal(Request("twice")).code(), absl::StatusCode::kNotFound);
  ASSERT_FALSE(spec.expired()) << "the job has it";
  gate_.Open();
  const auto end = recorder_->AwaitEnd(2);
  ASSERT_NE(end, nullptr);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_EQ(ToFloats(*end->outputs[0].data), (std::vector<float>{3, 3}));
  EXPECT_EQ(end->receipt->cost.flop, 14);
  EXPECT_EQ(engine_->Get(kAlice, waits)->kernel, "twice");
}

TEST_F(EngineCataloguesTest, AnAnswerKeepsTheKernelThatItIsAbout) {
  Start();
  GiveAlice(AndTwice());
  const absl::StatusOr<CheckReport> report = engine_->Check(kAlice, Request("twice", {3}));
  GiveAlice(all_);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->call.spec->outputs().front().name, "y");
}

TEST_F(EngineCataloguesTest, ADroppedKernelGoesWithTheRecordOfItsLastJob) {
  options_.result_retention = std::chrono::minutes(1);
  Start();
  GiveAlice(AndTwice());
  const std::weak_ptr<const KernelSpec> spec = *engine_->CatalogFor(kAlice)->Find("twice");
  const JobId id = Submit(Request("twice", {3}), 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  GiveAlice(all_);
  EXPECT_EQ(engine_->Get(kAlice, id)->kernel, "twice");
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_TRUE(Eventually([&] { return spec.expired(); }));
}

// Its first run on a device is a cold one, whatever lies in memory where the first one's spec was.
TEST_F(EngineCataloguesTest, AnotherKernelOfTheSameNameIsCold) {
  Start();
  for (const std::int64_t times : {2, 3}) {
    const auto spec = std::make_shared<const KernelSpec>(Repeated("twice", times).Build().value());
    GiveAlice(std::make_shared<const Catalog>(FakeCatalog().With(spec).value()));
    for (const bool cold : {true, false}) {
      const std::uint64_t tag = 2 * static_cast<std::uint64_t>(times) + (cold ? 0 : 1);
      Submit(Request("twice", {1}), tag);
      const auto end = recorder_->AwaitEnd(tag);
      ASSERT_NE(end, nullptr);
      EXPECT_EQ(end->receipt->cold, cold) << times;
      EXPECT_EQ(end->outputs[0].signature.shape, Shape{times});
    }
  }
}

}  // namespace
}  // namespace hotplate::core::testing
