// Slurm's own output, as version 22.05.8 prints it, and what its commands are asked.
#include "kernels/base/slurm.h"

#include <gmock/gmock.h>

#include <ctime>

namespace hotplate {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

TEST(SlurmTest, SqueueOfEveryKind) {
  const std::string out =
      "7|FAILED|1795292533|1795292533||root|BadConstraints\n"
      "5|PENDING|1795292833|1795293133||root|Resources\n"
      "3|RUNNING|1795292533|1795292833|gpu1|root|None\n"
      "8|PENDING|N/A|N/A||ada|ReqNodeNotAvail, UnavailableNodes:gpu[1-2]|x\n"
      "9|RUNNING|1795292533|NONE|gpu[1-2]|ada|None\n";
  const auto failed = ParseSqueue(out, "7");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->state, "FAILED");
  EXPECT_EQ(failed->reason, "BadConstraints");
  EXPECT_EQ(failed->end, 1795292533);
  const auto pending = ParseSqueue(out, "5");
  ASSERT_TRUE(pending);
  EXPECT_EQ(pending->reason, "Resources");
  EXPECT_EQ(pending->start, 1795292833) << "the estimate";
  const auto running = ParseSqueue(out, "3");
  ASSERT_TRUE(running);
  EXPECT_EQ(running->nodes, "gpu1");
  EXPECT_EQ(running->reason, "");
  EXPECT_EQ(running->user, "root");
  EXPECT_EQ(ParseSqueue(out, "8")->reason, "ReqNodeNotAvail, UnavailableNodes:gpu[1-2]|x");
  EXPECT_FALSE(ParseSqueue(out, "8")->start);
  EXPECT_FALSE(ParseSqueue(out, "9")->end) << "a partition without a limit";
  EXPECT_FALSE(ParseSqueue(out, "33"));
  EXPECT_FALSE(ParseSqueue("17 1790000000\n", "17")) << "another format";
  EXPECT_FALSE(ParseSqueue("", "3"));
  EXPECT_TRUE(ParseSqueue("CLUSTER: snowy\n3|RUNNING|1795292533|1795292833|gpu1|root|None\n", "3"));
}

TEST(SlurmTest, Times) {
  EXPECT_EQ(ParseSlurmTime("1795292533"), 1795292533);
  std::tm time{};
  time.tm_year = 126, time.tm_mon = 10, time.tm_mday = 21, time.tm_hour = 20, time.tm_min = 22, time.tm_sec = 13;
  time.tm_isdst = -1;
  EXPECT_EQ(ParseSlurmTime("2026-11-21T20:22:13"), std::mktime(&time)) << "where SLURM_TIME_FORMAT is not known";
  for (const char* none :
       {"", "N/A", "Unknown", "NONE", "UNLIMITED", "0", "17952x", "-5", "99999999999999", "2026-11-21"})
    EXPECT_FALSE(ParseSlurmTime(none)) << none;
}

TEST(SlurmTest, Sacct) {
  const auto ended = ParseSacct("CANCELLED by 1001|None|1795292533|1795292540|gpu1|ada\n");
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->state, "CANCELLED");
  EXPECT_EQ(ended->end, 1795292540);
  EXPECT_FALSE(ParseSacct("Slurm accounting storage is disabled\n"));
  EXPECT_FALSE(ParseSacct(""));
}

TEST(SlurmTest, Config) {
  const SlurmConfig config = ParseSlurmConfig(
      "Configuration data as of 2026-11-21T20:22:13\nCliFilterPlugins        = (null)\n"
      "ClusterName             = fake\n\tKillWait=30 sec\r\nSlurmctldParameters = a=b,c\nEmpty =\n");
  EXPECT_THAT(config, ElementsAre(Pair("CliFilterPlugins", "(null)"), Pair("ClusterName", "fake"), Pair("Empty", ""),
                                  Pair("KillWait", "30 sec"), Pair("SlurmctldParameters", "a=b,c")));
  EXPECT_TRUE(ParseSlurmConfig("Slurm is down").empty());
}

// Slurm's commands as what they answer.
class SlurmCommandsTest : public testing::Test {
 protected:
  SlurmCommands Slurm(ProgramResult answer, SlurmCommands::Options options = {}) {
    return SlurmCommands(
        [this, answer](const ProgramCall& call) {
          called_ = call;
          return answer;
        },
        std::move(options));
  }
  ProgramCall called_;
};

TEST_F(SlurmCommandsTest, OneJobOfTheQueue) {
  const auto job =
      Slurm({.out = "16|RUNNING|N/A|1790000001|gpu1|1|None\n17|RUNNING|N/A|1790000002|gpu1|1|None\n"}).Queued("17");
  ASSERT_TRUE(job.ok() && *job) << job.status();
  EXPECT_EQ((*job)->end, 1790000002);
  EXPECT_THAT(called_.words, ElementsAre("squeue", "-h", "-a", "-t", "all", "-j", "17", "-o", kSqueueColumns));
  EXPECT_THAT(called_.environment, ElementsAre(Pair("SLURM_TIME_FORMAT", "%s")));
  EXPECT_THAT(called_.without, Contains("SQUEUE_*"));
  EXPECT_THAT(called_.without, Not(Contains("SLURM_CLUSTERS"))) << "the user's choice of a cluster counts";
}

TEST_F(SlurmCommandsTest, TheClusterOfThisNodeWhateverTheShellPrefers) {
  ASSERT_TRUE(Slurm({.out = "KillWait = 30 sec\n"}, {.own_cluster = true}).Config().ok());
  EXPECT_THAT(called_.words, ElementsAre("scontrol", "show", "config"));
  EXPECT_THAT(called_.environment, Contains(Pair("SQUEUE_LOCAL", "1")));
  EXPECT_THAT(called_.without, Contains("SLURM_CLUSTERS"));
}

TEST_F(SlurmCommandsTest, WhatIsSetForAllOfThemIsSetForEach) {
  std::stop_source stop;
  const SlurmCommands slurm =
      Slurm({}, {.cluster = "snowy", .timeout = std::chrono::seconds(7), .stop = stop.get_token()});
  ASSERT_TRUE(slurm.Run("sbatch", {"--parsable"}, {.input = "#!/bin/sh", .without = {"SBATCH_WAIT"}}).ok());
  EXPECT_THAT(called_.words, ElementsAre("sbatch", "-M", "snowy", "--parsable"));
  EXPECT_EQ(called_.input, "#!/bin/sh");
  EXPECT_EQ(called_.timeout, std::chrono::seconds(7));
  EXPECT_EQ(called_.stop, stop.get_token());
  EXPECT_THAT(called_.without, ElementsAre("SBATCH_WAIT"));
  EXPECT_TRUE(called_.environment.empty()) << "it would be the job's too";
}

TEST_F(SlurmCommandsTest, NoSuchJobIsAnAnswerAndAFailureIsNone) {
  const auto none = Slurm({.exit_code = 1, .err = "slurm_load_jobs error: Invalid job id specified\n"}).Queued("17");
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(*none);
  const auto failed = Slurm({.exit_code = 1, .err = "Unable to contact slurm controller\n"}).Queued("17");
  EXPECT_TRUE(absl::IsUnavailable(failed.status()));
  EXPECT_EQ(failed.status().message(), "squeue ended with status 1 and said \"Unable to contact slurm controller\"");
  EXPECT_TRUE(absl::IsUnavailable(Slurm({.exit_code = 1, .out = "no"}).Config().status()));
  const auto unknown = Slurm({.exit_code = 1, .err = "Slurm accounting storage is disabled\n"}).Accounted("17");
  EXPECT_TRUE(unknown.ok() && !*unknown) << unknown.status();
}

}  // namespace
}  // namespace hotplate
