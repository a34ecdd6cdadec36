// What is refused at Submit, before anything is queued, and how it is said.
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class EngineRefusalsTest : public EngineTest {
 protected:
  // Whatever was refused must have left nothing behind.
  void ExpectNothingLeft() {
    EXPECT_EQ(engine_->Status().pending + engine_->Status().running, 0u);
    EXPECT_EQ(engine_->Status().ended, 0u);
    EXPECT_THAT(engine_->List(kRoot, {}), IsEmpty());
  }
};

TEST_F(EngineRefusalsTest, AnUnknownKernelComesWithTheNearest) {
  Start();
  const absl::Status status = Refusal(Request("cpoy"));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("cpoy"), HasSubstr("copy")));
  ExpectNothingLeft();
}

TEST_F(EngineRefusalsTest, EverythingThatIsWrongIsNamed) {
  Start();
  JobRequest request = Request("copy");
  request.priority = 101;
  request.params["sede"] = std::int64_t{1};
  request.inputs.push_back(request.inputs[0]);
  const absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Fields(status), AllOf(Contains("priority"), Contains("params.sede"), Contains("inputs.x")));
  EXPECT_THAT(Text(status), AllOf(HasSubstr("101"), HasSubstr("sede"), HasSubstr("twice")));
  ExpectNothingLeft();
}

TEST_F(EngineRefusalsTest, InlineDataMustHaveTheSignaturesSize) {
  Start();
  JobRequest request = Request("copy", {1, 2, 3});
  request.inputs[0].signature.shape = {4};
  const absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Fields(status), ElementsAre("inputs.x"));
  EXPECT_THAT(Text(status), AllOf(HasSubstr("float32 [4]"), HasSubstr("16"), HasSubstr("12")));

  request.inputs[0].signature.shape = {std::int64_t{1} << 62, 16};
  EXPECT_EQ(Refusal(request).code(), absl::StatusCode::kInvalidArgument);
  request.inputs[0].signature.shape = {3};
  request.inputs[0].source = std::monostate();
  EXPECT_EQ(Refusal(request).code(), absl::StatusCode::kInvalidArgument) << "a signature is no data";
  EXPECT_TRUE(engine_->Check(kAlice, request).ok()) << "but enough for Check";
  ExpectNothingLeft();
}

TEST_F(EngineRefusalsTest, ArraysMustBeThereAndComplete) {
  Start();
  JobRequest request = Request("copy");
  request.inputs[0].source = std::string("a99");
  absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Fields(status), ElementsAre("inputs.x"));
  EXPECT_THAT(Text(status), HasSubstr("a99"));

  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {4}}, "X", std::nullopt, false).ok());
  (*store_->OpenWriter(kAlice, "X", 0))->Advance(4);
  request.inputs[0].source = std::string("X");
  status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("a1"), HasSubstr("4 of 16")));
  EXPECT_EQ(Refusal(request, kBob).code(), absl::StatusCode::kNotFound) << "another token's array";
  ExpectNothingLeft();
}

TEST_F(EngineRefusalsTest, DevicesThatThereAreAreListed) {
  AddDevice({.id = "gpu0", .backend = "cuda"});
  AddDevice({.id = "cpu0"});
  Start();
  JobRequest request = Request("copy");
  request.device = "gpu7";
  const absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Fields(status), ElementsAre("device"));
  EXPECT_THAT(Text(status), AllOf(HasSubstr("gpu7"), HasSubstr("gpu0, cpu0")));
}

TEST_F(EngineRefusalsTest, AKernelThatNoDeviceHas) {
  bodies_.erase("other");
  Start();
  const absl::Status status = Refusal(Request("other"));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), HasSubstr("cpu0 has no kernel other"));
}

TEST_F(EngineRefusalsTest, AJobThatFitsNoDeviceSaysWhatItNeeds) {
  AddDevice({.memory_bytes = 1000, .scratch_bytes = 900});
  Start();
  const absl::Status status = Refusal(Request("copy", std::vector<float>(20)));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("1060"), HasSubstr("1000"), HasSubstr("cpu0")));
  EXPECT_EQ(engine_->Check(kAlice, Request("copy", std::vector<float>(20)))->devices[0].when,
            CheckReport::Fit::When::kNever);
  EXPECT_TRUE(Refusal(Request("copy", std::vector<float>(10))).ok());
}

// A job for a GPU that became one for the CPU by itself would be a hundred times slower, and nobody told.
class EngineGpuTest : public EngineRefusalsTest {
 protected:
  static JobRequest On(const std::string& device, const std::string& kernel = "copy", std::size_t floats = 3) {
    JobRequest request = Request(kernel, std::vector<float>(floats));
    request.device = device;
    return request;
  }
  std::string DeviceOf(JobRequest request) {
    const std::uint64_t tag = ++tag_;
    Submit(std::move(request), tag);
    const auto end = recorder_->AwaitEnd(tag);
    return end != nullptr && end->receipt ? end->receipt->device : "none";
  }

 private:
  std::uint64_t tag_ = 0;
};

TEST_F(EngineGpuTest, AKernelThatNoGpuHasRunsOnTheCpuOnlyWhereThatIsAskedFor) {
  auto of_cpu = bodies_;
  bodies_.erase("other");
  AddDevice({.id = "gpu0", .backend = "cuda", .host_memory = false});
  bodies_ = of_cpu;
  AddDevice({.id = "cpu0"});
  Start();
  const absl::Status refused = Refusal(On("", "other"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Fields(refused), ElementsAre("device"));
  EXPECT_THAT(Text(refused),
              AllOf(HasSubstr("other can run on no GPU (to run it on the CPU, ask for device \"cpu0\", or \"any\""),
                    HasSubstr("): gpu0 has no kernel other")));
  EXPECT_EQ(engine_->Check(kAlice, On("", "other")).status(), refused);
  EXPECT_EQ(DeviceOf(On("any", "other")), "cpu0");
  EXPECT_EQ(DeviceOf(On("cpu0", "other")), "cpu0");
  EXPECT_EQ(DeviceOf(On("any")), "gpu0");
  EXPECT_EQ(DeviceOf(On("")), "gpu0");
}

TEST_F(EngineGpuTest, AnArrayThatNoGpuHoldsGoesToTheCpuOnlyWhereThatIsAskedFor) {
  AddDevice({.id = "gpu0", .backend = "cuda", .memory_bytes = 1000, .host_memory = false});
  AddDevice({.id = "cpu0"});
  Start();
  const absl::Status refused = Refusal(On("", "copy", 200));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  const auto why = AllOf(HasSubstr("copy fits no GPU (to run it on the CPU, ask for device \"cpu0\", or \"any\""),
                         HasSubstr("): 1600 bytes are needed on gpu0, which has 1000"));
  EXPECT_THAT(Text(refused), why);
  // Before anything is uploaded.
  const auto report = engine_->Check(kAlice, On("", "copy", 200));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->refusal, why);
  ASSERT_EQ(report->devices.size(), 1u);
  EXPECT_EQ(report->devices[0].when, CheckReport::Fit::When::kNever);
  EXPECT_EQ(engine_->Check(kAlice, On("any", "copy", 200))->refusal, "");
  EXPECT_EQ(DeviceOf(On("any", "copy", 200)), "cpu0");
  EXPECT_EQ(DeviceOf(On("cpu0", "copy", 200)), "cpu0");
}

TEST_F(EngineGpuTest, WithoutACpuNoneIsOffered) {
  AddDevice({.id = "gpu0", .backend = "cuda", .memory_bytes = 10, .host_memory = false});
  Start();
  for (const char* device : {"", "any"}) EXPECT_THAT(Text(Refusal(On(device))), Not(HasSubstr("CPU"))) << device;
}

TEST_F(EngineGpuTest, WithoutAGpuTheCpuIsMeant) {
  Start();
  for (const char* device : {"", "any"}) EXPECT_EQ(DeviceOf(On(device)), "cpu0") << device;
}

TEST_F(EngineRefusalsTest, OutputsBeyondTheArrayLimits) {
  limits_ = {.total_bytes = 100, .array_bytes = 64};
  Start();
  absl::Status status = Refusal(Request("copy", std::vector<float>(17)));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("68"), HasSubstr("max-array-bytes"), HasSubstr("64")));
  status = Refusal(Request("two", std::vector<float>(15)));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("120"), HasSubstr("array-bytes"), HasSubstr("100")));
}

TEST_F(EngineRefusalsTest, TimeLimits) {
  const WallTime end = clock_.WallNow() + std::chrono::minutes(10);
  options_.allocation_end = [end] { return end; };
  Start();
  JobRequest request = Request("copy");
  request.time_limit = std::chrono::minutes(11);
  absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Fields(status), ElementsAre("time_limit"));
  EXPECT_THAT(Text(status), AllOf(HasSubstr("11m"), HasSubstr("10 m"), HasSubstr("UTC")));
  EXPECT_EQ(engine_->Check(kAlice, request).status().code(), absl::StatusCode::kFailedPrecondition);
  request.time_limit = nanoseconds::zero();
  EXPECT_EQ(Refusal(request).code(), absl::StatusCode::kInvalidArgument);
  request.time_limit = std::chrono::minutes(9);
  EXPECT_TRUE(Refusal(request).ok());
  clock_.Advance(std::chrono::minutes(20));
  EXPECT_THAT(Text(Refusal(request)), HasSubstr("ended"));
}

TEST_F(EngineRefusalsTest, TimeLimitsThatReachIntoTheDaemonsOwnEnd) {
  const WallTime end = clock_.WallNow() + std::chrono::minutes(10);
  options_.allocation_end = [end] { return end; };
  options_.end_margin = std::chrono::seconds(15);
  Start();
  JobRequest request = Request("copy");
  request.time_limit = std::chrono::seconds(9 * 60 + 50);
  EXPECT_THAT(Text(Refusal(request)),
              AllOf(HasSubstr("9m50s"), HasSubstr("9 m 45 s that are left"), HasSubstr("UTC"), HasSubstr("last 15 s")));
  request.time_limit = std::chrono::seconds(9 * 60 + 45);
  EXPECT_TRUE(Refusal(request).ok());
}

TEST_F(EngineRefusalsTest, OutputNames) {
  bodies_["other"] = Uninterruptible();
  Start();
  JobRequest request = Request("copy");
  request.outputs = {{"z", false, "", std::nullopt}};
  EXPECT_THAT(Text(Refusal(request)), AllOf(HasSubstr("\"z\""), HasSubstr("it has y")));
  request.outputs = {{"y", true, "", std::nullopt}, {"y", true, "", std::nullopt}};
  EXPECT_THAT(Text(Refusal(request)), HasSubstr("twice"));
  request.outputs = {{"y", false, "Y", std::nullopt}};
  EXPECT_EQ(Refusal(request).code(), absl::StatusCode::kInvalidArgument);
  request.outputs = {{"y", true, "a7", std::nullopt}};
  EXPECT_THAT(Text(Refusal(request)), HasSubstr("looks like"));
  request.outputs = {{"y", true, "Y", std::chrono::hours(1000)}};
  EXPECT_THAT(Text(Refusal(request)), HasSubstr("longer"));

  ASSERT_TRUE(store_->Create(kAlice, {DType::kFloat32, {1}}, "Y", std::nullopt, false).ok());
  request.outputs = {{"y", true, "Y", std::nullopt}};
  absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Fields(status), ElementsAre("outputs.y"));

  // A name is promised from the submission on.
  JobRequest promised = Request("other");
  promised.outputs = {{"y", true, "P", std::nullopt}};
  const JobId id = Submit(promised, 1);
  request.outputs = {{"y", true, "P", std::nullopt}};
  EXPECT_EQ(Refusal(request).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(engine_->Check(kAlice, request).status().code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  ASSERT_TRUE(engine_->Cancel(kAlice, id).ok());
  gate_.Open();
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  Submit(request, 2);  // given back by the cancelled job
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
  EXPECT_TRUE(store_->Describe(kAlice, "P").ok());
}

TEST_F(EngineRefusalsTest, CheckHoldsNoNamesAndQueuesNothing) {
  Start();
  JobRequest request = Request("copy");
  request.outputs = {{"y", true, "Y", std::nullopt}};
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<CheckReport> report = engine_->Check(kAlice, request);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(ToString(report->call.outputs[0]), "float32 [3]");
    EXPECT_EQ(report->cost.flop, 6);
    ASSERT_EQ(report->devices.size(), 1u);
    EXPECT_EQ(report->devices[0].device, "cpu0");
    EXPECT_EQ(report->devices[0].bytes_needed, 24u);
    EXPECT_EQ(report->devices[0].when, CheckReport::Fit::When::kNow);
  }
  ExpectNothingLeft();
}

TEST_F(EngineRefusalsTest, AFullQueueNamesItsLimit) {
  bodies_["other"] = Uninterruptible();
  options_.queued_jobs = 3;
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  for (std::uint64_t i = 0; i < 3; ++i) Submit(Request("copy"), 2 + i);
  const absl::Status status = Refusal(Request("copy"));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("queue"), HasSubstr("3")));
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(4));
}

TEST_F(EngineRefusalsTest, ARequestIdMakesARetrySafe) {
  std::atomic<int> runs{0};
  bodies_["copy"] = [&](const Task& task, TaskControl& control) {
    ++runs;
    return CopyBody(task, control);
  };
  Start();
  JobRequest request = Request("copy");
  request.request_id = "r1";
  request.payload_hash = 17;
  const JobId id = Submit(request, 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_EQ(engine_->Check(kAlice2, request)->known, id);
  EXPECT_EQ(engine_->Check(kBob, request)->known, std::nullopt);
  EXPECT_EQ(Submit(request, 2, kAlice2), id) << "scoped to the token, whatever the session";
  EXPECT_THAT(recorder_->states(2), ElementsAre(JobState::kPending, JobState::kRunning, JobState::kCompleted));
  EXPECT_EQ(runs, 1);

  request.payload_hash = 18;
  const absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Fields(status), ElementsAre("request_id"));
  EXPECT_THAT(Text(status), AllOf(HasSubstr("r1"), HasSubstr("job 1")));
  EXPECT_NE(Submit(request, 3, kBob), id) << "another token's ids are its own";
  ASSERT_NE(recorder_->AwaitEnd(3), nullptr);  // it counts in `runs`, which ends with this test

  request.request_id = std::string(65, 'r');
  EXPECT_EQ(Refusal(request).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(Refusal(request)), AllOf(HasSubstr("64"), HasSubstr("65")));
}

TEST_F(EngineRefusalsTest, ARequestIdIsKeptAsLongAsItsJob) {
  options_.result_retention = std::chrono::minutes(1);
  Start();
  JobRequest request = Request("copy");
  request.request_id = "r1";
  const JobId id = Submit(request, 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  clock_.Advance(std::chrono::minutes(2));
  ASSERT_TRUE(Eventually([&] { return !engine_->Get(kAlice, id).ok(); }));
  EXPECT_NE(Submit(request, 2), id);
  ASSERT_NE(recorder_->AwaitEnd(2), nullptr);
}

TEST_F(EngineRefusalsTest, ARetryFindsItsJobEvenWhenNoNewOneWouldBeTaken) {
  Start();
  JobRequest request = Request("copy");
  request.request_id = "r1";
  const JobId id = Submit(request, 1);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_TRUE(engine_->Drain(kPatience, "the allocation ends"));
  EXPECT_EQ(Submit(request, 2), id);
  request.request_id = "r2";
  const absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(Text(status), AllOf(HasSubstr("draining"), HasSubstr("the allocation ends")));
}

}  // namespace
}  // namespace hotplate::core::testing
