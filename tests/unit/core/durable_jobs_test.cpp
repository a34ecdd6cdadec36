// Jobs that outlive the daemon, as the engine sees them: the log says when an end may be told.
#include <future>

#include "tests/unit/core/engine_fixture.h"

namespace hotplate::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Writes nothing. An end is told when the test says that it is written.
class SlowLog : public JobLog {
 public:
  void Append(const Job&, const JobEvent& event) override { lines_.Add(std::string(Name(event.kind))); }
  void WriteStart(const Job&, const JobEvent&, std::uint64_t sequence) override {
    lines_.Add("start " + std::to_string(sequence));
  }
  void WriteEnd(std::shared_ptr<const Job>, const JobEvent& end, std::uint64_t sequence,
                std::function<void()> told) override {
    if (suspended_.load() && end.end->state == JobState::kFailed) return;
    lines_.Add("end " + std::to_string(sequence));
    std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(told));
  }
  absl::Status Reserve(const Job& job) override {
    lines_.Add("reserve " + std::to_string(job.bound.outputs.empty() ? 0 : job.bound.outputs[0].bytes));
    std::scoped_lock lock(mutex_);
    return no_room_;
  }
  void WriteTasks(const Job&, TaskRows rows) override { lines_.Add("tasks " + std::to_string(rows.rows.size())); }
  void Suspend() override { suspended_.store(true); }
  void Stop() override {}

  void HasNoRoom(const absl::Status& why) {
    std::scoped_lock lock(mutex_);
    no_room_ = why;
  }
  bool HasEnd() {
    std::scoped_lock lock(mutex_);
    return !waiting_.empty();
  }
  void Written() {
    std::vector<std::function<void()>> told;
    {
      std::scoped_lock lock(mutex_);
      std::swap(told, waiting_);
    }
    for (const auto& one : told) one();
  }
  std::vector<std::string> lines() { return lines_.Take(); }

 private:
  std::atomic<bool> suspended_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
  absl::Status no_room_;
  Lines lines_;
};

class DurableJobsTest : public EngineTest {
 protected:
  DurableJobsTest() { options_.job_log = log_; }
  ~DurableJobsTest() override { log_->Written(); }

  JobRequest Named(const std::string& request_id) {
    JobRequest request = Request("copy");
    request.request_id = request_id;
    return request;
  }
  std::shared_ptr<Job> Accept(JobRequest request) {
    const absl::StatusOr<Engine::Accepted> accepted = engine_->Accept(kAlice, std::move(request));
    EXPECT_TRUE(accepted.ok()) << accepted.status();
    return accepted->job;
  }
  void AwaitEndOf(const Job& job) {
    ASSERT_TRUE(Eventually([&] { return log_->HasEnd(); }));
    EXPECT_EQ(StateOf(job.id), JobState::kRunning) << "it is not told before it is written";
    log_->Written();
    EXPECT_TRUE(IsEnd(StateOf(job.id)));
  }
  static RestoredJob Restored(std::uint64_t number, std::vector<StateChange> changes) {
    RestoredJob job;
    job.number = number;
    job.owner = kAlice;
    job.request = Request("copy");
    job.changes = std::move(changes);
    return job;
  }
  StateChange Change(std::uint64_t sequence, JobState state) { return {sequence, state, clock_.WallNow(), ""}; }
  std::vector<std::uint64_t> SequencesOf(const JobId& id) {
    std::vector<std::uint64_t> sequences;
    const JobSnapshot job = engine_->Get(kRoot, id).value();
    for (const StateChange& change : job.changes) sequences.push_back(change.sequence);
    return sequences;
  }

  const std::shared_ptr<SlowLog> log_ = std::make_shared<SlowLog>();
};

TEST_F(DurableJobsTest, NobodySeesAJobBeforeItIsAcknowledged) {
  Start();
  const std::shared_ptr<Job> job = Accept(Named("mine"));
  EXPECT_TRUE(absl::IsNotFound(engine_->Get(kRoot, job->id).status()));
  EXPECT_TRUE(absl::IsNotFound(engine_->Cancel(kRoot, job->id).status()));
  EXPECT_THAT(engine_->List(kRoot, {}), IsEmpty());
  const absl::Status again = engine_->Accept(kAlice, Named("mine")).status();
  EXPECT_TRUE(absl::IsUnavailable(again)) << again;
  EXPECT_THAT(Text(again), HasSubstr("\"mine\" came before, and is being written down"));
  engine_->Acknowledge(*job);
  AwaitEndOf(*job);
  EXPECT_THAT(log_->lines(), ElementsAre("submitted", "started", "end 3", "completed"));
  EXPECT_EQ(engine_->Accept(kAlice, Named("mine"))->id, job->id);
}

TEST_F(DurableJobsTest, AJobThatIsWithdrawnNeverWas) {
  options_.queued_jobs = 1;
  Start();
  const std::shared_ptr<Job> job = Accept(Named("mine"));
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->Accept(kAlice, Named("another")).status())) << "it has the place";
  engine_->Withdraw(*job);
  EXPECT_TRUE(absl::IsNotFound(engine_->Get(kRoot, job->id).status()));
  EXPECT_EQ(engine_->Status().idle, nanoseconds::zero());
  const std::shared_ptr<Job> next = Accept(Named("mine"));
  ASSERT_NE(next, nullptr);
  engine_->Acknowledge(*next);
  AwaitEndOf(*next);
}

TEST_F(DurableJobsTest, AJobThatMustNotRunTwiceIsWrittenDownBeforeItRuns) {
  Start();
  JobRequest request = Request("copy");
  request.may_rerun = false;
  const std::shared_ptr<Job> job = Accept(std::move(request));
  engine_->Acknowledge(*job);
  AwaitEndOf(*job);
  EXPECT_THAT(log_->lines(), ElementsAre("submitted", "start 2", "started", "end 3", "completed"));
}

TEST_F(DurableJobsTest, AJobForWhoseOutputsThereIsNoRoomFailsWhenTheyAreKnown) {
  bodies_["some"] = [this](const Task& task, TaskControl& control) {
    gate_.Enter();
    *task.call.outputs[0].actual_size = 2;
    return CopyBody(task, control);
  };
  Start();
  const std::shared_ptr<Job> first = Accept(Request("some", {1, 2, 3}));
  engine_->Acknowledge(*first);
  JobRequest taking = Request("copy");
  taking.inputs = {{.name = "x", .signature = {}, .source = OutputOf{JobRef{first->id}, "y"}}};
  const std::shared_ptr<Job> second = Accept(std::move(taking));
  engine_->Acknowledge(*second);
  log_->HasNoRoom(absl::ResourceExhaustedError("its limit quota-bytes is 7"));
  gate_.Open();
  ASSERT_TRUE(Eventually([&] { return log_->HasEnd(); }));
  log_->Written();
  ASSERT_TRUE(Eventually([&] {
    log_->Written();
    return IsEnd(StateOf(second->id));
  }));
  const JobSnapshot failed = engine_->Get(kRoot, second->id).value();
  EXPECT_EQ(failed.state, JobState::kFailed);
  EXPECT_EQ(Text(failed.end->error), "its limit quota-bytes is 7");
  EXPECT_THAT(log_->lines(), ::testing::Contains("reserve 8"));
}

TEST_F(DurableJobsTest, TheEndOfADaemonLeavesThemAsTheyAre) {
  bodies_["copy"] = Cancellable();
  options_.log = nullptr;
  AddDevice({.lanes = 1});
  Start();
  const std::shared_ptr<Job> runs = Accept(Request("copy")), waits = Accept(Request("copy"));
  engine_->Acknowledge(*runs);
  ASSERT_TRUE(gate_.AwaitEntered(1));
  engine_->Acknowledge(*waits);
  EXPECT_FALSE(engine_->Drain(nanoseconds::zero(), "the allocation ends"));
  EXPECT_EQ(StateOf(runs->id), JobState::kRunning);
  EXPECT_EQ(StateOf(waits->id), JobState::kPending);
  EXPECT_FALSE(log_->HasEnd());
  gate_.Open();
  engine_.reset();  // here: the fixture would wait for jobs that stay as they are
}

TEST_F(DurableJobsTest, WhatWaitedIsQueuedAgainAndItsStoryGoesOn) {
  Start();
  EXPECT_TRUE(engine_
                  ->Restore(Restored(70, {Change(1, JobState::kPending), Change(2, JobState::kRunning),
                                          Change(3, JobState::kPending)}))
                  .ok());
  const JobId id("70");
  ASSERT_TRUE(Eventually([&] { return log_->HasEnd(); }));
  log_->Written();
  EXPECT_EQ(StateOf(id), JobState::kCompleted);
  EXPECT_THAT(SequencesOf(id), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(log_->lines(), ElementsAre("reserve 12", "started", "end 5", "completed"));
  // A watcher who knew all but the end is told that.
  const auto watcher = std::make_shared<Recorder>();
  EXPECT_TRUE(engine_->Watch(kAlice, id, 5, watcher, 7).ok());
  EXPECT_THAT(watcher->states(7), ElementsAre(JobState::kCompleted));
}

TEST_F(DurableJobsTest, WhatCannotRunHereFailsWithTheReason) {
  Start();
  RestoredJob job = Restored(71, {Change(1, JobState::kPending), Change(2, JobState::kRunning)});
  job.refusal = absl::AbortedError("it ran before");
  EXPECT_TRUE(engine_->Restore(std::move(job)).ok());
  RestoredJob unknown = Restored(72, {Change(1, JobState::kPending)});
  unknown.request.kernel = "gone";
  EXPECT_TRUE(engine_->Restore(std::move(unknown)).ok());
  log_->Written();
  for (const auto& [id, why] : {std::pair("71", "it ran before"), {"72", "gone"}}) {
    const absl::StatusOr<JobSnapshot> failed = engine_->Get(kRoot, JobId(id));
    ASSERT_TRUE(failed.ok()) << failed.status();
    EXPECT_EQ(failed->state, JobState::kFailed);
    EXPECT_THAT(Text(failed->end->error), HasSubstr(why));
  }
  EXPECT_EQ(engine_->Get(kRoot, JobId("72"))->kernel, "gone");
}

TEST_F(DurableJobsTest, WhatWasCancelledBeforeDoesNotRun) {
  Start();
  RestoredJob job = Restored(74, {Change(1, JobState::kPending), Change(2, JobState::kRunning)});
  job.refusal = absl::CancelledError("was cancelled on request");
  EXPECT_TRUE(engine_->Restore(std::move(job)).ok());
  log_->Written();
  const absl::StatusOr<JobSnapshot> cancelled = engine_->Get(kRoot, JobId("74"));
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->state, JobState::kCancelled);
  EXPECT_EQ(Text(cancelled->end->error), "was cancelled on request");
}

TEST_F(DurableJobsTest, AnEndOfBeforeCanBeFetched) {
  Start();
  RestoredJob job =
      Restored(73, {Change(1, JobState::kPending), Change(2, JobState::kRunning), Change(3, JobState::kCompleted)});
  JobEnd end{.state = JobState::kCompleted, .error = {}, .outputs = {}, .receipt = {}};
  end.written_receipt = "as it was";
  job.end = std::make_shared<const JobEnd>(std::move(end));
  EXPECT_TRUE(engine_->Restore(std::move(job)).ok());
  const absl::StatusOr<JobSnapshot> fetched = engine_->Fetch(kAlice, JobId("73"));
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(fetched->end->written_receipt, "as it was");
  EXPECT_THAT(log_->lines(), ElementsAre("fetched"));
  EXPECT_EQ(engine_->Status().pending, 0U);
}

}  // namespace
}  // namespace hotplate::core::testing
