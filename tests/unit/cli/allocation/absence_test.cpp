// How long one who has lost a daemon waits for its job to start another one.
#include "client/cli/allocation/absence.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hotplate::cli
