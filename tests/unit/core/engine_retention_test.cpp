// How long jobs that ended stay, and what is refused so that they can.
#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class EngineRetentionTest : public EngineTest {
 protected:
  EngineRetentionTest() { bodies_["silent"] = CopyBody; }

  // Runs it to its end.
  JobId Run(JobRequest request) {
    const JobId id = Submit(std::move(request), ++tag_);
    EXPECT_NE(recorder_->AwaitEnd(tag_), nullptr);
    return id;
  }
  static JobRequest Attached(const std::string& kernel = "copy") {
    JobRequest request = Request(kernel);
    request.attached = true;
    return request;
  }
  // Fetches it.
  bool HasResult(const JobId& id) {
    const absl::StatusOr<JobSnapshot> job = engine_->Fetch(kAlice, id);
    return job.ok() && job->end != nullptr && !job->end->outputs.empty() && job->end->outputs[0].data != nullptr;
  }
  bool Knows(const JobId& id) { return engine_->Get(kAlice, id).ok(); }
  std::string WhyGone(const JobId& id) { return Text(engine_->Get(kAlice, id).status()); }

  std::uint64_t tag_ = 0;
};

TEST_F(EngineRetentionTest, WhatNobodyFetchedStaysAndAnotherJobIsRefused) {
  options_.retained_jobs = 3;
  Start();
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(Run(Request("copy")));
  const absl::Status status = Refusal(Request("copy"));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(status),
              AllOf(HasSubstr("retained-jobs"), HasSubstr("3 ended jobs wait"), HasSubstr("hotplate result")));
  EXPECT_TRUE(Knows(Run(Attached()))) << "of an attached job nothing has to be kept";
  for (const JobId& id : ids) EXPECT_TRUE(HasResult(id)) << id.value();

  // Fetched ones give way, the oldest first.
  const JobId fourth = Run(Request("copy"));
  EXPECT_TRUE(Eventually([&] { return !Knows(ids[0]); }));
  EXPECT_THAT(WhyGone(ids[0]), AllOf(HasSubstr("job 1:"), HasSubstr("retained-jobs: 3")));
  EXPECT_TRUE(Knows(ids[1]) && Knows(ids[2]) && Knows(fourth)) << "not before there must be room";
}

TEST_F(EngineRetentionTest, JobsThatWaitAreCountedToo) {
  options_.retained_jobs = 2;
  bodies_["other"] = Uninterruptible();
  Start();
  Submit(Request("other"), 1);
  Submit(Request("other"), 2);
  EXPECT_THAT(Text(Refusal(Request("copy"))), HasSubstr("retained-jobs"));
  gate_.Open();
  ASSERT_TRUE(recorder_->AwaitEnds(2));
  ASSERT_TRUE(engine_->Fetch(kAlice, JobId("1")).ok());
  EXPECT_TRUE(Refusal(Request("copy")).ok());
}

TEST_F(EngineRetentionTest, TheBytesOfResultsHaveTheirLimit) {
  options_.retained_bytes = 1000;
  Start();
  const JobRequest request = Request("copy", std::vector<float>(100));  // 400 bytes each
  const JobId first = Run(request), second = Run(request);
  const absl::Status status = Refusal(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(status),
              AllOf(HasSubstr("retained-bytes: 1000"), HasSubstr("200 are free"), HasSubstr("may have 400")));
  EXPECT_TRUE(Refusal(Request("copy")).ok()) << "what is small enough goes on";
  ASSERT_TRUE(engine_->Fetch(kAlice, first).ok());
  EXPECT_TRUE(Knows(Run(request)));
  EXPECT_TRUE(Eventually([&] { return !Knows(first); }));
  EXPECT_THAT(WhyGone(first), HasSubstr("retained-bytes: 1000"));
  EXPECT_TRUE(HasResult(second));
}

TEST_F(EngineRetentionTest, AResultThatCouldNeverBeKeptBecomesAnArray) {
  options_.retained_bytes = 100;
  Start();
  const JobId id = Run(Request("copy", std::vector<float>(100)));
  EXPECT_FALSE(engine_->Fetch(kAlice, id)->end->outputs[0].array.empty());
}

TEST_F(EngineRetentionTest, TinyAttachedJobsPushOutNothingButEachOther) {
  options_.retained_jobs = 3;
  Start();
  const JobId detached = Run(Request("copy"));
  const JobId large = Run(Attached("silent"));  // without a bound of its work no job is tiny
  const JobId tiny = Run(Attached());
  for (int i = 0; i < 20; ++i) Run(Attached());
  EXPECT_TRUE(Eventually([&] { return !Knows(tiny); }));
  EXPECT_THAT(WhyGone(tiny), HasSubstr("retained-jobs: 3"));
  EXPECT_TRUE(Knows(detached));
  EXPECT_TRUE(Knows(large)) << "with its receipt";
  EXPECT_TRUE(HasResult(detached));
}

TEST_F(EngineRetentionTest, ARequestIdOfTheCallersLivesItsFullTime) {
  options_.retained_jobs = 3;
  options_.result_retention = std::chrono::minutes(1);
  Start();
  JobRequest request = Attached();
  request.request_id = "mine";
  const JobId id = Run(request);
  ASSERT_TRUE(engine_->Fetch(kAlice, id).ok()) << "which does not end it";
  for (int i = 0; i < 20; ++i) Run(Attached());
  EXPECT_EQ(Run(request), id) << "it runs once";
  EXPECT_TRUE(HasResult(id));
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_TRUE(Eventually([&] { return !Knows(id); }));
  EXPECT_THAT(WhyGone(id), HasSubstr("result-retention"));
}

TEST_F(EngineRetentionTest, ARequestIdForRetriesGoesWithItsDeliveredJob) {
  options_.retained_jobs = 3;
  Start();
  JobRequest request = Attached();
  request.request_id = "of the library";
  request.forget_when_delivered = true;
  const JobId id = Run(request);
  EXPECT_EQ(Run(request), id);
  for (int i = 0; i < 20; ++i) Run(Attached());
  EXPECT_TRUE(Eventually([&] { return !Knows(id); }));
  EXPECT_NE(Run(request), id);

  // It goes on for a detached job that nobody has fetched.
  request.attached = false;
  request.request_id = "of submit";
  const JobId waits = Run(request);
  for (int i = 0; i < 20; ++i) Run(Attached("silent"));
  EXPECT_EQ(Run(request), waits);
}

TEST_F(EngineRetentionTest, WhoeverCancelsAJobKnowsItsEnd) {
  options_.retained_jobs = 2;
  bodies_["other"] = Uninterruptible();
  Start();
  Submit(Request("other"), 1);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  const JobId cancelled = Submit(Request("copy"), 2);
  ASSERT_TRUE(engine_->Cancel(kAlice, cancelled).ok());
  EXPECT_TRUE(Refusal(Request("copy")).ok());
}

TEST_F(EngineRetentionTest, AJobThatNeverWasIsNotSaidToBeGone) {
  Start();
  EXPECT_EQ(WhyGone(JobId("17")), "no job 17");
  const JobId of_bob = Submit(Request("copy"), 1, kBob);
  ASSERT_NE(recorder_->AwaitEnd(1), nullptr);
  EXPECT_EQ(WhyGone(of_bob), "no job 1");
}

// A detached run that is attached until its client goes away must find room as well.
TEST_F(EngineRetentionTest, WhatMayBecomeDetachedIsPromisedRoom) {
  options_.retained_jobs = 1;
  Start();
  Run(Request("copy"));
  JobRequest request = Attached();
  request.on_disconnect = DisconnectPolicy::kDetach;
  EXPECT_THAT(Text(Refusal(request)), HasSubstr("retained-jobs"));
  ASSERT_TRUE(engine_->Fetch(kAlice, JobId("1")).ok());
  EXPECT_TRUE(Knows(Run(request)));
}

}  // namespace
}  // namespace hotplate::core::testing
