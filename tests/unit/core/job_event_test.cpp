#include "server/core/jobs/job_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hotplate::core {
namespace {

using ::testing::HasSubstr;
constexpr JobState kStates[] = {JobState::kPending, JobState::kRunning,   JobState::kCompleted,
                                JobState::kFailed,  JobState::kCancelled, JobState::kTimeout};
constexpr JobTransition kTransitions[] = {JobTransition::kStart, JobTransition::kComplete, JobTransition::kFail,
                                          JobTransition::kCancel, JobTransition::kExpire};

// The whole table, written out: everything that is not here must be refused.
const std::map<std::pair<JobState, JobTransition>, JobState> kAllowed = {
    {{JobState::kPending, JobTransition::kStart}, JobState::kRunning},
    {{JobState::kPending, JobTransition::kCancel}, JobState::kCancelled},
    {{JobState::kPending, JobTransition::kFail}, JobState::kFailed},
    {{JobState::kRunning, JobTransition::kComplete}, JobState::kCompleted},
    {{JobState::kRunning, JobTransition::kFail}, JobState::kFailed},
    {{JobState::kRunning, JobTransition::kCancel}, JobState::kCancelled},
    {{JobState::kRunning, JobTransition::kExpire}, JobState::kTimeout},
};

TEST(JobStateTest, EveryTransitionOfEveryState) {
  for (const JobState state : kStates) {
    for (const JobTransition transition : kTransitions) {
      const absl::StatusOr<JobState> next = Apply(state, transition);
      const auto allowed = kAllowed.find({state, transition});
      if (allowed != kAllowed.end()) {
        ASSERT_TRUE(next.ok()) << Name(state) << " " << Name(transition);
        EXPECT_EQ(*next, allowed->second) << Name(state) << " " << Name(transition);
      } else {
        EXPECT_EQ(next.status().code(), absl::StatusCode::kFailedPrecondition)
            << Name(state) << " " << Name(transition);
        EXPECT_THAT(std::string(next.status().message()), HasSubstr(std::string(Name(state))));
        EXPECT_THAT(std::string(next.status().message()), HasSubstr(std::string(Name(transition))));
      }
    }
  }
}

TEST(JobStateTest, EndsAreWhatNothingLeaves) {
  for (const JobState state : kStates) {
    bool leaves = false;
    for (const JobTransition transition : kTransitions) leaves |= Apply(state, transition).ok();
    EXPECT_EQ(IsEnd(state), !leaves) << Name(state);
  }
}

TEST(JobStateTest, NamesAreSlurms) {
  EXPECT_EQ(Name(JobState::kPending), "PENDING");
  EXPECT_EQ(Name(JobState::kRunning), "RUNNING");
  EXPECT_EQ(Name(JobState::kCompleted), "COMPLETED");
  EXPECT_EQ(Name(JobState::kFailed), "FAILED");
  EXPECT_EQ(Name(JobState::kCancelled), "CANCELLED");
  EXPECT_EQ(Name(JobState::kTimeout), "TIMEOUT");
}

}  // namespace
}  // namespace hotplate::core
