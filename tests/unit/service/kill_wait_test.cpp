// What Slurm leaves between TERM and KILL, and how the daemon divides it.
#include "server/slurm/kill_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <vector>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(KillWaitTest, OneRowOfTheConfiguration) {
  EXPECT_EQ(KillWaitOf({{"KillOnBadExit", "0"}, {"KillWait", "30 sec"}, {"Launch", "x"}}).value(), seconds(30));
  EXPECT_EQ(KillWaitOf({{"KillWait", "0 sec"}}).value(), seconds(0));
}

TEST(KillWaitTest, WhatIsNoKillWaitIsQuoted) {
  EXPECT_EQ(KillWaitOf({{"UnkillableStepTimeout", "60 sec"}}).status().code(), absl::StatusCode::kNotFound);
  for (const char* text : {"INFINITE", "30", "-1 sec", "99999999 sec", "99999999999999999999 sec", ""}) {
    EXPECT_THAT(std::string(KillWaitOf({{"KillWait", text}}).status().message()),
                HasSubstr("KillWait in seconds, but \"" + std::string(text) + "\""));
  }
}

class AskKillWaitTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  void Scontrol(const std::string& script) { chmod(folder_.Write("scontrol", "#!/bin/sh\n" + script).c_str(), 0700); }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(AskKillWaitTest, AsksThisNodesCluster) {
  setenv("SLURM_CLUSTERS", "another", 1);
  Scontrol("echo \"$* $SLURM_CLUSTERS\" >" + folder_.File("words") + "; echo 'KillWait = 7 sec'\n");
  const auto wait = AskKillWait({});
  unsetenv("SLURM_CLUSTERS");
  ASSERT_TRUE(wait.ok()) << wait.status();
  EXPECT_EQ(*wait, seconds(7));
  EXPECT_EQ(ReadText(folder_.File("words")), "show config \n");
}

TEST_F(AskKillWaitTest, ItsOwnWordsWhenItFails) {
  Scontrol("echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1\n");
  EXPECT_THAT(std::string(AskKillWait({}).status().message()), HasSubstr("Unable to contact"));
}

TEST(KillWaitTriesTest, AFewWithMoreAndMoreTimeBetween) {
  using std::chrono::minutes;
  KillWaitTries tries;
  const core::SteadyTime start{};
  std::vector<int> due;
  for (int minute = 0; minute < 1000; ++minute) {
    for (int i = 0; i < 2; ++i) {
      if (tries.Due(start + minutes(minute))) due.push_back(minute);
    }
  }
  EXPECT_THAT(due, testing::ElementsAre(0, 1, 5, 21, 85));
}

TEST(LastMomentsTest, AllOfThemAreWithinTheKillWait) {
  for (const int wait : {1, 2, 5, 10, 30, 60, 600, 65533}) {
    const LastMoments moments = Divide(seconds(wait));
    // Jobs, arrays and the goodbye, what goes on after them, and then the record.
    const core::nanoseconds all = moments.jobs + moments.after + moments.goodbye + moments.resort + moments.last;
    EXPECT_EQ(moments.all(), all) << wait;
    EXPECT_LE(all, core::nanoseconds(seconds(wait)) * 5 / 6) << wait;
    EXPECT_GT(moments.jobs, seconds(wait) / 2) << wait;
    for (const core::nanoseconds part : {moments.after, moments.goodbye, moments.resort, moments.last}) {
      EXPECT_GT(part, core::nanoseconds(0)) << wait;
    }
  }
  EXPECT_LE(Divide(seconds(30)).all(), seconds(25));
  EXPECT_LT(Divide(seconds(5)).all(), seconds(5));
}

TEST(LastMomentsTest, AreWhatTheyAreSaidToBe) {
  EXPECT_EQ(Divide(seconds(30)).jobs, std::chrono::milliseconds(18500));
  EXPECT_EQ(Divide(seconds(30)).after, seconds(2));
  EXPECT_EQ(Divide(seconds(0)).jobs, Divide(seconds(1)).jobs);
}

TEST(LastMomentsTest, WhereNobodyKillsAreLessThanTheMarginBeforeTheAllocationsEnd) {
  const LastMoments moments = Divide(kSlurmKillWait);
  EXPECT_LT(moments.after + moments.goodbye + 3 * moments.resort + moments.last, seconds(15));
}

}  // namespace
}  // namespace hotplate::server
