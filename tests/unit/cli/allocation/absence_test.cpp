// How long one who has lost a daemon waits for its job to start another one, and how that job is known.
#include "client/cli/allocation/absence.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <sstream>

#include "client/cli/terminal/output.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using Phase = JobStatus::Phase;

FoundAllocation In(Phase phase, bool has_record = false) {
  return {.note = {.name = "lab-7", .job = {"7", ""}}, .status = JobStatus{.phase = phase}, .has_record = has_record};
}

FoundAllocation WithoutAnswer() {
  FoundAllocation found = In(Phase::kForgotten);
  found.status = absl::UnavailableError("slurm_load_jobs error");
  return found;
}

TEST(NextStartTest, AJobThatWaitsIsWaitedForWhateverItTakes) {
  NextStart next;
  for (int look = 0; look < 5; ++look) EXPECT_TRUE(next.Expected(In(Phase::kPending))) << look;
}

// Top ended in the seconds between a requeued job's start and its daemon's record.
TEST(NextStartTest, OneThatHasJustLeftTheQueueIsGivenTimeOnce) {
  NextStart next;
  EXPECT_TRUE(next.Expected(In(Phase::kPending)));
  EXPECT_TRUE(next.Expected(In(Phase::kRunning, /*has_record=*/true))) << "of the daemon that was killed";
  EXPECT_FALSE(next.Expected(In(Phase::kRunning)));
  // And again after the next requeue.
  EXPECT_TRUE(next.Expected(In(Phase::kPending)));
  EXPECT_TRUE(next.Expected(In(Phase::kRunning)));
  EXPECT_FALSE(next.Expected(In(Phase::kRunning)));
}

TEST(NextStartTest, OneThatWasNeverSeenToWaitMayHaveStartedAgainAllTheSame) {
  NextStart next;
  EXPECT_TRUE(next.Expected(In(Phase::kRunning)));
  EXPECT_FALSE(next.Expected(In(Phase::kRunning)));
  EXPECT_FALSE(NextStart().Expected(In(Phase::kRunning, /*has_record=*/true))) << "it is there, and cannot be reached";
}

TEST(NextStartTest, OneThatIsEndingMayBePutIntoTheQueueAgain) {
  NextStart next;
  EXPECT_TRUE(next.Expected(In(Phase::kEnding)));
  EXPECT_FALSE(next.Expected(In(Phase::kEnding)));
}

TEST(NextStartTest, ASchedulerThatDoesNotAnswerEndsAWaitOnlyLater) {
  NextStart next;
  EXPECT_FALSE(next.Expected(WithoutAnswer()));
  EXPECT_TRUE(next.Expected(In(Phase::kPending)));
  EXPECT_TRUE(next.Expected(WithoutAnswer()));
  EXPECT_FALSE(next.Expected(WithoutAnswer()));
}

TEST(NextStartTest, WhatIsOverIsNotWaitedFor) {
  EXPECT_FALSE(NextStart().Expected(std::nullopt));
  EXPECT_FALSE(NextStart().Expected(In(Phase::kEnded)));
  EXPECT_FALSE(NextStart().Expected(In(Phase::kForgotten)));
  FoundAllocation alone = In(Phase::kRunning);
  alone.daemon_ended = true;
  EXPECT_FALSE(NextStart().Expected(alone));
  FoundAllocation over = In(Phase::kPending);
  over.note.end_state = "COMPLETED";
  EXPECT_FALSE(NextStart().Expected(over));
}

// Of a job that was submitted by sbatch there is no note, and a daemon that is requeued takes its record away: top gave
// it up, though it waited in the queue.
TEST(LookForLostTest, ByTheRecordOfTheConnectionAlone) {
  const TemporaryFolder folder;
  const auto program = [&](const std::string& name, const std::string& says) {
    const std::string path = folder.Write("bin/" + name, "#!/bin/sh\necho '" + says + "'\n");
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  };
  program("scontrol", "ClusterName             = lab");
  program("squeue", "41|PENDING|1795292833|1795293133||" + UserNumber() + "|BeginTime");
  const Environment environment = [&](const std::string& name) {
    return name == "PATH" ? std::optional(folder.File("bin")) : std::nullopt;
  };
  const auto arguments = ParseArguments({}, {});
  ASSERT_TRUE(arguments.ok());
  std::ostringstream out, err;
  Console console{out, err};
  const auto output = MakeOutput(OutputForm::kPeople, console);
  const Settings settings{.directory = folder.File("hotplate")};
  v1::EndpointRecord connected;
  const Command command{.name = "top", .group = Group::kDevices, .summary = "", .example = ""};
  const std::vector<std::string> words;
  const Invocation call{command, words, *arguments, settings, environment, console, *output, connected};
  EXPECT_FALSE(LookForLost(call)) << "nobody was connected to anything";

  connected.set_name("lab-41");
  connected.set_cluster("lab");
  connected.set_slurm_job_id("41");
  const auto found = LookForLost(call);
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->status.ok()) << found->status.status();
  EXPECT_EQ(found->note.job.id, "41");
  EXPECT_EQ(found->status->phase, Phase::kPending);
  EXPECT_TRUE(NextStart().Expected(found));
}

}  // namespace
}  // namespace hotplate::cli
