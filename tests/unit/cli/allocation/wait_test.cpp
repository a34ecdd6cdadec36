// The wait for an allocation's daemon, with a scheduler and a clock of the test's own.
#include "client/cli/allocation/wait.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <deque>
#include <sstream>

#include "client/cli/terminal/console.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using End = AllocationWait::End;
using Phase = JobStatus::Phase;
using std::chrono::milliseconds;
using std::chrono::seconds;

JobStatus Pending(const std::string& reason) {
  return {.phase = Phase::kPending, .state = "PENDING", .reason = reason};
}
JobStatus Running() { return {.phase = Phase::kRunning, .state = "RUNNING", .nodes = "gpu1"}; }

// Tells one state after the other; the last one stays.
class FakeScheduler : public Scheduler {
 public:
  std::string Name() const override { return "Slurm"; }
  std::string CheckedBy() const override { return ""; }
  absl::Status Check(const std::string&) override { return absl::OkStatus(); }
  absl::StatusOr<SchedulerJob> Submit(const std::string&) override { return SchedulerJob{"7", ""}; }
  absl::StatusOr<JobStatus> State(const SchedulerJob&) override {
    ++questions;
    const auto state = states.front();
    if (states.size() > 1) states.pop_front();
    return state;
  }
  absl::Status Cancel(const SchedulerJob&) override { return absl::OkStatus(); }
  std::string ClusterName() override { return "fake"; }
  absl::StatusOr<std::vector<std::string>> InsideJob(const SchedulerJob&,
                                                     const std::vector<std::string>& words) override {
    return words;
  }
  std::string LookCommand(const SchedulerJob&) const override { return "squeue"; }

  std::deque<absl::StatusOr<JobStatus>> states;
  int questions = 0;
};

class WaitTest : public testing::Test {
 protected:
  WaitTest() {
    note_.name = "fake-7";
    note_.job = {"7", ""};
  }

  AllocationWait::Result Run(std::optional<std::chrono::nanoseconds> timeout = std::nullopt) {
    Console console{out_, err_};
    WaitingLine line(console, true, [this] { return now_; });
    const AllocationWait wait{.scheduler = scheduler_,
                              .note = note_,
                              .directory = folder_.path(),
                              .line = line,
                              .ask = [this](const std::string&) { return answer_; },
                              .pause =
                                  [this](milliseconds longest) {
                                    now_ += longest;
                                    if (at_pause_) at_pause_(now_ - begin_);
                                    return now_ - begin_ < interrupt_;
                                  },
                              .starter_ended = [this] { return starter_ended_; },
                              .now = [this] { return now_; }};
    return wait.Run(timeout ? std::optional(now_ + *timeout) : std::nullopt);
  }

  void Publish(const std::string& job) {
    const std::string path =
        folder_.Write("servers/fake-7.json",
                      "{\"schema_version\":1,\"name\":\"fake-7\",\"slurm_job_id\":\"" + job +
                          "\",\"endpoints\":[{\"node\":\"gpu1\",\"address\":\"10.0.0.1\",\"port\":4000}],\"token\":\"" +
                          std::string(64, 'a') + "\"}");
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(chmod(folder_.File("servers").c_str(), 0700), 0);
  }
  void Serve() {
    v1::GetServerInfoResponse info;
    info.set_state(v1::SERVING);
    info.set_node("gpu1");
    answer_ = info;
  }

  const TemporaryFolder folder_;
  FakeScheduler scheduler_;
  AllocationNote note_;
  std::ostringstream out_, err_;
  const AllocationWait::Steady::time_point begin_{};
  AllocationWait::Steady::time_point now_ = begin_;
  std::chrono::nanoseconds interrupt_ = std::chrono::hours(100);
  absl::StatusOr<v1::GetServerInfoResponse> answer_ = absl::UnavailableError("connection refused");
  std::optional<int> starter_ended_;
  std::function<void(std::chrono::nanoseconds)> at_pause_;
};

TEST_F(WaitTest, FromTheQueueToReady) {
  scheduler_.states = {Pending("None"), Pending("Priority"), Pending("Priority"), Running()};
  at_pause_ = [&](std::chrono::nanoseconds waited) {
    if (waited > seconds(20)) {
      Serve();
      Publish("7");
    }
  };
  const auto result = Run();
  EXPECT_EQ(result.end, End::kReady);
  EXPECT_EQ(result.info.node(), "gpu1");
  EXPECT_LT(now_ - begin_, seconds(21)) << "the record is looked for often";
  EXPECT_LT(scheduler_.questions, 20) << "Slurm is asked seldom";
  EXPECT_THAT(err_.str(), HasSubstr("  job 7  PENDING  (Priority)\n"));
  EXPECT_EQ(err_.str().find("(Priority)"), err_.str().rfind("(Priority)")) << "in a pipe a change is said once";
  EXPECT_THAT(err_.str(), HasSubstr("  job 7  RUNNING  on gpu1  STARTING\n"));
}

TEST_F(WaitTest, AnotherJobsRecordOfThatNameIsNotTheDaemon) {
  scheduler_.states = {
      Running(), Running(), Running(),
      JobStatus{.phase = Phase::kEnded, .state = "FAILED", .reason = "NonZeroExitCode", .nodes = "gpu1"}};
  Serve();
  Publish("6");
  const auto result = Run();
  EXPECT_EQ(result.end, End::kOver);
  EXPECT_EQ(result.status.state, "FAILED");
}

TEST_F(WaitTest, AJobThatTheSchedulerDoesNotKnowYetIsNotOver) {
  scheduler_.states = {JobStatus{}, JobStatus{}, Pending("None"), Running()};
  at_pause_ = [&](std::chrono::nanoseconds waited) {
    if (waited > seconds(10)) {
      Serve();
      Publish("7");
    }
  };
  EXPECT_EQ(Run().end, End::kReady);
  scheduler_.states = {JobStatus{}};
  answer_ = absl::UnavailableError("gone");
  at_pause_ = nullptr;
  EXPECT_EQ(Run().end, End::kOver) << "but one that stays unknown is";
}

TEST_F(WaitTest, ASchedulerThatDoesNotAnswerIsWaitedFor) {
  scheduler_.states = {absl::UnavailableError("Unable to contact slurm controller"), Pending("Resources"),
                       absl::UnavailableError("Unable to contact slurm controller"), Running()};
  at_pause_ = [&](std::chrono::nanoseconds waited) {
    if (waited > seconds(30)) {
      Serve();
      Publish("7");
    }
  };
  EXPECT_EQ(Run().end, End::kReady);
  EXPECT_THAT(err_.str(), HasSubstr("Slurm does not answer: Unable to contact slurm controller"));
}

TEST_F(WaitTest, ADaemonThatCannotBeReached) {
  scheduler_.states = {Running()};
  Publish("7");
  const auto result = Run();
  EXPECT_EQ(result.end, End::kUnreachable);
  EXPECT_THAT(std::string(result.why.message()), HasSubstr("connection refused"));
  EXPECT_THAT(err_.str(), HasSubstr("  ! its daemon has started but cannot be reached from here yet: connection"));
  EXPECT_EQ(err_.str().find("so far"), err_.str().rfind("so far")) << "once";
  answer_ = absl::PermissionDeniedError("others can read the record");
  now_ = begin_;
  EXPECT_EQ(Run().end, End::kUnreachable);
  EXPECT_LT(now_ - begin_, seconds(5)) << "that will not get better";
}

TEST_F(WaitTest, ANodeThatDoesNotSeeTheFolder) {
  scheduler_.states = {Running()};
  note_.output_file = "/home/ada/out";
  EXPECT_EQ(Run(seconds(25)).end, End::kTimeout);
  EXPECT_THAT(err_.str(), Not(HasSubstr("no record in")));
  EXPECT_EQ(Run(std::chrono::minutes(10)).end, End::kTimeout);
  EXPECT_THAT(err_.str(), HasSubstr("no record in " + folder_.path() + "/servers yet"));
  EXPECT_THAT(err_.str(), HasSubstr("/home/ada/out"));
  EXPECT_EQ(err_.str().find("no record in"), err_.str().rfind("no record in")) << "once";
  EXPECT_LT(scheduler_.questions, 80) << "Slurm is asked seldom";
}

TEST_F(WaitTest, TheRecordIsKnownByItsJobWhateverItsName) {
  scheduler_.states = {Running()};
  note_.name = "slurm-7";
  Serve();
  Publish("7");
  const auto result = Run();
  EXPECT_EQ(result.end, End::kReady);
  EXPECT_EQ(result.name, "fake-7");
}

TEST_F(WaitTest, OneThatIsEndingIsNotRunning) {
  scheduler_.states = {JobStatus{.phase = Phase::kEnding, .state = "COMPLETING"},
                       JobStatus{.phase = Phase::kEnded, .state = "FAILED"}};
  EXPECT_EQ(Run().end, End::kOver);
}

TEST_F(WaitTest, InterruptTimeoutAndAStarterThatEnds) {
  scheduler_.states = {Pending("Priority")};
  interrupt_ = seconds(3);
  EXPECT_EQ(Run().end, End::kInterrupted);
  interrupt_ = std::chrono::hours(100);
  now_ = begin_;
  const auto late = Run(seconds(5));
  EXPECT_EQ(late.end, End::kTimeout);
  EXPECT_EQ(late.status.reason, "Priority");
  starter_ended_ = 1;
  EXPECT_EQ(Run().end, End::kOver);
}

TEST_F(WaitTest, WhatWillNeverStartIsSaidOnce) {
  scheduler_.states = {Pending("PartitionTimeLimit")};
  EXPECT_EQ(Run(seconds(30)).end, End::kTimeout);
  const std::string said = err_.str();
  EXPECT_THAT(said, HasSubstr("it will not start"));
  EXPECT_EQ(said.find("it will not start"), said.rfind("it will not start"));
}

TEST(NextQuestionTest, SoonAtFirstThenSeldom) {
  EXPECT_LE(NextQuestion(milliseconds(0), Phase::kPending), milliseconds(500));
  EXPECT_EQ(NextQuestion(seconds(60), Phase::kPending), seconds(5));
  EXPECT_GE(NextQuestion(std::chrono::hours(2), Phase::kPending), seconds(30));
  EXPECT_LE(NextQuestion(milliseconds(0), Phase::kRunning), seconds(2));
  EXPECT_EQ(NextQuestion(std::chrono::hours(2), Phase::kRunning), seconds(15));
  EXPECT_EQ(NextQuestion(std::chrono::hours(2), Phase::kEnding), seconds(1));
}

TEST(WaitingLineTest, OnATerminalOneLineThatIsRedrawn) {
  std::ostringstream out, err;
  Console console{out, err, false, true};
  console.width = 60;
  WaitingLine::Time now{};
  {
    WaitingLine line(console, true, [&] { return now; });
    line.Show("PENDING", "", "job 7  PENDING");
    line.Show("PENDING", "Priority", "job 7  PENDING  (Priority)");
    now += seconds(3725);
    line.Tick();
    EXPECT_THAT(err.str(), HasSubstr("1:02:05"));
    EXPECT_THAT(err.str(), Not(HasSubstr("\n")));
    line.Show("RUNNING", "gpu1", "job 7  RUNNING  on gpu1");
    EXPECT_THAT(err.str(), HasSubstr("(Priority)\n")) << "what a phase ended with stays";
    line.Show("RUNNING", "gpu1", std::string(200, 'x'));
  }
  EXPECT_EQ(err.str().back(), '\n');
  EXPECT_THAT(err.str(), Not(HasSubstr(std::string(60, 'x')))) << "no line wraps";
}

TEST(WaitingLineTest, NothingIsSaidWhereOnlyTheAnswerIsWanted) {
  std::ostringstream out, err;
  Console console{out, err};
  WaitingLine line(console, false);
  line.Show("PENDING", "Priority", "job 7");
  line.Say("more");
  line.Tick();
  line.Keep();
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace hotplate::cli
