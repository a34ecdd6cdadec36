// LSF's output as its manual shows it. No real LSF was at hand.
#include "client/cli/scheduler/lsf.h"

#include <gmock/gmock.h>

#include "client/cli/ending.h"

namespace hotplate::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Phase = JobStatus::Phase;

TEST(LsfText, TheAnswerOfBsub) {
  EXPECT_EQ(lsf::ParseSubmission("Job <2314> is submitted to queue <batch>.\n")->id, "2314");
  EXPECT_EQ(lsf::ParseSubmission("Project TRN: 12 % used\nJob <2314> is submitted to default queue <batch>.\n")->id,
            "2314");
  EXPECT_FALSE(lsf::ParseSubmission("Job not submitted.\n"));
  EXPECT_FALSE(lsf::ParseSubmission("Job <x> is submitted to queue <batch>.\n"));
}

TEST(LsfText, Bjobs) {
  const auto pending = lsf::ParseBjobs("2314|PEND|-|New job is waiting for scheduling;\n", "2314");
  ASSERT_TRUE(pending);
  EXPECT_EQ(pending->phase, Phase::kPending);
  EXPECT_EQ(pending->reason, "New job is waiting for scheduling;");
  const auto running = lsf::ParseBjobs("2314|RUN|h49n16|-\n", "2314");
  ASSERT_TRUE(running);
  EXPECT_EQ(running->phase, Phase::kRunning);
  EXPECT_EQ(running->nodes, "h49n16");
  EXPECT_EQ(running->reason, "");
  EXPECT_EQ(lsf::ParseBjobs("2314|DONE|h49n16|-\n", "2314")->state, "COMPLETED");
  EXPECT_EQ(lsf::ParseBjobs("2314|EXIT|h49n16|-\n", "2314")->state, "FAILED");
  EXPECT_FALSE(lsf::ParseBjobs("Job <2314> is not found\n", "2314"));
}

TEST(LsfCommands, SubmitAskCancel) {
  std::vector<ProgramCall> calls;
  const auto lsf = MakeLsf([&](const ProgramCall& call) -> absl::StatusOr<ProgramResult> {
    calls.push_back(call);
    if (call.words[0] == "bsub") return ProgramResult{0, "Job <7> is submitted to queue <batch>.\n", ""};
    if (call.words[0] == "bjobs") return ProgramResult{255, "", "Job <7> is not found\n"};
    return ProgramResult{255, "", "Job <7>: Job has already finished\n"};
  });
  const auto job = lsf->Submit("#BSUB -nnodes 1\n");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(calls[0].input, "#BSUB -nnodes 1\n");
  EXPECT_EQ(lsf->State(*job)->phase, Phase::kForgotten);
  EXPECT_TRUE(lsf->Cancel(*job).ok());
  EXPECT_THAT(calls.back().words, ElementsAre("bkill", "7"));
  EXPECT_TRUE(absl::IsUnimplemented(lsf->InsideJob(*job, {"x"}).status()));
}

TEST(LsfCommands, ARefusalHasItsWords) {
  const auto lsf = MakeLsf([](const ProgramCall&) -> absl::StatusOr<ProgramResult> {
    return ProgramResult{255, "", "No such project. Job not submitted.\n"};
  });
  const auto job = lsf->Submit("x");
  EXPECT_EQ(ExitCodeOf(job.status()), kExitScheduler);
  EXPECT_THAT(std::string(job.status().message()), HasSubstr("No such project"));
}

}  // namespace
}  // namespace hotplate::cli
