// Requests that a site cannot take: each refusal names the value and what there is.
#include <gmock/gmock.h>

#include "client/cli/ending.h"
#include "client/cli/sites/site.h"
#include "tests/unit/cli/sites/built_in.h"

namespace hotplate::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string Refusal(const std::string& site, const AllocationRequest& request) {
  const auto plan = CheckRequest(BuiltIn(site), request);
  if (plan.ok()) return "(accepted)";
  EXPECT_EQ(ExitCodeOf(plan.status()), IsUsageError(plan.status()) ? kExitUsage : kExitInvalid);
  return std::string(plan.status().message());
}

AllocationRequest At(const std::string& type, int gpus = 1) {
  return {.account = "hpc2n2024-142", .gpu_type = type, .gpus = gpus};
}

TEST(CheckRequestTest, AnUnknownTypeIsToldWithTheNearest) {
  EXPECT_THAT(Refusal("hpc2n", At("l4os")),
              AllOf(HasSubstr("hpc2n has no \"l4os\". Nearest: l40s"),
                    HasSubstr("it has v100, a40, a6000, l40s, a100, h100"), Not(HasSubstr("mi100"))));
  EXPECT_THAT(Refusal("hpc2n", At("rtx5000")), AllOf(Not(HasSubstr("Nearest")), HasSubstr("it has v100")));
  EXPECT_THAT(Refusal("gwdg-scc", {.gpu_type = "a10"}), HasSubstr("Nearest: A100")) << "whatever the case";
  EXPECT_THAT(Refusal("hpc2n", At("l40s:2")), HasSubstr("no \"l40s:2\""));
}

TEST(CheckRequestTest, TypesAreTakenInAnyCaseAndWrittenAsTheSiteDoes) {
  const auto plan = CheckRequest(BuiltIn("gwdg-scc"), {.gpu_type = "a100"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->offer.type, "A100");
  EXPECT_EQ(CheckRequest(BuiltIn("hpc2n"), At("L40S"))->offer.type, "l40s");
}

TEST(CheckRequestTest, ATypeThatCannotBeUsedIsRefusedWithTheReason) {
  EXPECT_THAT(Refusal("hpc2n", At("mi100")), HasSubstr("hpc2n: mi100 cannot be used: it is AMD's and has no CUDA"));
  EXPECT_THAT(Refusal("lunarc-cosmos", {.gpu_type = "a40"}), HasSubstr("interactive graphics"));
  EXPECT_THAT(Refusal("gwdg-scc", {.gpu_type = "gtx1080"}),
              HasSubstr("it has compute capability 6.1; Hotplate needs 7.0 or newer"));
  EXPECT_THAT(Refusal("lunarc-cosmos", {.partition = "gpua40"}),
              HasSubstr("lunarc-cosmos: a40 in gpua40 cannot be used: LUNARC keeps the A40s for interactive graphics"))
      << "also by its partition";
}

TEST(CheckRequestTest, ATypeMustBeNamedWhereThereAreSeveral) {
  EXPECT_THAT(Refusal("surf-snellius", {}), HasSubstr("surf-snellius needs to know which GPUs: --gpu-type a100, h100"));
  EXPECT_EQ(CheckRequest(BuiltIn("lunarc-cosmos"), {})->offer.type, "a100") << "the only one that can be used";
  EXPECT_EQ(CheckRequest(BuiltIn("hpc2n"), At(""))->offer.type, "") << "any, as the site itself offers";
}

TEST(CheckRequestTest, ATypeCannotBeNamedWhereThereAreNone) {
  Site site = BuiltIn("generic-slurm");
  site.offers.resize(1);
  const auto plan = CheckRequest(site, {.gpu_type = "a100"});
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("no types to choose from"));
}

TEST(CheckRequestTest, CountsAreThoseOfANode) {
  EXPECT_EQ(Refusal("hpc2n", At("a40", 8)), "(accepted)");
  EXPECT_THAT(Refusal("hpc2n", At("a40", 9)), HasSubstr("you asked for 9 a40 on one node; hpc2n has nodes of 8"));
  EXPECT_EQ(Refusal("hpc2n", At("l40s", 6)), "(accepted)");
  EXPECT_EQ(Refusal("hpc2n", At("l40s", 4)), "(accepted)") << "on a node of six";
  EXPECT_THAT(Refusal("hpc2n", At("l40s", 7)), HasSubstr("nodes of 2 or 6"));
  EXPECT_THAT(Refusal("hpc2n", At("v100", 0)), HasSubstr("--gpus: you asked for 0 v100 on one node"));
  EXPECT_THAT(Refusal("hpc2n", At("v100", -1)), HasSubstr("you asked for -1 v100 on one node"));
  EXPECT_THAT(Refusal("lunarc-cosmos", {.gpus = 3}),
              HasSubstr("has nodes of 1 or 2 in gpua100i, whole nodes of 1 in gpua100"));
  EXPECT_THAT(Refusal("lunarc-cosmos", {.partition = "gpua100", .gpus = 2}), HasSubstr("whole nodes of 1 in gpua100"));
}

TEST(CheckRequestTest, WholeNodesAreHadWhole) {
  Site site = BuiltIn("generic-slurm");
  site.offers[0].per_node = {2, 6};
  site.offers[0].whole_nodes = true;
  EXPECT_TRUE(CheckRequest(site, {.gpus = 6}).ok());
  EXPECT_FALSE(CheckRequest(site, {.gpus = 4}).ok());
  site.offers[0].whole_nodes = false;
  EXPECT_FALSE(CheckRequest(site, {.gpus = 0}).ok());
  site.offers[0].per_node = {0, 6};
  EXPECT_TRUE(CheckRequest(site, {.gpus = 0}).ok()) << "a profile may offer nodes without GPUs";
}

TEST(CheckRequestTest, PartitionsAreTheSites) {
  EXPECT_EQ(CheckRequest(BuiltIn("lunarc-cosmos"), {})->offer.partition, "gpua100i");
  EXPECT_EQ(CheckRequest(BuiltIn("lunarc-cosmos"), {.partition = "gpua100"})->offer.partition, "gpua100");
  EXPECT_THAT(Refusal("lunarc-cosmos", {.partition = "gpua10"}),
              AllOf(HasSubstr("no a100 in \"gpua10\". Nearest: gpua100"), HasSubstr("they are in gpua100i, gpua100")));
  EXPECT_THAT(Refusal("hpc2n", {.account = "hpc2n2024-142", .partition = "batch"}),
              HasSubstr("\"batch\" is not needed: hpc2n chooses the partition"));
  EXPECT_EQ(CheckRequest(BuiltIn("generic-slurm"), {.partition = "gpu"})->offer.partition, "gpu");
  EXPECT_EQ(CheckRequest(BuiltIn("generic-slurm"), {})->offer.partition, "");
  EXPECT_EQ(CheckRequest(BuiltIn("gwdg-scc"), {.partition = "scc-gpu"})->offer.partition, "scc-gpu");
}

TEST(CheckRequestTest, AccountsAreWrittenAsTheSiteDoes) {
  EXPECT_THAT(Refusal("hpc2n", {.gpu_type = "l40s"}),
              HasSubstr("hpc2n needs a project: --account, as in --account hpc2n2024-142"));
  EXPECT_THAT(Refusal("lunarc-cosmos", {.account = "$(id)"}),
              AllOf(HasSubstr("\"$(id)\""), HasSubstr("as in lu2024-2-88")));
  EXPECT_EQ(Refusal("lunarc-cosmos", {}), "(accepted)");
  EXPECT_EQ(Refusal("uppmax-snowy", {.account = "g2021027"}), "(accepted)") << "an older course's";
  EXPECT_EQ(Refusal("lunarc-cosmos", {.account = "LU2024-2-88"}), "(accepted)") << "schedulers take any case";
  Site site = BuiltIn("hpc2n");
  site.account.fallback = "hpc2n2024-142";
  EXPECT_EQ(CheckRequest(site, {.gpu_type = "l40s"})->request.account, "hpc2n2024-142");
}

// sbatch knows better: a name that no profile foresaw is passed on, with a warning.
TEST(CheckRequestTest, AnAccountThatLooksOtherwiseIsAWarning) {
  const auto plan = CheckRequest(BuiltIn("hpc2n"), {.account = "staff", .gpu_type = "l40s"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->request.account, "staff");
  EXPECT_THAT(plan->warnings, ElementsAre("--account \"staff\" does not look like a project of hpc2n (hpc2n2024-142)"));
  EXPECT_THAT(CheckRequest(BuiltIn("hpc2n"), {.account = "hpc2n2024-142", .gpu_type = "l40s"})->warnings,
              ElementsAre());
  EXPECT_EQ(Refusal("lunarc-cosmos", {.account = "LU2024-2-88"}), "(accepted)");
  EXPECT_THAT(CheckRequest(BuiltIn("lunarc-cosmos"), {.account = "LU 2024/2-88"})->warnings,
              ElementsAre(HasSubstr("--account \"LU 2024/2-88\" does not look like a project")));
}

TEST(CheckRequestTest, TimesHaveALimit) {
  EXPECT_EQ(CheckRequest(BuiltIn("hpc2n"), At("a40"))->time, hours(1));
  AllocationRequest request = At("a40");
  request.time = "7-00:00:00";
  EXPECT_EQ(CheckRequest(BuiltIn("hpc2n"), request)->time, hours(168));
  request.time = "169h";
  EXPECT_THAT(Refusal("hpc2n", request), HasSubstr("\"169h\" is longer than hpc2n allows: "));
  request.time = "30";
  EXPECT_THAT(Refusal("hpc2n", request), HasSubstr("--time: \"30\" is not a time limit without a unit: write 30m"));
  request.time = "30s";
  EXPECT_THAT(Refusal("hpc2n", request), HasSubstr("--time: \"30s\" is less than a minute"));
  Site site = BuiltIn("hpc2n");
  site.longest_time = minutes(45);
  EXPECT_THAT(CheckRequest(site, At("a40")).status().ToString(),
              HasSubstr("the profile's default of 1 h is longer than hpc2n allows: 45 m"));
}

TEST(CheckRequestTest, WhatTheSiteHasNoDirectiveForIsNotLeftOutSilently) {
  EXPECT_THAT(Refusal("nsc-tetralith", {.cpus = 8}), HasSubstr("--cpus 8 is not possible: nsc-tetralith"));
  EXPECT_THAT(Refusal("nsc-tetralith", {.exclusive = true}), HasSubstr("--exclusive is not possible"));
  EXPECT_THAT(Refusal("olcf-ascent", {.account = "TRN003", .memory = "64G"}), HasSubstr("--memory 64G"));
  EXPECT_THAT(Refusal("generic-slurm", {.memory = "64 GB"}), HasSubstr("\"64 GB\" is not a size such as 64G"));
  EXPECT_THAT(Refusal("generic-slurm", {.cpus = -1}), HasSubstr("--cpus: -1"));
}

TEST(CheckRequestTest, WhatUpItselfWritesIsNotTheUsersToGive) {
  for (const char* directive : {"--output=x", "-o x", "--error=x", "--signal=TERM@60", "--array=1-4", "-N 2",
                                "--nodes=2", "--job-name=x", "--time=1:00:00", "-J x", "--wrap=id",
                                // As sbatch reads words: values behind letters, beginnings of names, several in a line.
                                "-N2", "-HN2", "-o/tmp/x", "-a1-3", "--nod=4", "--arr=1-3", "--qos=x --array=1-3",
                                "--qos=x  -N 2", "--comment='a' --sig=TERM", "-\"N\"2", "--\\nodes=2", "--wait", "-W",
                                "--test-only", "-M other", "-Mother", "--clusters=other", "--clu=other"})
    EXPECT_THAT(Refusal("generic-slurm", {.directives = {directive}}), HasSubstr("is not yours to set")) << directive;
  for (const char* directive : {"qos=high", "", "-", "--a\nb"})
    EXPECT_THAT(Refusal("generic-slurm", {.directives = {directive}}),
                HasSubstr("is not a directive; a directive is one line"))
        << directive;
  EXPECT_EQ(Refusal("generic-slurm", {.directives = {"--nodelist=n1", "-q high", "--oversubscribe"}}), "(accepted)");
  EXPECT_EQ(Refusal("generic-slurm", {.directives = {"--time-min=30", "--wait-all-nodes=1", "-qhigh", "-H", "-kwn1",
                                                     "--gres=gpu:1 --reservation=course", "--no-requeue"}}),
            "(accepted)");
  const auto lsf = [](const char* directive) {
    return Refusal("olcf-ascent", {.account = "TRN003", .directives = {directive}});
  };
  for (const char* directive : {"-o x", "-oo x", "-nnodes 2", "-K", "-Is", "-q x -W 2:00"})
    EXPECT_THAT(lsf(directive), HasSubstr("is not yours to set")) << directive;
  for (const char* directive : {"-alloc_flags gpumps", "-q high", "-N", "-t 10:00"})
    EXPECT_EQ(lsf(directive), "(accepted)") << directive;
  EXPECT_THAT(Refusal("generic-slurm", {.directives = std::vector<std::string>(65, "--qos=x")}), HasSubstr("too many"));
}

TEST(CheckRequestTest, WarningsSayWhatOneShouldKnowBefore) {
  EXPECT_THAT(CheckRequest(BuiltIn("hpc2n"), At("l40s"))->warnings, IsEmpty());
  EXPECT_THAT(CheckRequest(BuiltIn("hpc2n"), At("v100"))->warnings,
              ElementsAre(AllOf(HasSubstr("v100 has compute capability 7.0"), HasSubstr("libhotplate_cuda12.so"))));
  EXPECT_THAT(CheckRequest(BuiltIn("hpc2n"), At(""))->warnings,
              ElementsAre(AllOf(HasSubstr("may be a v100"), HasSubstr("libhotplate_cuda12.so"))));
  EXPECT_THAT(CheckRequest(BuiltIn("lunarc-cosmos"), {.partition = "gpua100"})->warnings,
              ElementsAre(HasSubstr("whole node of 48 cores")));
  EXPECT_THAT(CheckRequest(BuiltIn("uppmax-snowy"), {.account = "naiss2024-22-1442"})->warnings,
              ElementsAre(AllOf(HasSubstr("uppmax-snowy is retired"), HasSubstr("Pelle"))));
  EXPECT_THAT(CheckRequest(BuiltIn("olcf-ascent"), {.account = "TRN003"})->warnings,
              ElementsAre(HasSubstr("retired"), HasSubstr("CUDA 12"), HasSubstr("11.0.2")));
}

TEST(CheckRequestTest, OlderGpusThanTheCodeIsForAreRefused) {
  Site site = BuiltIn("generic-slurm");
  site.offers[1].type = "p100";
  site.offers[1].compute_capability = "6.0";
  const auto plan = CheckRequest(site, {.gpu_type = "p100"});
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("compute capability 6.0"));
}

TEST(ParseTimeLimitTest, TakesWhatPeopleAndSchedulersWrite) {
  const std::vector<std::pair<std::string, seconds>> times = {
      {"30m", minutes(30)},       {"1h30m", minutes(90)},     {"90s", seconds(90)},
      {"00:30:00", minutes(30)},  {"1:00:01", seconds(3601)}, {"100:00:00", hours(100)},
      {"1-00:00:00", hours(24)},  {"7-12", hours(180)},       {"2-01:30", minutes(2 * 1440 + 90)},
      {"0-00:05:00", minutes(5)}, {"1d", hours(24)}};
  for (const auto& [text, time] : times) {
    const auto parsed = ParseTimeLimit(text);
    ASSERT_TRUE(parsed.ok()) << text << parsed.status();
    EXPECT_EQ(*parsed, time) << text;
  }
  for (const char* text : {"",
                           "30",
                           "0",
                           "00:30",
                           "1:2",
                           "::",
                           "00:00:00",
                           "1:60:00",
                           "1:00:60",
                           "1-",
                           "-1:00:00",
                           "1-1-1",
                           "1:00:00:00",
                           "1h:00",
                           "00:30:00 ",
                           "99999:00:00",
                           "9999-00:00:00",
                           "-5m",
                           "400d",
                           "inf",
                           "400-00:00:00",
                           "00:30:00\n",
                           "1e3m5x"})
    EXPECT_FALSE(ParseTimeLimit(text).ok()) << text;
  EXPECT_FALSE(ParseTimeLimit(std::string(100000, '1')).ok());
}

}  // namespace
}  // namespace hotplate::cli
