// Jobs that wait for other jobs: for outputs that they take, or for their ends alone.
#include <map>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class HeldJobsTest : public EngineTest {
 protected:
  HeldJobsTest() {
    bodies_["loop"] = Cancellable();
    bodies_["other"] = Uninterruptible();
    bodies_["sum"] = CopyBody;
  }

  static JobRequest After(const JobId& job, const std::string& kernel = "copy") {
    JobRequest request = Request(kernel);
    request.after = {JobRef{job}};
    return request;
  }
  static JobRequest Taking(const JobId& job, const std::string& kernel = "copy", const std::string& output = "y") {
    JobRequest request = Request(kernel);
    request.inputs = {{.name = "x", .signature = {}, .source = OutputOf{JobRef{job}, output}}};
    return request;
  }
  static JobRequest ForJobs(JobRequest request, std::uint32_t jobs) {
    JobOutput output;
    output.name = "y";
    output.for_jobs = jobs;
    request.outputs = {output};
    return request;
  }
  // How many elements it makes is known when it has run, which the gate holds up.
  JobId SubmitOneThatMakesTwoOfThree() {
    bodies_["some"] = [this](const Task& task, TaskControl& control) {
      gate_.Enter();
      *task.call.outputs[0].actual_size = 2;
      return CopyBody(task, control);
    };
    Start();
    return Submit(Request("some", {1, 2, 3}), 1);
  }
  std::vector<std::string> WaitsFor(const JobId& id) {
    std::vector<std::string> ids;
    const absl::StatusOr<JobSnapshot> job = engine_->Get(kAlice, id);
    for (const JobId& one : job->waits_for) ids.push_back(one.value());
    return ids;
  }
};

TEST_F(HeldJobsTest, AJobTakesTheOutputOfOneThatGoesOn) {
  Start();
  const JobId first = Submit(Request("other", {1, 2, 3}), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId second = Submit(Taking(first), 2);
  const JobId third = Submit(Taking(second), 3);
  EXPECT_EQ(StateOf(third), JobState::kPending);
  EXPECT_THAT(WaitsFor(second), ElementsAre(first.value()));
  EXPECT_THAT(WaitsFor(third), ElementsAre(second.value()));
  EXPECT_EQ(engine_->Status().pending, 2u);
  gate_.Open();
  const auto end = recorder_->AwaitEnd(3);
  ASSERT_EQ(end->state, JobState::kCompleted) << end->error;
  EXPECT_THAT(ToFloats(*end->outputs[0].data), ElementsAre(1, 2, 3));
  EXPECT_THAT(WaitsFor(third), IsEmpty());
  EXPECT_EQ(engine_->Get(kAlice, third)->depends_on.size(), 1u);
  EXPECT_EQ(engine_->Status().pending, 0u);
}

TEST_F(HeldJobsTest, AJobTakesTheOutputOfOneThatHasEnded) {
  Start();
  const JobId first = Submit(Request("copy", {4, 5}), 1);
  ASSERT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  Submit(Taking(first), 2);
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(4, 5));
}

TEST_F(HeldJobsTest, AJobIsKnownByItsRequestIdToo) {
  Start();
  JobRequest first = Request("other", {6});
  first.request_id = "the first";
  Submit(first, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  JobRequest second = Request("copy");
  second.inputs = {{.name = "x", .signature = {}, .source = OutputOf{JobRef{JobId(), "the first"}, "y"}}};
  EXPECT_EQ(Refusal(second, kBob).code(), absl::StatusCode::kNotFound);
  Submit(second, 2);
  second.after = {JobRef{JobId(), "another"}};
  EXPECT_THAT(Text(Refusal(second)), HasSubstr("request id \"another\""));
  gate_.Open();
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(6));
}

TEST_F(HeldJobsTest, AfterWaitsForTheEndAlone) {
  options_.inline_bytes = 0;
  Start();
  const JobId first = Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId second = Submit(After(first), 2);
  EXPECT_EQ(StateOf(second), JobState::kPending);
  EXPECT_THAT(recorder_->states(2), IsEmpty());
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
  EXPECT_GE(engine_->Get(kAlice, second)->start_time, engine_->Get(kAlice, first)->end_time);
}

TEST_F(HeldJobsTest, AFailureGoesDownTheWholeChainWithItsReason) {
  bodies_["other"] = [this](const Task&, TaskControl&) {
    gate_.Enter();
    return EndsWith(Outcome::Failed("the pump is broken"));
  };
  Start();
  const JobId first = Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  JobId last = first;
  for (std::uint64_t tag = 2; tag < 2000; ++tag) last = Submit(Taking(last), tag);
  const JobId beside = Submit(Request("copy"), 5000);
  gate_.Open();
  for (const std::uint64_t tag : {2, 3, 1999}) {
    const auto end = recorder_->AwaitEnd(tag);
    EXPECT_EQ(end->state, JobState::kFailed);
    EXPECT_EQ(end->error.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Text(end->error), HasSubstr("job " + first.value() + " (other) FAILED: "));
    EXPECT_THAT(Text(end->error), HasSubstr("the pump is broken"));
    EXPECT_LT(end->error.message().size(), 300u) << "the reason is told once, however long the chain";
  }
  EXPECT_EQ(recorder_->AwaitEnd(5000)->state, JobState::kCompleted) << beside.value();
}

TEST_F(HeldJobsTest, ACancelCascades) {
  Start();
  const JobId first = Submit(Request("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId second = Submit(Taking(first), 2);
  Submit(Taking(second), 3);
  Submit(After(second), 4);
  ASSERT_TRUE(engine_->Cancel(kAlice, second).ok());
  for (const std::uint64_t tag : {2, 3, 4}) {
    const auto end = recorder_->AwaitEnd(tag);
    EXPECT_EQ(end->state, JobState::kCancelled);
    EXPECT_THAT(Text(end->error), HasSubstr("job " + second.value() + " was cancelled on request"));
  }
  EXPECT_EQ(StateOf(first), JobState::kRunning);
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
}

TEST_F(HeldJobsTest, WrongReferencesAreRefusedWithFieldAndValue) {
  Start();
  const JobId first = Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const absl::Status no_job = Refusal(Taking(JobId("99")));
  EXPECT_EQ(no_job.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Fields(no_job), ElementsAre("inputs.x"));
  EXPECT_THAT(Text(no_job), HasSubstr("no job 99"));
  const absl::Status no_output = Refusal(Taking(first, "copy", "q"));
  EXPECT_THAT(Fields(no_output), ElementsAre("inputs.x"));
  EXPECT_THAT(Text(no_output), HasSubstr("has no output \"q\"; it has y"));
  EXPECT_THAT(Fields(Refusal(After(JobId("99")))), ElementsAre("after"));
  EXPECT_EQ(Refusal(Taking(first), kBob).code(), absl::StatusCode::kNotFound) << "of another token";
  ASSERT_TRUE(engine_->Cancel(kAlice, first).ok());
  gate_.Open();
  ASSERT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCancelled);
  const absl::Status ended = Refusal(Taking(first));
  EXPECT_EQ(ended.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(ended), HasSubstr("was cancelled on request"));
}

TEST_F(HeldJobsTest, ShapesAreCheckedThroughJobsThatHaveNotRun) {
  Start();
  const JobId first = Submit(Request("other", {1, 2, 3}), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId second = Submit(Taking(first), 2);
  JobRequest wrong = Taking(second);
  wrong.params["seed"] = std::string("five");
  EXPECT_THAT(Fields(Refusal(wrong)), ElementsAre("params.seed"));
  const absl::StatusOr<CheckReport> report = engine_->Check(kAlice, Taking(second));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->call.outputs[0].shape, Shape({3}));
  EXPECT_EQ(report->array_bytes_needed, 12u) << "its output, and not the input that is made here";
}

TEST_F(HeldJobsTest, WhatIsNotKnownBeforeIsBoundWhenItIs) {
  const JobId first = SubmitOneThatMakesTwoOfThree();
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const absl::Status unknown = engine_->Check(kAlice, Taking(first)).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(unknown), HasSubstr("inputs.x, the output \"y\" of job 1 (some)"));
  EXPECT_THAT(Fields(Refusal([&] {
                JobRequest request = Taking(first);
                request.priority = 101;
                return request;
              }())),
              ElementsAre("priority"));
  EXPECT_THAT(Fields(Refusal(Taking(first, "nothing"))), ElementsAre("kernel"));
  const JobId second = Submit(Taking(first), 2);
  JobRequest wrong = Taking(second);
  wrong.params["seed"] = std::string("five");
  Submit(wrong, 3);
  gate_.Open();
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(1, 2));
  EXPECT_EQ(recorder_->AwaitEnd(3)->state, JobState::kFailed);
  EXPECT_THAT(Text(recorder_->AwaitEnd(3)->error), HasSubstr("seed"));
}

TEST_F(HeldJobsTest, WhatIsBoundLaterHasItsArraysFromTheStart) {
  const JobId first = SubmitOneThatMakesTwoOfThree();
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const auto array = store_->Adopt(kAlice, {DType::kFloat32, {2}}, "", std::nullopt, Floats({7, 8}));
  ASSERT_TRUE(array.ok());
  JobRequest request = Request("sum");
  request.inputs = {{.name = "x", .signature = {}, .source = OutputOf{JobRef{first}, "y"}},
                    {.name = "z", .signature = {}, .source = array->id.value()}};
  Submit(request, 2);
  ASSERT_TRUE(store_->Free(kAlice, array->id.value()).ok()) << "as a client does with what it has uploaded";
  gate_.Open();
  const auto end = recorder_->AwaitEnd(2);
  EXPECT_EQ(end->state, JobState::kCompleted) << end->error;
  request.inputs[1].source = std::string("a999");
  EXPECT_THAT(Fields(Refusal(request)), ElementsAre("inputs.z"));
}

TEST_F(HeldJobsTest, OutputsForJobsGoWhenAllHaveThem) {
  Start();
  const JobId first = Submit(ForJobs(Request("other", {1, 2}), 2), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Taking(first), 2);
  gate_.Open();
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(1, 2));
  const auto end = recorder_->AwaitEnd(1);
  ASSERT_EQ(end->outputs.size(), 1u);
  EXPECT_TRUE(end->outputs[0].for_jobs);
  EXPECT_EQ(store_->List(kAlice).size(), 1u) << "one has yet to come for it";
  Submit(Taking(first), 3);
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(3)->outputs[0].data), ElementsAre(1, 2));
  EXPECT_THAT(store_->List(kAlice), IsEmpty());
  EXPECT_EQ(Refusal(Taking(first)).code(), absl::StatusCode::kNotFound) << "a third one";
}

TEST_F(HeldJobsTest, OutputsForJobsGoAlsoWhenThoseThatWaitedAreCancelled) {
  Start();
  const JobId first = Submit(ForJobs(Request("other", {1, 2}), 1), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId second = Submit(Taking(first), 2);
  ASSERT_TRUE(engine_->Cancel(kAlice, second).ok());
  gate_.Open();
  ASSERT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  EXPECT_THAT(store_->List(kAlice), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return store_->bytes_held() == 0; }));
}

TEST_F(HeldJobsTest, ARefusedJobTakesNothing) {
  Start();
  const JobId first = Submit(ForJobs(Request("copy", {1, 2}), 1), 1);
  ASSERT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  JobRequest wrong = Taking(first);
  wrong.params["seed"] = std::string("five");
  EXPECT_THAT(Fields(Refusal(wrong)), ElementsAre("params.seed"));
  EXPECT_EQ(store_->List(kAlice).size(), 1u);
  Submit(Taking(first), 2);
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(1, 2));
  EXPECT_THAT(store_->List(kAlice), IsEmpty());
}

TEST_F(HeldJobsTest, AJobThatIsRefusedForAnotherDoesNotComeForWhatItWouldHaveTaken) {
  bodies_["some"] = [](const Task&, TaskControl&) { return EndsWith(Outcome::Failed("the pump is broken")); };
  Start();
  const JobId failed = Submit(Request("some"), 9);
  ASSERT_EQ(recorder_->AwaitEnd(9)->state, JobState::kFailed);
  const auto refuse = [&](const JobId& taken) {
    JobRequest refused = Taking(taken);
    refused.request_id = "behind a failure " + taken.value();
    refused.after = {JobRef{failed}};
    EXPECT_THAT(Fields(engine_->Check(kAlice, refused).status()), ElementsAre("after")) << "which counts for nothing";
    EXPECT_THAT(Fields(Refusal(refused)), ElementsAre("after"));
    EXPECT_THAT(Fields(Refusal(refused)), ElementsAre("after")) << "sent again, and counted once";
    refused.request_id = "misspelt";
    refused.after = {JobRef{JobId("99")}};
    EXPECT_THAT(Fields(Refusal(refused)), ElementsAre("after")) << "which is put right and sent again";
  };
  const JobId ended = Submit(ForJobs(Request("copy", {1, 2}), 2), 1);
  ASSERT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCompleted);
  refuse(ended);
  EXPECT_EQ(store_->List(kAlice).size(), 1u) << "another job has yet to come for it";
  Submit(Taking(ended), 2);
  EXPECT_THAT(ToFloats(*recorder_->AwaitEnd(2)->outputs[0].data), ElementsAre(1, 2));
  EXPECT_THAT(store_->List(kAlice), IsEmpty());
  const JobId runs = Submit(ForJobs(Request("other", {3}), 1), 3);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  refuse(runs);
  gate_.Open();
  ASSERT_EQ(recorder_->AwaitEnd(3)->state, JobState::kCompleted);
  EXPECT_THAT(store_->List(kAlice), IsEmpty());
}

TEST_F(HeldJobsTest, AJobThatTakesAnOutputTwiceIsOneJob) {
  Start();
  const JobId first = Submit(ForJobs(Request("other", {1, 2}), 2), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const auto both = [&] {
    JobRequest request = Request("sum");
    request.inputs = {{.name = "x", .signature = {}, .source = OutputOf{JobRef{first}, "y"}},
                      {.name = "z", .signature = {}, .source = OutputOf{JobRef{first}, "y"}}};
    return request;
  };
  Submit(both(), 2);
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
  EXPECT_EQ(store_->List(kAlice).size(), 1u) << "another job has yet to come";
  Submit(both(), 3);
  EXPECT_EQ(recorder_->AwaitEnd(3)->state, JobState::kCompleted);
  EXPECT_THAT(store_->List(kAlice), IsEmpty());
}

TEST_F(HeldJobsTest, AnOutputForJobsIsNeitherKeptNorAFile) {
  Start();
  JobRequest request = ForJobs(Request("copy"), 1);
  request.outputs[0].keep = true;
  EXPECT_THAT(Fields(Refusal(request)), ElementsAre("outputs.y"));
}

TEST_F(HeldJobsTest, ThoseThatWaitCountForTheQueue) {
  options_.queued_jobs = 2;
  Start();
  const JobId first = Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(After(first), 2);
  Submit(After(first), 3);
  EXPECT_EQ(Refusal(After(first)).code(), absl::StatusCode::kResourceExhausted);
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(3)->state, JobState::kCompleted);
}

TEST_F(HeldJobsTest, AClientThatGoesAwayTakesItsWaitingJobsAlong) {
  Start();
  JobRequest request = Request("other");
  const JobId first = Submit(request, 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  JobRequest waiting = Taking(first);
  waiting.attached = true;
  const JobId second = Submit(waiting, 2);
  engine_->Unsubscribe(recorder_, Engine::OnDisconnect::kCancelNow);
  EXPECT_TRUE(Eventually([&] { return StateOf(second) == JobState::kCancelled; }));
  EXPECT_EQ(StateOf(first), JobState::kRunning) << "it is detached";
}

TEST_F(HeldJobsTest, ADrainCancelsWhatCannotBegin) {
  Start();
  const JobId first = Submit(Request("loop"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Taking(first), 2);
  EXPECT_FALSE(engine_->Drain(nanoseconds::zero(), "the end"));
  EXPECT_EQ(recorder_->AwaitEnd(1)->state, JobState::kCancelled);
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCancelled);
}

TEST_F(HeldJobsTest, ADrainLetsAChainEnd) {
  Start();
  const JobId first = Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  Submit(Taking(first), 2);
  engine_->BeginDrain(kPatience, "the end");
  gate_.Open();
  EXPECT_EQ(recorder_->AwaitEnd(2)->state, JobState::kCompleted);
}

}  // namespace
}  // namespace hotplate::core::testing
