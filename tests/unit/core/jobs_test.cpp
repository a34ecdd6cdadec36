// The jobs alone, without a scheduler or lanes: the log, the observers, the refusals.
#include "server/core/jobs/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/jobs/make_job.h"
#include "tests/unit/core/fakes.h"

namespace hotplate::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = JobEvent::Kind;

// One list of what was written down and what was told.
class Story : public JobLog, public JobObserver {
 public:
  void Append(const Job&, const JobEvent& event) override { Add("log: " + std::string(Name(event.kind))); }
  void WriteStart(const Job&, const JobEvent&, std::uint64_t) override {}
  void WriteEnd(std::shared_ptr<const Job>, const JobEvent&, std::uint64_t, std::function<void()> told) override {
    told();
  }
  void WriteTasks(const Job&, TaskRows) override {}
  void Suspend() override {}
  void Stop() override {}
  void OnChange(const JobId&, std::uint64_t, const StateChange& change, const std::shared_ptr<const JobEnd>&) override {
    Add("told: " + std::string(Name(change.state)));
  }
  void OnProgress(const JobId&, std::uint64_t, const JobProgress&) override { Add("told: progress"); }
  void OnNotice(const std::string& text, std::optional<double>) override { Add("told: " + text); }

  std::vector<std::string> lines() {
    std::scoped_lock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  void Add(std::string line) {
    std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class JobsTest : public ::testing::Test {
 protected:
  std::shared_ptr<Job> NewJob(const std::string& request_id = "", bool attached = false) {
    JobRequest request = Request("copy");
    request.request_id = request_id;
    request.attached = attached;
    request.time_limit = std::chrono::seconds(5);
    absl::StatusOr<BoundJob> bound = binder_.Bind(kAlice, request, Binder::Data::kRequired, {});
    EXPECT_TRUE(bound.ok()) << bound.status();
    std::shared_ptr<Job> job =
        MakeJob(kAlice, request, *std::move(bound), JobTable::RequestKey("alice", request_id), 1 << 20);
    job->session = *sessions_.BeginJob(kAlice.session);
    return job;
  }
  std::shared_ptr<Job> Submit(const std::string& request_id = "", bool attached = false) {
    const auto job = jobs_.Insert(NewJob(request_id, attached), story_, 1);
    EXPECT_TRUE(job.ok()) << job.status();
    return *job;
  }
  static JobEnd Cancelled() {
    return {.state = JobState::kCancelled, .error = absl::CancelledError("by the test"), .outputs = {}, .receipt = {}};
  }

  FakeClock clock_;
  const LogSink log_;
  const std::vector<std::unique_ptr<Device>> devices_ = [] {
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(
        std::make_unique<FakeDevice>(FakeDeviceOptions(), std::map<std::string, KernelBody>{{"copy", CopyBody}}));
    return devices;
  }();
  ArrayStore arrays_{{.total_bytes = 1 << 20}, clock_};
  const Binder binder_{FakeCatalog(), arrays_, devices_};
  Sessions sessions_{
      {.sessions = 10, .streams = 10, .timeout = std::chrono::hours(1), .grace = {}}, arrays_, clock_, log_};
  const std::shared_ptr<Story> story_ = std::make_shared<Story>();
  Jobs jobs_{{.retention = {std::chrono::hours(1), 100, 1 << 20},
              .disconnect_grace = std::chrono::seconds(10),
              .first_numbers = {},
              .claim_numbers = nullptr,
              .log = story_},
             sessions_,
             arrays_,
             clock_,
             log_};
};

TEST_F(JobsTest, TheLogHearsOfEachEventBeforeAnybodyElse) {
  const std::shared_ptr<Job> job = Submit();
  EXPECT_THAT(story_->lines(), ElementsAre("log: submitted"));
  jobs_.TellLate();
  EXPECT_THAT(story_->lines(), ElementsAre("told: PENDING"));
  jobs_.Started(*job, "cpu0", clock_.Now());
  jobs_.TellLate();
  EXPECT_THAT(story_->lines(), ElementsAre("log: started", "told: RUNNING"));
  EXPECT_TRUE(jobs_.RequestCancel(*job, "was cancelled"));
  EXPECT_THAT(story_->lines(), ElementsAre("log: cancel requested"));
  jobs_.End(*job, Cancelled());
  EXPECT_THAT(story_->lines(), ElementsAre("log: cancelled", "told: CANCELLED"));
  jobs_.Fetch(*job);
  EXPECT_THAT(story_->lines(), ElementsAre("log: fetched"));
}

TEST_F(JobsTest, WhatIsRefusedIsNotWrittenDown) {
  const std::shared_ptr<Job> job = Submit();
  jobs_.End(*job, Cancelled());
  story_->lines();
  EXPECT_FALSE(jobs_.RequestCancel(*job, "was cancelled"));
  jobs_.End(*job, Cancelled());
  jobs_.Started(*job, "cpu0", clock_.Now());
  EXPECT_THAT(story_->lines(), IsEmpty());
}

TEST_F(JobsTest, OneRequestIdIsOneJob) {
  const std::shared_ptr<Job> first = Submit("once");
  const auto second = jobs_.Insert(NewJob("once"), story_, 2);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, first);
  EXPECT_EQ(jobs_.Active().size(), 1u);
}

TEST_F(JobsTest, NoJobComesInOnceTheDaemonDrains) {
  const std::shared_ptr<Job> job = Submit();
  EXPECT_FALSE(jobs_.RefuseIfIdleSince(clock_.Now(), "idle")) << "there is a job";
  jobs_.End(*job, Cancelled());
  EXPECT_FALSE(jobs_.RefuseIfIdleSince(clock_.Now() - std::chrono::seconds(1), "idle")) << "it has just ended";
  EXPECT_TRUE(jobs_.RefuseIfIdleSince(clock_.Now(), "idle"));
  const auto refused = jobs_.Insert(NewJob(), nullptr, 0);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(JobsTest, ATimeLimitIsReachedOnce) {
  const std::shared_ptr<Job> job = Submit();
  jobs_.Look(*job);
  EXPECT_FALSE(jobs_.StandingOf(*job).time_limit_reached) << "it waits";
  jobs_.Started(*job, "cpu0", clock_.Now());
  story_->lines();
  clock_.Advance(std::chrono::seconds(5));
  jobs_.Look(*job);
  jobs_.Look(*job);
  EXPECT_THAT(story_->lines(), ElementsAre("log: time limit reached"));
  EXPECT_TRUE(job->control.cancel_requested());
}

TEST_F(JobsTest, AClientHasTheGraceToComeBack) {
  const std::shared_ptr<Job> job = Submit("again", /*attached=*/true);
  EXPECT_THAT(jobs_.Unsubscribe(story_, OnDisconnect::kCancelAfterGrace), IsEmpty());
  EXPECT_THAT(jobs_.GraceOver(), IsEmpty());
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_THAT(jobs_.GraceOver(), ElementsAre(job));
  EXPECT_THAT(jobs_.GraceOver(), IsEmpty());
}

TEST_F(JobsTest, EveryEndIsTrueOnceItIsAwaited) {
  const std::shared_ptr<Job> job = Submit();
  const auto none = [](const Job&) { return false; };
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(1); };
  EXPECT_FALSE(jobs_.AwaitEnds(soon(), none));
  EXPECT_TRUE(jobs_.AwaitEnds(soon(), [](const Job&) { return true; }));
  jobs_.End(*job, Cancelled());
  EXPECT_TRUE(jobs_.AwaitEnds(soon(), none));
}

}  // namespace
}  // namespace hotplate::core::testing
