// The bytes of a token's arrays: what counts, what is refused, and what is given back.
#include "server/core/sweeps/sweep_plan.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Signature kFourFloats{DType::kFloat32, {4}};  // 16 bytes

// Alice has a quota, Bob has none.
class QuotaTest : public EngineTest {
 protected:
  QuotaTest() {
    options_.allowances = allowances_;
    options_.inline_bytes = 100;
    bodies_["other"] = Uninterruptible();
    Allow(40);
  }

  void Allow(std::uint64_t bytes) { allowances_->Set("alice", {.array_bytes = bytes}); }
  absl::StatusOr<ArraySnapshot> Create(const std::string& name, bool replace = false, const Principal& who = kAlice,
                                       std::optional<nanoseconds> lease = std::nullopt) {
    return store_->Create(who, kFourFloats, name, lease, replace);
  }
  void Fill(const std::string& name) { (*store_->OpenWriter(kAlice, name, 0))->Advance(16); }
  std::uint64_t has() { return store_->BytesOf("alice"); }
  static JobRequest Keeping(std::size_t floats, const std::string& kernel = "copy") {
    JobRequest request = Request(kernel, std::vector<float>(floats, 1));
    JobOutput output;
    output.name = "y";
    output.keep = true;
    request.outputs = {output};
    return request;
  }
  static void ExpectNever(const absl::Status& status, const std::string& text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Text(status), text);
    EXPECT_THAT(Fields(status), ElementsAre("quota-bytes"));
  }

  const std::shared_ptr<Allowances> allowances_ = std::make_shared<Allowances>();
};

TEST_F(QuotaTest, ArraysThatAreMade) {
  Start();
  ASSERT_TRUE(Create("a").ok());
  ASSERT_TRUE(Create("b").ok());
  EXPECT_EQ(has(), 32u);
  const absl::Status status = Create("c").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Text(status),
            "token \"alice\" has 32 bytes of arrays, and this needs 16 more; its limit quota-bytes is 40; free arrays, "
            "or ask the daemon's owner for more");
  EXPECT_THAT(Fields(status), ElementsAre("memory")) << "it may do later";
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(Create(name, false, kBob).ok());
  EXPECT_EQ(has(), 32u);
  EXPECT_EQ(store_->BytesOf("bob"), 64u);
  ASSERT_TRUE(store_->Free(kAlice, "a").ok());
  EXPECT_EQ(has(), 16u);
  EXPECT_TRUE(Create("c").ok());
  ExpectNever(store_->Create(kAlice, {DType::kFloat32, {11}}, "", std::nullopt, false).status(),
              "token \"alice\" has 32 bytes of arrays, and this needs 44 more; its limit quota-bytes is 40; ask the "
              "daemon's owner for more");
}

TEST_F(QuotaTest, AFreedArrayCountsAsLongAsSomebodyReadsIt) {
  Start();
  ASSERT_TRUE(Create("a").ok());
  Fill("a");
  ASSERT_TRUE(Create("b").ok());
  std::shared_ptr<const HostBuffer> read = store_->Open(kAlice, "a")->buffer;
  ASSERT_TRUE(store_->Free(kAlice, "a").ok());
  EXPECT_EQ(has(), 16u);
  EXPECT_EQ(Create("c").status().code(), absl::StatusCode::kResourceExhausted) << "its memory is not free yet";
  read = nullptr;
  EXPECT_TRUE(Create("c").ok());
}

TEST_F(QuotaTest, AnArrayAndItsReplacementCountUntilItIsComplete) {
  Start();
  ASSERT_TRUE(Create("a").ok());
  EXPECT_TRUE(Create("a", true).ok()) << "an upload that did not begin gives way";
  EXPECT_EQ(has(), 16u);
  Fill("a");
  const absl::StatusOr<ArraySnapshot> next = Create("a", true);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(has(), 32u);
  ASSERT_TRUE(Create("a", true).ok()) << "in place of the one that nobody writes";
  EXPECT_EQ(has(), 32u);
  Fill(store_->List(kAlice).back().id.value());
  EXPECT_EQ(has(), 16u);
  ASSERT_TRUE(Create("b").ok());
  const absl::Status status = Create("a", true).status();
  EXPECT_THAT(Text(status),
              AllOf(HasSubstr("limit quota-bytes is 40"),
                    HasSubstr("Array \"a\" (16 bytes) stays until its replacement is complete; without it "
                              "there is room: hotplate free a")));
  EXPECT_EQ(has(), 32u);
}

TEST_F(QuotaTest, BytesComeBackInAllWays) {
  Start();
  ASSERT_TRUE(Create("a", false, kAlice, std::chrono::seconds(10)).ok());
  ASSERT_TRUE(Create("b").ok());
  clock_.Advance(std::chrono::seconds(11));
  store_->Expire();  // or the engine does, which looks now and then
  EXPECT_EQ(has(), 16u);
  store_->EndSession(kAlice.session);
  EXPECT_EQ(has(), 0u);
  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {0}}, "empty", std::nullopt, false).ok());
  EXPECT_EQ(has(), 0u);
  ASSERT_TRUE(store_->Free(kAlice, "empty").ok());
  EXPECT_EQ(has(), 0u);
}

TEST_F(QuotaTest, ArraysOfADaemonBeforeThisOneCountAndAreNotRefused) {
  Start();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store_->Adopt(kAlice, kFourFloats, "", std::chrono::hours(1), *store_->AllocateArray(16)).ok());
  }
  EXPECT_EQ(has(), 48u);
  EXPECT_EQ(Create("a").status().code(), absl::StatusCode::kResourceExhausted);
  Allow(0);
  EXPECT_TRUE(Create("a").ok()) << "no bound";
}

TEST_F(QuotaTest, AJobWhoseOutputsCanNeverBeKeptIsRefused) {
  Start();
  const std::string why =
      "token \"alice\" has 0 bytes of arrays, and this needs 44 more; its limit quota-bytes is 40; ask the daemon's "
      "owner for more";
  ExpectNever(Refusal(Keeping(11)), why);
  ExpectNever(engine_->Check(kAlice, Keeping(11)).status(), why);
  Submit(Request("copy", std::vector<float>(11)), 1);  // it is in the answer
  Submit(Keeping(11), 2, kBob);
  for (const std::uint64_t tag : {1, 2}) EXPECT_EQ(recorder_->AwaitEnd(tag)->state, JobState::kCompleted);
  const std::uint64_t held = store_->bytes_held();
  // Too large for the answer: it is an array until it is fetched.
  EXPECT_THAT(Text(Refusal(Request("copy", std::vector<float>(26)))), HasSubstr("this needs 104 more"));
  SweepPlan::Parts parts;
  parts.axes = {SweepAxis{"seed", SweepRange{std::int64_t{1}, std::int64_t{1}, 11}}};
  JobRequest sweep = Keeping(1);
  sweep.sweep = SweepPlan::Make(std::move(parts)).value();
  ExpectNever(Refusal(sweep), why);
  EXPECT_EQ(store_->bytes_held(), held) << "what it took is given back";
  EXPECT_EQ(has(), 0u);
}

TEST_F(QuotaTest, AJobThatFindsNoRoomWhenItRunsFails) {
  Start();
  Submit(Request("other"), 1, kBob);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Keeping(10), 2);
  ASSERT_TRUE(Create("a").ok());
  gate_.Open();
  const auto end = recorder_->AwaitEnd(2);
  ASSERT_EQ(end->state, JobState::kFailed);
  EXPECT_EQ(end->error.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(end->error), HasSubstr("token \"alice\" has 16 bytes of arrays, and this needs 40 more"));
  EXPECT_EQ(has(), 16u);
  ASSERT_TRUE(store_->Free(kAlice, "a").ok());
  Submit(Keeping(10), 3);
  const auto kept = recorder_->AwaitEnd(3);
  ASSERT_EQ(kept->state, JobState::kCompleted) << kept->error;
  EXPECT_EQ(has(), 40u);
  EXPECT_EQ(Create("b").status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(store_->Free(kAlice, kept->outputs[0].array.value()).ok());
  EXPECT_EQ(has(), 0u);
}

// The array comes while it runs, after the check that saves it the work.
TEST_F(QuotaTest, AnOutputIsNotKeptBeyondTheQuota) {
  Start();
  Submit(Keeping(10, "other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  ASSERT_TRUE(Create("a").ok());
  gate_.Open();
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_EQ(end->state, JobState::kFailed);
  EXPECT_THAT(Text(end->error), HasSubstr("y: token \"alice\" has 16 bytes of arrays, and this needs 40 more"));
  EXPECT_EQ(has(), 16u);
}

TEST_F(QuotaTest, OneTokenHasAPartOfTheNumberOfArrays) {
  limits_.count = 8;
  Allow(0);
  Start();
  ASSERT_TRUE(Create("a").ok());
  ASSERT_TRUE(Create("b").ok());
  EXPECT_EQ(Text(Create("c").status()), "token \"alice\" has 2 arrays and may have 2; free some first");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(Create(name, false, kBob).ok());
  EXPECT_TRUE(Create("b", true).ok()) << "in place of another";
  ASSERT_TRUE(store_->Free(kAlice, "a").ok());
  EXPECT_TRUE(Create("c").ok());
}

}  // namespace
}  // namespace hotplate::core::testing
