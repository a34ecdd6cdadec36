// Kernels that leave their work to a library: what it wants is known on a lane only, and what became of it when the
// stream is over.
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/cuda/executor_fixture.h"

namespace hotplate {
namespace {

// In the stream's order, behind the sum.
Outcome AddAndTell(const Call& call, CudaContext& context) {
  const Outcome added = ThisKernelSide().Find("vector_add")->run(call, context);
  if (!added.ok()) return added;
  const auto tell = [](void* words) { *static_cast<std::uint64_t*>(words) = 42; };
  void* const words = const_cast<std::uint64_t*>(context.host_words());
  context.host_words()[0] = 0;
  return context.driver().Check(context.driver().cuLaunchHostFunc(context.stream(), tell, words), "telling");
}

Outcome RefuseWhatWasTold(const Call&, CudaContext& context) {
  return context.host_words()[0] == 42 ? Outcome::Invalid("it was told 42") : Outcome::Ok();
}

Outcome AcceptWhatWasTold(const Call&, CudaContext& context) {
  return context.host_words()[0] == 42 ? Outcome::Ok() : Outcome::Failed("it was told nothing");
}

constexpr std::uint64_t kWanted = 3 * kMiB;

Outcome AddWithScratch(const Call& call, CudaContext& context) {
  if (call.scratch().size() < kWanted) return Outcome::Failed("too little scratch");
  return ThisKernelSide().Find("vector_add")->run(call, context);
}

Outcome WantMuch(const Call&, CudaContext&, std::uint64_t& bytes) {
  bytes = kWanted;
  return Outcome::Ok();
}

Outcome WantLittle(const Call&, CudaContext&, std::uint64_t& bytes) {
  bytes = 1;
  return Outcome::Ok();
}

Outcome WantMoreThanThereIs(const Call&, CudaContext&, std::uint64_t&) {
  return Outcome::OutOfMemory("the library has no memory for its handle");
}

std::uint64_t PlanMuch(const Call&, const CudaTraits&) { return kWanted; }

TEST_F(ExecutorTest, AKernelsFinishSeesWhatTheDeviceLeft) {
  ASSERT_TRUE(Open().ok());
  CudaLauncher launcher = *ThisKernelSide().Find("vector_add");
  launcher.run = AddAndTell;
  launcher.finish = RefuseWhatWasTold;
  FloatTask refused("vector_add", 1000);
  refused.launcher_ = &launcher;
  refused.output_.identity = 7;
  const Outcome outcome = refused.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_INVALID);
  EXPECT_EQ(std::string(outcome.message()), "it was told 42");
  EXPECT_LT(refused.control_.progress, 1'000'000u);
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  EXPECT_EQ(Sampled().resident_arrays, 0u) << "what a failed task left is no array";

  launcher.finish = AcceptWhatWasTold;
  FloatTask accepted("vector_add", 1000);
  accepted.launcher_ = &launcher;
  EXPECT_TRUE(accepted.RunOn(lane()).ok());
  EXPECT_TRUE(accepted.Added());
}

TEST_F(ExecutorTest, ALaneAsksForScratchThatThePlanDidNotKnow) {
  ASSERT_TRUE(Open().ok());
  CudaLauncher launcher = *ThisKernelSide().Find("vector_add");
  launcher.run = AddWithScratch;
  FloatTask task("vector_add", 1000);
  task.launcher_ = &launcher;
  EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_FAILED);
  launcher.lane_scratch_bytes = WantMuch;
  EXPECT_TRUE(task.RunOn(lane()).ok());
  EXPECT_TRUE(task.Added());
  EXPECT_GE(Sampled().pool_peak_bytes, kWanted);
  // Not less than the plan, which others may have counted on.
  launcher.lane_scratch_bytes = WantLittle;
  EXPECT_EQ(task.RunOn(lane()).code(), HOTPLATE_FAILED);
  launcher.scratch_bytes = PlanMuch;
  EXPECT_TRUE(task.RunOn(lane()).ok());
}

TEST_F(ExecutorTest, ALibraryThatCannotSayWhatItWantsFailsTheTaskAlone) {
  ASSERT_TRUE(Open().ok());
  CudaLauncher launcher = *ThisKernelSide().Find("vector_add");
  launcher.lane_scratch_bytes = WantMoreThanThereIs;
  FloatTask task("vector_add", 1000);
  task.launcher_ = &launcher;
  const Outcome outcome = task.RunOn(lane());
  EXPECT_EQ(outcome.code(), HOTPLATE_OUT_OF_MEMORY);
  EXPECT_EQ(std::string(outcome.message()), "the library has no memory for its handle");
  EXPECT_EQ(Sampled().pool_used_bytes, 0u);
  FloatTask next("vector_add", 1000);
  EXPECT_TRUE(next.RunOn(lane()).ok());
}

int refusals = 0;

Outcome AddUnlessRefused(const Call& call, CudaContext& context) {
  if (refusals-- > 0) return Outcome::Failed("the library: status 7");
  return ThisKernelSide().Find("vector_add")->run(call, context);
}

// Libraries without memory for a handle say that something inside went wrong.
TEST_F(ExecutorTest, ALibraryThatFailsWhereLittleMemoryIsLeftIsCalledAgain) {
  const CudaLibrary library{"libcusome.so.13", nullptr};
  FakeScript script;
  script.memory_bytes = 6000 * kMiB;
  ASSERT_TRUE(Open(script).ok());
  for (const auto& [called, little] : {std::pair(true, true), {true, false}, {false, true}}) {
    SCOPED_TRACE(testing::Message() << "called: " << called << ", little memory: " << little);
    script.others_bytes = little ? 5700 * kMiB : 0;
    fake_.Change(script);
    FloatTask large("vector_add", 4'000'000);
    large.output_.identity = 7;  // it stays on the device
    ASSERT_TRUE(large.RunOn(lane()).ok());
    CudaLauncher launcher = *ThisKernelSide().Find("vector_add");
    launcher.run = AddUnlessRefused;
    launcher.library = called ? &library : nullptr;
    refusals = 1;
    FloatTask task("vector_add", 1000);
    task.launcher_ = &launcher;
    const Outcome outcome = task.RunOn(lane());
    EXPECT_EQ(outcome.code(), called && little ? HOTPLATE_OK : HOTPLATE_FAILED) << outcome.message();
    EXPECT_EQ(refusals, called && little ? -1 : 0);
  }
}

}  // namespace
}  // namespace hotplate
