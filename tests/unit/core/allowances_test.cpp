// Bounds of a token's jobs: how many there are at a time, and on which devices. Others are not told of them.
#include <atomic>

#include "server/core/sweeps/sweep_plan.h"
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Alice has bounds, Bob has none.
class AllowancesTest : public EngineTest {
 protected:
  AllowancesTest() {
    options_.allowances = allowances_;
    bodies_["other"] = Uninterruptible();
    bodies_["loop"] = Cancellable();
  }

  void AllowJobs(std::uint32_t jobs) { allowances_->Set("alice", {.jobs = jobs}); }
  // Two GPUs and a CPU, of which Alice may use these.
  void StartWithGpus(std::vector<std::string> devices) {
    allowances_->Set("alice", {.devices = std::move(devices)});
    for (const char* id : {"gpu0", "gpu1"}) AddDevice({.id = id, .backend = "cuda"});
    AddDevice({.id = "cpu0"});
    Start();
  }
  static JobRequest On(const std::string& device, const std::string& kernel = "copy") {
    JobRequest request = Request(kernel);
    request.device = device;
    return request;
  }
  std::string DeviceOf(JobRequest request, const Principal& who = kAlice) {
    const std::uint64_t tag = ++tag_;
    Submit(std::move(request), tag, who);
    const auto end = recorder_->AwaitEnd(tag);
    return end != nullptr && end->receipt ? end->receipt->device : "none";
  }
  static JobRequest Sweep(std::uint64_t tasks, const std::string& kernel = "copy") {
    SweepPlan::Parts parts;
    parts.axes = {SweepAxis{"seed", SweepRange{std::int64_t{1}, std::int64_t{1}, tasks}}};
    JobRequest request = Request(kernel);
    request.sweep = SweepPlan::Make(std::move(parts)).value();
    return request;
  }
  RestoredJob Restored(std::uint64_t number, JobRequest request) {
    RestoredJob job;
    job.number = number;
    job.owner = kAlice;
    job.request = std::move(request);
    job.changes = {{1, JobState::kPending, clock_.WallNow(), ""}};
    return job;
  }

  const std::shared_ptr<Allowances> allowances_ = std::make_shared<Allowances>();
  std::uint64_t tag_ = 100;
};

TEST_F(AllowancesTest, OnlyDevicesOfTheTokenAreConsidered) {
  StartWithGpus({"gpu1"});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(DeviceOf(Request("copy")), "gpu1");
  EXPECT_EQ(DeviceOf(On(kAnyDevice)), "gpu1");
  EXPECT_EQ(DeviceOf(On("gpu1")), "gpu1");
  for (const char* id : {"gpu0", "gpu1", "cpu0"}) EXPECT_EQ(DeviceOf(On(id), kBob), id);
  const absl::StatusOr<CheckReport> report = engine_->Check(kAlice, Request("copy"));
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->devices.size(), 1u);
}

TEST_F(AllowancesTest, WhoMayUseTheCpuAloneNeedNotAskForIt) {
  StartWithGpus({"cpu0"});
  EXPECT_EQ(DeviceOf(Request("copy")), "cpu0");
}

TEST_F(AllowancesTest, AnotherDeviceIsRefusedByName) {
  StartWithGpus({"gpu1", "cpu0"});
  const std::string why =
      "token \"alice\" may not use device \"gpu0\"; it may use gpu1, cpu0, or ask the daemon's owner for more";
  JobRequest sweep = Sweep(3);
  sweep.device = "gpu0";
  for (const absl::Status& status : {Refusal(On("gpu0")), Refusal(sweep), engine_->Check(kAlice, On("gpu0")).status(),
                                     engine_->CheckDevice(kAlice, "gpu0")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(Text(status), why);
    EXPECT_THAT(Fields(status), ElementsAre("device"));
  }
  EXPECT_EQ(Refusal(On("gpu7")).code(), absl::StatusCode::kInvalidArgument) << "there is none";
  EXPECT_TRUE(engine_->CheckDevice(kAlice, "gpu1").ok());
  EXPECT_TRUE(engine_->CheckDevice(kBob, "gpu0").ok());
}

TEST_F(AllowancesTest, DevicesThatAreNotHereAreNamed) {
  StartWithGpus({"gpu7"});
  for (const absl::Status& status : {Refusal(Request("copy")), Refusal(On("gpu7")), Refusal(On(kAnyDevice))}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(
        Text(status),
        "token \"alice\" may use gpu7 alone, which this daemon does not have; there are gpu0, gpu1, cpu0: ask the "
        "daemon's owner for one of them");
  }
}

TEST_F(AllowancesTest, AHeldJobIsBoundToThemLater) {
  bodies_["some"] = [this](const Task& task, TaskControl& control) {
    gate_.Enter();
    *task.call.outputs[0].actual_size = 2;
    return CopyBody(task, control);
  };
  StartWithGpus({"gpu1"});
  const JobId first = Submit(Request("some"), 1);
  JobRequest second = Request("copy");
  second.inputs = {{.name = "x", .signature = {}, .source = OutputOf{JobRef{first}, "y"}}};
  second.device = "gpu0";
  EXPECT_EQ(Refusal(second).code(), absl::StatusCode::kPermissionDenied);
  second.device = "";
  Submit(second, 2);
  gate_.Open();
  const auto end = recorder_->AwaitEnd(2);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_EQ(end->receipt->device, "gpu1");
}

TEST_F(AllowancesTest, TasksOfASweepRunOnThem) {
  std::atomic<int> strayed{0};
  const auto own = bodies_;
  bodies_["copy"] = [&strayed](const Task& task, TaskControl& control) {
    ++strayed;
    return CopyBody(task, control);
  };
  allowances_->Set("alice", {.devices = {"gpu1"}});
  AddDevice({.id = "gpu0", .backend = "cuda"});
  bodies_ = own;
  AddDevice({.id = "gpu1", .backend = "cuda"});
  Start();
  Submit(Sweep(50), 1);
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_EQ(strayed.load(), 0);
}

TEST_F(AllowancesTest, ARestoredJobRunsOnThem) {
  StartWithGpus({"gpu1"});
  ASSERT_TRUE(engine_->Restore(Restored(70, Request("copy"))).ok());
  ASSERT_TRUE(Eventually([&] { return IsEnd(StateOf(JobId("70"))); }));
  EXPECT_EQ(engine_->Get(kRoot, JobId("70"))->device, "gpu1");
  const absl::Status status = engine_->Restore(Restored(71, On("gpu0")));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << "it waits for a daemon that lets it";
  EXPECT_TRUE(absl::IsNotFound(engine_->Get(kRoot, JobId("71")).status()));
}

TEST_F(AllowancesTest, SoManyJobsAtATime) {
  AllowJobs(2);
  Start();
  JobRequest first = Request("other");
  first.request_id = "first";
  const JobId id = Submit(first, 1);
  Submit(Request("copy"), 2);
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 2u);
  const absl::Status status = Refusal(Request("copy"));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Text(status),
            "token \"alice\" has 2 jobs that have not ended, its limit max-jobs is 2; wait for one of them, or ask the "
            "daemon's owner for more");
  EXPECT_THAT(Fields(status), IsEmpty()) << "as of a full queue: it may do later";
  EXPECT_EQ(Refusal(Request("copy"), kAlice2).code(), absl::StatusCode::kResourceExhausted)
      << "another session of hers";
  EXPECT_EQ(Submit(first, 3), id) << "a repeated call gets its job";
  for (std::uint64_t tag = 10; tag < 15; ++tag) Submit(Request("copy"), tag, kBob);
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 2u);
  gate_.Open();
  for (const std::uint64_t tag : {1, 2}) recorder_->AwaitEnd(tag);
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 0u) << "they are gone before anybody hears of their ends";
  Submit(Request("copy"), 4);
  recorder_->AwaitEnd(4);
  for (std::uint64_t tag = 10; tag < 15; ++tag) recorder_->AwaitEnd(tag);
  EXPECT_EQ(engine_->ActiveJobsOf("bob"), 0u);
}

TEST_F(AllowancesTest, ACancelledOrWithdrawnJobIsOneLess) {
  AllowJobs(1);
  Start();
  Submit(Request("other"), 1, kBob);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId waits = Submit(Request("copy"), 2);
  EXPECT_THAT(Text(Refusal(Request("copy"))),
              HasSubstr("has 1 job that has not ended, its limit max-jobs is 1; wait for it, or ask"));
  ASSERT_TRUE(engine_->Cancel(kAlice, waits).ok());
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 0u);
  const absl::StatusOr<Engine::Accepted> accepted = engine_->Accept(kAlice, Request("copy"));
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  EXPECT_EQ(engine_->Accept(kAlice, Request("copy")).status().code(), absl::StatusCode::kResourceExhausted);
  engine_->Withdraw(*accepted->job);
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 0u);
  Submit(Request("copy"), 3);
}

TEST_F(AllowancesTest, ASweepIsOneJob) {
  AllowJobs(1);
  Start();
  Submit(Sweep(20, "other"), 1);
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 1u);
  EXPECT_EQ(Refusal(Sweep(20)).code(), absl::StatusCode::kResourceExhausted);
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 0u);
}

TEST_F(AllowancesTest, RestoredJobsCountAndAreNotRefused) {
  AllowJobs(1);
  Start();
  for (const std::uint64_t number : {70, 71, 72}) {
    ASSERT_TRUE(engine_->Restore(Restored(number, Request("other"))).ok());
  }
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 3u);
  EXPECT_THAT(Text(Refusal(Request("copy"))), HasSubstr("has 3 jobs that have not ended, its limit max-jobs is 1"));
  gate_.Open();
  EXPECT_TRUE(Eventually([&] { return engine_->ActiveJobsOf("alice") == 0; }));
  EXPECT_TRUE(Refusal(Request("copy")).ok());
}

TEST_F(AllowancesTest, AllJobsOfATokenAreCancelledAtOnce) {
  Start();
  Submit(Request("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Request("copy"), 2);
  Submit(Sweep(20), 3);
  const JobId bobs = Submit(Request("copy"), 4, kBob);
  const absl::StatusOr<Engine::Accepted> hidden = engine_->Accept(kAlice, Request("copy"));
  ASSERT_TRUE(hidden.ok()) << hidden.status();
  EXPECT_EQ(engine_->CancelJobsOf("alice", "was cancelled: its token was revoked"), 4u);
  for (const std::uint64_t tag : {1, 2, 3}) {
    const auto end = recorder_->AwaitEnd(tag);
    ASSERT_EQ(end->state, JobState::kCancelled) << tag;
    EXPECT_THAT(Text(end->error), HasSubstr("was cancelled: its token was revoked"));
  }
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 1u) << "nobody sees it yet";
  engine_->Acknowledge(*hidden->job);
  EXPECT_EQ(StateOf(hidden->id), JobState::kCancelled);
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 0u);
  EXPECT_EQ(recorder_->AwaitEnd(4)->state, JobState::kCompleted);
  EXPECT_EQ(engine_->CancelJobsOf("alice", "was cancelled: its token was revoked"), 0u);
  EXPECT_EQ(StateOf(bobs), JobState::kCompleted);
}

TEST_F(AllowancesTest, ATokenThatHasEndedMakesNothingNew) {
  allowances_->Set("alice", {.revoked = true});
  Start();
  for (const absl::Status& status :
       {Refusal(Request("copy")), engine_->Accept(kAlice, Request("copy")).status(),
        store_->Create(kAlice, {DType::kFloat32, {4}}, "X", std::nullopt, false).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_EQ(Text(status), "token \"alice\" was revoked or has expired; ask the daemon's owner for a new one");
  }
  EXPECT_TRUE(Refusal(Request("copy"), kBob).ok());
  ASSERT_TRUE(engine_->Restore(Restored(70, Request("copy"))).ok());
  const absl::StatusOr<JobSnapshot> job = engine_->Get(kRoot, JobId("70"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state, JobState::kCancelled);
  EXPECT_EQ(Text(job->end->error), "was cancelled: its token was revoked or has expired");
  EXPECT_EQ(engine_->ActiveJobsOf("alice"), 0u);
}

TEST_F(AllowancesTest, OneTokenKeepsAPartOfTheResults) {
  options_.retained_jobs = 8;
  AllowJobs(0);
  Start();
  const JobId first = Submit(Request("copy"), 1);
  Submit(Request("copy"), 2);
  ASSERT_TRUE(recorder_->AwaitEnds(2));
  const absl::Status refused = Refusal(Request("copy"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(refused), HasSubstr("token \"alice\" has 2 jobs whose results are kept"));
  EXPECT_TRUE(Refusal(Request("copy"), kBob).ok());
  ASSERT_TRUE(engine_->Fetch(kAlice, first).ok());
  EXPECT_TRUE(Refusal(Request("copy")).ok()) << "one was fetched";
}

TEST_F(AllowancesTest, NoneGoesBeforeOthers) {
  AllowJobs(0);
  Start();
  JobRequest request = Request("copy");
  request.priority = 1;
  const absl::Status refused = Refusal(request);
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Fields(refused), ElementsAre("priority"));
  EXPECT_TRUE(Refusal(request, kBob).ok());
  for (const int priority : {0, -1}) {
    request.priority = priority;
    EXPECT_TRUE(Refusal(request).ok()) << priority;
  }
}

}  // namespace
}  // namespace hotplate::core::testing
