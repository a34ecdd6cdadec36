// Slurm as a scheduler: what its commands are asked, and what is made of their answers.
#include "client/cli/scheduler/slurm.h"

#include <gmock/gmock.h>

#include <deque>

#include "client/cli/ending.h"
#include "kernels/base/slurm.h"

namespace hotplate::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Phase = JobStatus::Phase;

TEST(SlurmText, TheAnswerOfSbatch) {
  EXPECT_EQ(slurm::ParseSubmission("3\n")->id, "3");
  EXPECT_EQ(slurm::ParseSubmission("3\n")->cluster, "");
  EXPECT_EQ(slurm::ParseSubmission("8214;snowy\n")->id, "8214");
  EXPECT_EQ(slurm::ParseSubmission("8214;snowy\n")->cluster, "snowy");
  // A submit plug-in of the site's may talk first; federations have ids with large numbers.
  EXPECT_EQ(slurm::ParseSubmission("Your project has used 12 % of its hours.\n134217731;dardel\n\n")->id, "134217731");
  EXPECT_EQ(slurm::ParseSubmission("Your project has used 12 % of its hours.\n134217731;dardel\n\n")->remarks,
            "Your project has used 12 % of its hours.");
  // A wrapper of the site's that leaves --parsable out.
  EXPECT_EQ(slurm::ParseSubmission("Submitted batch job 41\n")->id, "41");
  EXPECT_EQ(slurm::ParseSubmission("Submitted batch job 41 on cluster snowy\n")->cluster, "snowy");
  for (const char* none :
       {"", "\n", "Submitted batch job\n", "Submitted batch job x\n", "-3\n", "3 4\n", "0x3\n", ";snowy\n"})
    EXPECT_FALSE(slurm::ParseSubmission(none)) << none;
}

TEST(SlurmText, JobIds) {
  for (const char* id : {"1", "32126787", "12_3", "12+1"}) EXPECT_TRUE(IsJobId(id)) << id;
  for (const char* id :
       {"", "-1", "1;ls", "1 2", "_1", "1_", "a1", "1_2_3", "--me", "123456789012345678901234567890123"})
    EXPECT_FALSE(IsJobId(id)) << id;
}

TEST(SlurmText, States) {
  for (const char* word : {"PENDING", "REQUEUED", "REQUEUE_HOLD"})
    EXPECT_EQ(slurm::PhaseOf(word), Phase::kPending) << word;
  for (const char* word : {"RUNNING", "CONFIGURING", "SUSPENDED"})
    EXPECT_EQ(slurm::PhaseOf(word), Phase::kRunning) << word;
  EXPECT_EQ(slurm::PhaseOf("COMPLETING"), Phase::kEnding);
  for (const char* word : {"COMPLETED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL",
                           "FAILED", "DEADLINE", "REVOKED"})
    EXPECT_EQ(slurm::PhaseOf(word), Phase::kEnded) << word;
}

TEST(SlurmText, EveryKnownRefusalHasAWayOut) {
  for (const char* words :
       {"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
        "allocation failure: Invalid feature specification",
        "allocation failure: Requested node configuration is not available",
        "sbatch: error: invalid partition specified: nosuch\nallocation failure: Invalid partition name specified",
        "sbatch: error: Invalid generic resource (gres) specification",
        ("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's "
         "size "
         "and/or time limits)"),
        "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
        "sbatch: error: Invalid --time specification",
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"})
    EXPECT_NE(slurm::WhatToDo(words), "") << words;
  EXPECT_EQ(slurm::WhatToDo("something new"), "");
  EXPECT_NE(WhatToDoAboutReason("PartitionTimeLimit"), "");
  EXPECT_EQ(WhatToDoAboutReason("Priority"), "");
  for (const char* reason : {"QOSMaxGRESPerUser", "QOSMaxGRESPerJob", "QOSMaxGRESPerNode", "MaxGRESPerAccount",
                             "AssocGrpGRES", "AssocGrpGRESMinutes", "AssocGrpGRESRunMinutes", "QOSGrpGRES",
                             "QOSGrpGRESMinutes", "QOSMaxGRESMinutesPerJob", "JobHeldUser", "JobHeldAdmin"})
    EXPECT_NE(WhatToDoAboutReason(reason), "") << reason;
  EXPECT_THAT(WhatToDoAboutReason("JobHeldAdmin"), Not(HasSubstr("scontrol release"))) << "users may not";
  EXPECT_THAT(WhatToDoAboutReason("AssocGrpGRESMinutes"), HasSubstr("hours are used up"));
  EXPECT_THAT(WhatToDoAboutReason("AssocGrpGRES"), Not(HasSubstr("hours")));
}

TEST(SlurmText, VariablesThatWouldCountMoreThanTheScript) {
  EXPECT_THAT(slurm::VariablesAgainst("#!/bin/bash\necho\n"), ElementsAre("SBATCH_ARRAY_INX", "SBATCH_WAIT"));
  const auto names = slurm::VariablesAgainst(
      "#!/bin/bash\n#SBATCH -A mine\n#SBATCH --time=01:00:00\n#SBATCH --gres=gpu:1\n#SBATCH --output=/x\n");
  for (const char* name : {"SBATCH_ARRAY_INX", "SBATCH_WAIT", "SBATCH_ACCOUNT", "SBATCH_TIMELIMIT", "SBATCH_GRES",
                           "SBATCH_GPUS", "SBATCH_OUTPUT", "SBATCH_ERROR"})
    EXPECT_THAT(names, testing::Contains(name));
  for (const char* name : {"SBATCH_PARTITION", "SBATCH_QOS", "SBATCH_RESERVATION"})
    EXPECT_THAT(names, Not(testing::Contains(name))) << "where the script says nothing it is the user's default";
}

// Slurm's commands as a script of what they answer.
class SlurmSchedulerTest : public testing::Test {
 protected:
  void Answer(ProgramResult result) { answers_.push_back(std::move(result)); }
  void Fail(absl::Status status) { answers_.push_back(std::move(status)); }

  std::unique_ptr<Scheduler> Slurm(const std::string& cluster = "") {
    return MakeSlurm(
        [this](const ProgramCall& call) -> absl::StatusOr<ProgramResult> {
          calls_.push_back(call);
          if (answers_.empty()) return absl::InternalError("no answer was prepared");
          auto answer = answers_.front();
          answers_.pop_front();
          return answer;
        },
        cluster);
  }
  static std::string Message(const absl::Status& status) { return std::string(status.message()); }

  std::deque<absl::StatusOr<ProgramResult>> answers_;
  std::vector<ProgramCall> calls_;
};

TEST_F(SlurmSchedulerTest, TheScriptGoesThroughStandardInput) {
  Answer({.exit_code = 0, .out = "12\n", .err = ""});
  const auto job = Slurm()->Submit("#!/bin/bash\n");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->id, "12");
  ASSERT_EQ(calls_.size(), 1u);
  EXPECT_THAT(calls_[0].words, ElementsAre("sbatch", "--parsable"));
  EXPECT_EQ(calls_[0].input, "#!/bin/bash\n");
}

TEST_F(SlurmSchedulerTest, AnotherClusterIsNamedToEachCommand) {
  Answer({.exit_code = 0, .out = "12;snowy\n", .err = ""});
  Answer({.exit_code = 0, .out = "12|PENDING|N/A|N/A||ada|Priority\n", .err = ""});
  Answer({});
  const auto slurm = Slurm("snowy");
  const auto job = slurm->Submit("x");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(slurm->State(*job)->reason, "Priority");
  EXPECT_TRUE(slurm->Cancel(*job).ok());
  EXPECT_THAT(calls_[0].words, ElementsAre("sbatch", "-M", "snowy", "--parsable"));
  EXPECT_THAT(calls_[1].words,
              ElementsAre("squeue", "-M", "snowy", "-h", "-a", "-t", "all", "-j", "12", "-o", kSqueueColumns));
  EXPECT_THAT(calls_[2].words, ElementsAre("scancel", "-M", "snowy", "12"));
  EXPECT_EQ(slurm->ClusterName(), "snowy");
  EXPECT_EQ(slurm->LookCommand(*job), "squeue -M snowy -j 12");
}

TEST_F(SlurmSchedulerTest, ARefusalHasSlurmsWordsAndAWayOut) {
  Answer({.exit_code = 1, .out = "", .err = "allocation failure: Invalid feature specification\n"});
  const absl::Status status = Slurm()->Check("x");
  EXPECT_EQ(ExitCodeOf(status), kExitScheduler);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("allocation failure: Invalid feature specification"), HasSubstr("sbatch --test-only")));
}

TEST_F(SlurmSchedulerTest, ADoubtIsNoRefusal) {
  // What --test-only says while the nodes are drained, where sbatch itself has the job wait.
  Answer({.exit_code = 1, .out = "", .err = "allocation failure: Requested node configuration is not available\n"});
  const absl::Status status = Slurm()->Check("#SBATCH --time=1\n");
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_EQ(Message(status), "allocation failure: Requested node configuration is not available");
  EXPECT_THAT(calls_[0].without, testing::Contains("SBATCH_TIMELIMIT"));
}

TEST_F(SlurmSchedulerTest, WhatIsSaidOnSuccessIsKept) {
  Answer({.exit_code = 0, .out = "12\n", .err = "sbatch: project has used 98 % of its hours\n"});
  const auto job = Slurm()->Submit("#SBATCH --time=1\n");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->remarks, "sbatch: project has used 98 % of its hours");
  EXPECT_THAT(calls_[0].without, testing::Contains("SBATCH_TIMELIMIT"));
}

TEST_F(SlurmSchedulerTest, NoSlurmAndNoAnswer) {
  Fail(absl::NotFoundError("no sbatch in PATH"));
  const absl::Status missing = Slurm()->Check("x");
  EXPECT_EQ(ExitCodeOf(missing), kExitScheduler);
  EXPECT_THAT(Message(missing), HasSubstr("no sbatch in PATH"));
  Fail(absl::DeadlineExceededError("sbatch had no answer within 2 m"));
  EXPECT_EQ(ExitCodeOf(Slurm()->Submit("x").status()), kExitScheduler);
  Answer({.exit_code = 1, .out = "", .err = "slurm_load_jobs error: Unable to contact slurm controller\n"});
  const auto state = Slurm()->State({"12", ""});
  EXPECT_TRUE(absl::IsUnavailable(state.status())) << state.status();
}

TEST_F(SlurmSchedulerTest, AJobThatSqueueForgotIsLookedUpInTheAccounting) {
  Answer({.exit_code = 1, .out = "", .err = "slurm_load_jobs error: Invalid job id specified\n"});
  Answer({.exit_code = 0, .out = "TIMEOUT|None|1795292533|1795292833|gpu1|ada\n", .err = ""});
  const auto known = Slurm()->State({"12", ""});
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->phase, Phase::kEnded);
  EXPECT_EQ(known->state, "TIMEOUT");
  // The accounting lags: that it runs is not so any more.
  Answer({.exit_code = 1, .out = "", .err = "slurm_load_jobs error: Invalid job id specified\n"});
  Answer({.exit_code = 0, .out = "RUNNING|None|1795292533|Unknown|gpu1|ada\n", .err = ""});
  const auto lags = Slurm()->State({"12", ""});
  EXPECT_EQ(lags->phase, Phase::kForgotten);
  EXPECT_EQ(lags->state, "");
  Answer({.exit_code = 1, .out = "", .err = "slurm_load_jobs error: Invalid job id specified\n"});
  Answer({.exit_code = 1, .out = "", .err = "Slurm accounting storage is disabled\n"});
  const auto forgotten = Slurm()->State({"12", ""});
  ASSERT_TRUE(forgotten.ok()) << forgotten.status();
  EXPECT_EQ(forgotten->phase, Phase::kForgotten);
}

TEST_F(SlurmSchedulerTest, CancellingWhatIsOverIsFine) {
  Answer(
      {.exit_code = 1, .out = "", .err = "scancel: error: Kill job error on job id 999: Invalid job id specified\n"});
  EXPECT_TRUE(Slurm()->Cancel({"999", ""}).ok());
  Answer({.exit_code = 1, .out = "", .err = "scancel: error: Kill job error on job id 3: Access/permission denied\n"});
  EXPECT_EQ(ExitCodeOf(Slurm()->Cancel({"3", ""})), kExitScheduler);
}

TEST_F(SlurmSchedulerTest, AJobOfThatNumberElsewhereIsNotMeant) {
  const SchedulerJob job{"12", "", "fake", "1001"};
  Answer({.exit_code = 0, .out = "ClusterName = other\n", .err = ""});
  Answer({.exit_code = 1, .out = "", .err = "squeue: error: No cluster 'fake' known by database.\n"});
  const auto slurm = Slurm();
  EXPECT_TRUE(absl::IsUnavailable(slurm->State(job).status())) << "not over";
  EXPECT_THAT(calls_[1].words,
              ElementsAre("squeue", "-M", "fake", "-h", "-a", "-t", "all", "-j", "12", "-o", kSqueueColumns));
  // And where it cannot be told which cluster this is.
  Answer({.exit_code = 1, .out = "", .err = "no answer"});
  EXPECT_TRUE(absl::IsUnavailable(Slurm()->Cancel(job)));
  EXPECT_EQ(calls_.size(), 3u);
}

TEST_F(SlurmSchedulerTest, AnotherUsersJobIsNotCancelled) {
  const SchedulerJob job{"12", "", "fake", "1001"};
  Answer({.exit_code = 0, .out = "ClusterName = fake\n", .err = ""});
  Answer({.exit_code = 0, .out = "12|RUNNING|N/A|N/A|gpu1|1002|None\n", .err = ""});
  const auto slurm = Slurm();
  EXPECT_TRUE(slurm->Cancel(job).ok()) << "this one is over";
  EXPECT_EQ(calls_.size(), 2u);
  Answer({.exit_code = 0, .out = "12|RUNNING|N/A|N/A|gpu1|1001|None\n", .err = ""});
  Answer({});
  EXPECT_TRUE(slurm->Cancel(job).ok());
  EXPECT_THAT(calls_.back().words, ElementsAre("scancel", "12"));
}

TEST_F(SlurmSchedulerTest, NothingStopsACancellation) {
  std::stop_source stop;
  stop.request_stop();
  const auto slurm = MakeSlurm(
      [this](const ProgramCall& call) -> absl::StatusOr<ProgramResult> {
        calls_.push_back(call);
        if (call.stop.stop_requested()) return absl::CancelledError(call.words[0] + " was stopped");
        return ProgramResult{.exit_code = 0,
                             .out = call.words[0] == "scontrol" ? "ClusterName = fake\n" : "12|RUNNING||||1001|None\n",
                             .err = ""};
      },
      "", stop.get_token());
  EXPECT_FALSE(slurm->State({"12", ""}).ok());
  EXPECT_TRUE(slurm->Cancel({"12", "", "fake", "1001"}).ok());
  EXPECT_EQ(calls_.back().words.front(), "scancel");
}

TEST_F(SlurmSchedulerTest, TheClustersOwnNameIsAskedForOnce) {
  Answer({.exit_code = 0, .out = "ClusterName = fake\n", .err = ""});
  Answer({.exit_code = 0, .out = "12|PENDING|N/A|N/A||1001|Priority\n", .err = ""});
  const auto slurm = Slurm();
  EXPECT_EQ(slurm->ClusterName(), "fake");
  EXPECT_TRUE(slurm->State({"12", "", "fake", "1001"}).ok());
  EXPECT_EQ(slurm->ClusterName(), "fake");
  EXPECT_EQ(calls_.size(), 2u);
}

TEST_F(SlurmSchedulerTest, ATaskOfAnArrayByItsOwnNumber) {
  Answer({.exit_code = 0, .out = "4713\n", .err = ""});
  const auto slurm = Slurm();
  EXPECT_EQ(slurm->Resolve({"4711_2", ""})->id, "4713");
  EXPECT_EQ(slurm->Resolve({"4711", ""})->id, "4711");
  EXPECT_EQ(calls_.size(), 1u);
}

TEST_F(SlurmSchedulerTest, InsideAJobByAnOverlappingStep) {
  const auto words = Slurm()->InsideJob({"12", ""}, {"/bin/hotplated", "--name", "x"});
  ASSERT_TRUE(words.ok());
  EXPECT_THAT(*words, ElementsAre("srun", "--jobid=12", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none",
                                  "--quiet", "/bin/hotplated", "--name", "x"));
}

}  // namespace
}  // namespace hotplate::cli
