// What sacct of a real Slurm 22.05 printed (the files beside this one, taken in the cluster of
// tests/slurm), and what the manual pages
// of others say that they print.
#include "client/cli/partitions/sacct_text.h"

#include <gmock/gmock.h>

#include <random>

#include "client/cli/ending.h"
#include "client/cli/partitions/accounting.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr EpochSeconds kFar = EpochSeconds{1} << 40;

SliceJobs Read(const std::string& text, EpochSeconds from = 0, EpochSeconds to = kFar) {
  SacctReader reader(from, to, 1'000'000);
  EXPECT_TRUE(reader.Take(text));
  return std::move(reader).Jobs();
}

std::string Fixture(const std::string& name = "sacct_22_05") {
  return ReadText(HOTPLATE_SOURCE_DIR "/tests/unit/cli/partitions/" + name + ".txt");
}

TEST(SacctText, TimeLimits) {
  EXPECT_EQ(ParseSlurmMinutes("00:10:00"), 10);
  EXPECT_EQ(ParseSlurmMinutes("1-00:00:00"), 24 * 60);
  EXPECT_EQ(ParseSlurmMinutes("2-12"), 60 * 60);
  EXPECT_EQ(ParseSlurmMinutes("1-02:30"), 26 * 60 + 30);
  EXPECT_EQ(ParseSlurmMinutes("00:00:30"), 1);
  EXPECT_EQ(ParseSlurmMinutes("05:30"), 6);
  EXPECT_EQ(ParseSlurmMinutes("90"), 90);
  EXPECT_EQ(ParseSlurmMinutes("UNLIMITED"), kUnlimited);
  EXPECT_EQ(ParseSlurmMinutes("Partition_Limit"), kPartitionLimit);
  for (const char* wrong : {"", "INVALID", "-", "1-", ":", "1:2:3:4", "-5", "10m", "99999999999999999999"})
    EXPECT_FALSE(ParseSlurmMinutes(wrong)) << wrong;
}

TEST(SacctText, Memory) {
  EXPECT_EQ(ParseMemory("4000M", 2, 3), 4000);
  EXPECT_EQ(ParseMemory("4G", 2, 3), 4096);
  EXPECT_EQ(ParseMemory("1.50T", 2, 3), 1536 * 1024);
  EXPECT_EQ(ParseMemory("2048K", 2, 3), 2);
  EXPECT_EQ(ParseMemory("500", 2, 3), 500);
  EXPECT_EQ(ParseMemory("4000Mc", 2, 3), 8000) << "for each core";
  EXPECT_EQ(ParseMemory("4Gn", 2, 3), 3 * 4096) << "for each node";
  for (const char* wrong : {"", "0", "0n", "0Mc", "c", "M", "-4G", "4X", "4 G", "inf", "nan", "1e99", "999999999P"})
    EXPECT_FALSE(ParseMemory(wrong, 2, 3)) << wrong;
}

TEST(SacctText, Resources) {
  EXPECT_EQ(GpusOf("billing=2,cpu=2,gres/gpu=2,mem=8000M,node=2"), 2);
  EXPECT_EQ(GpusOf("cpu=2,gres/gpu:a100=1,gres/gpu:l40s=2,mem=1G"), 3);
  EXPECT_EQ(GpusOf("gres/gpu:a100=2,gres/gpu=2"), 2) << "once, not twice";
  EXPECT_EQ(GpusOf("cpu=2,gres/gpumem=4"), 0);
  EXPECT_EQ(GpusOf("gres/gpu:a100"), 0);
  EXPECT_EQ(GpusOf(""), 0);
  EXPECT_EQ(TresOf("cpu=2,mem=8G", "mem"), "8G");
  EXPECT_EQ(TresOf("cpu=2,vmem=8G", "mem"), "");
}

TEST(SacctText, OlderSlurm) {
  // Before 21.08, memory is for each core or node; without ReqTRES the other columns say it.
  const SliceJobs jobs = Read(
      "11|batch|COMPLETED|100|130|200|300|02:00:00|8|cpu=8|2|4000Mc|\n"
      "12|batch|TIMEOUT|100|100|200|300|Partition_Limit|8|cpu=8|2|4Gn|\n"
      "13|batch|CANCELLED by 1001|100|100|250|250|02:00:00|8||2|4Gn|\n"
      "14|batch|CANCELLED by 1001|100|Unknown|None|260|02:00:00|8||2|4Gn|\n"
      "15|batch|COMPLETED|100|Unknown|200|300|UNLIMITED|8|cpu=8|2|0n|\n"
      "16|batch|NODE_FAIL|100|210|200|300|01:00:00|8|cpu=8|2|1G|\n");
  ASSERT_EQ(jobs.starts.size(), 6u);
  EXPECT_EQ(jobs.unreadable, 0);
  EXPECT_EQ(jobs.starts[0].wait, 70) << "from when it was eligible";
  EXPECT_EQ(jobs.starts[0].memory_mib, 32'000);
  EXPECT_EQ(jobs.starts[0].minutes, 120);
  EXPECT_EQ(jobs.starts[1].memory_mib, 8192);
  EXPECT_EQ(jobs.starts[1].minutes, kPartitionLimit);
  EXPECT_EQ(jobs.starts[2].wait, kNeverStarted) << "its start is only its end";
  EXPECT_EQ(jobs.starts[3].wait, kNeverStarted);
  EXPECT_EQ(jobs.starts[3].start, 260);
  EXPECT_EQ(jobs.starts[4].wait, 100) << "from its submission, where nothing else is known";
  EXPECT_EQ(jobs.starts[4].memory_mib, kUnknownMemory);
  EXPECT_EQ(jobs.starts[5].wait, 0) << "not below 0";
}

TEST(SacctText, LinesThatAreNoRows) {
  const SliceJobs jobs = Read(
      "sacct: error: something\n\n1|gpu\n|gpu|COMPLETED|1|1|1|1|10|1|1|1|1G|\n"
      "1||COMPLETED|1|1|1|1|10|1|1|1|1G|\n1|gpu|COMPLETED|1|1|1|1|ten|1|1|1|1G|\n1|gpu|COMPLETED|1|1|1|1|10|many|1|1|"
      "1G|\n" +
      std::string(200'000, 'x') + "\n2|gpu|COMPLETED|1|1|1|1|10|1|1|1|1G|\n");
  EXPECT_EQ(jobs.starts.size(), 1u);
  EXPECT_EQ(jobs.unreadable, 7);
}

TEST(SacctText, NoBytesBreakIt) {
  std::mt19937 random(4);
  const std::string fixture = Fixture();
  for (int round = 0; round < 500; ++round) {
    std::string text = fixture;
    for (int i = 0; i < 20; ++i) text[random() % text.size()] = static_cast<char>(random());
    const SliceJobs jobs = Read(text);
    for (const JobStart& job : jobs.starts) {
      ASSERT_GE(job.wait, kNeverStarted);
      ASSERT_GE(job.cpus, 0);
      ASSERT_GE(job.gpus, 0);
    }
  }
}

TEST(SacctText, BlocksOfAnySizeAreTheSame) {
  const std::string text = Fixture();
  const SliceJobs whole = Read(text);
  for (const std::size_t size : {1u, 7u, 100u, 4096u}) {
    SacctReader reader(0, kFar, 1'000'000);
    for (std::size_t at = 0; at < text.size(); at += size) EXPECT_TRUE(reader.Take(text.substr(at, size)));
    const SliceJobs jobs = std::move(reader).Jobs();
    EXPECT_EQ(jobs.starts.size(), whole.starts.size());
    EXPECT_EQ(jobs.waiting, whole.waiting);
  }
}

TEST(SacctText, RowsAreBounded) {
  SacctReader reader(0, kFar, 3);
  EXPECT_TRUE(reader.Take("a\nb\nc\n"));
  EXPECT_FALSE(reader.Take("d\n"));
}

TEST(SacctText, EachStartOnceAndOnlyThoseOfTheSlice) {
  const std::string row = "7|gpu|COMPLETED|100|100|200|300|10|1|1|1|1G|cpu=1\n";
  EXPECT_EQ(Read(row + row).starts.size(), 1u);
  EXPECT_EQ(Read(row, 200, 201).starts.size(), 1u);
  EXPECT_EQ(Read(row, 201, 300).starts.size(), 0u);
  EXPECT_EQ(Read(row, 100, 200).starts.size(), 0u);
  // Requeued: another start of the same job.
  EXPECT_EQ(Read(row + "7|gpu|COMPLETED|300|420|500|600|10|1|1|1|1G|cpu=1\n").starts.size(), 2u);
}

TEST(SacctText, AHeterogeneousJobIsOneJobInAPartition) {
  const SliceJobs jobs = Read(
      "7+0|gpu|COMPLETED|100|100|200|300|10|2|2|1|1G|cpu=2,mem=1G,gres/gpu=1\n"
      "7+1|gpu|COMPLETED|100|100|200|300|10|3|3|1|1G|cpu=3,mem=1G\n"
      "7+2|medium|COMPLETED|100|100|200|300|10|4|4|1|1G|cpu=4,mem=1G\n");
  ASSERT_EQ(jobs.starts.size(), 2u);
  EXPECT_EQ(jobs.starts[0].cpus, 5);
  EXPECT_EQ(jobs.starts[0].memory_mib, 2048);
  EXPECT_EQ(jobs.starts[0].gpus, 1);
  EXPECT_EQ(jobs.starts[1].cpus, 4);
}

TEST(SacctText, WhoWaits) {
  const SliceJobs jobs = Read(
      "1|gpu|PENDING|100|100|Unknown|Unknown|10|1||1|1G|\n"
      "2|gpu,medium|PENDING|100|100|Unknown|Unknown|10|1||1|1G|\n"
      "3|gpu|PENDING|100|Unknown|Unknown|Unknown|10|1||1|1G|\n"  // held
      "4_[1-10:3,20,30-31%2]|medium|PENDING|100|100|Unknown|Unknown|10|1||1|1G|\n"
      "6|gpu|REQUEUED|100|100|None|101|10|1|cpu=1|1|1G|\n"    // put back at once
      "5+0|gpu|PENDING|100|100|100|100|10|1|cpu=1|1|1G|\n");  // taken back
  EXPECT_THAT(jobs.waiting, UnorderedElementsAre(Pair("gpu", 2), Pair("medium", 1 + 7)));
  EXPECT_TRUE(jobs.starts.empty());
}

TEST(SacctText, PartitionsOfSinfo) {
  EXPECT_THAT(ParsePartitions("gpu|7-00:00:00\nlong|infinite\nodd|n/a\nCLUSTER: snowy\n\n|1\n"),
              ElementsAre(Pair("gpu", 7 * 24 * 60), Pair("long", kUnlimited), Pair("odd", std::nullopt)));
}

TEST(SacctText, PrivateData) {
  EXPECT_TRUE(KeepsJobsPrivate({{"PrivateData", "accounts,jobs,usage"}}));
  EXPECT_TRUE(KeepsJobsPrivate({{"PrivateData", "all"}}));
  EXPECT_FALSE(KeepsJobsPrivate({{"PrivateData", "none"}}));
  EXPECT_FALSE(KeepsJobsPrivate({{"PrivateData", "usage,users"}}));
  EXPECT_FALSE(KeepsJobsPrivate({{"PrivateData", ""}}));
  EXPECT_FALSE(KeepsJobsPrivate({}));
  EXPECT_EQ(SacctTime(1795293629), "2026-11-21T20:40:29");
}

const JobStart* Find(const SliceJobs& jobs, EpochSeconds start, std::int64_t cpus, std::int64_t gpus = 0) {
  for (const JobStart& job : jobs.starts)
    if (job.start == start && job.cpus == cpus && job.gpus == gpus) return &job;
  return nullptr;
}

// Jobs of all kinds: GPUs asked for in three ways, an array, one that was requeued, a heterogeneous one that Slurm
// began to start and took back, one without a time limit that waits.
TEST(SacctText, JobsOfAllKinds) {
  const SliceJobs jobs = Read(Fixture());
  EXPECT_EQ(jobs.unreadable, 0);
  EXPECT_EQ(jobs.starts.size(), 14u);
  EXPECT_THAT(jobs.waiting, UnorderedElementsAre(Pair("gpu", 2), Pair("medium", 1)));
  const JobStart* two_nodes = Find(jobs, 1795293630, 2, 2);
  ASSERT_NE(two_nodes, nullptr);
  EXPECT_EQ(two_nodes->memory_mib, 8000);
  EXPECT_EQ(two_nodes->minutes, 5);
  EXPECT_EQ(two_nodes->wait, 2);
  const JobStart* exclusive = Find(jobs, 1795293636, 16);
  ASSERT_NE(exclusive, nullptr) << "what was asked for, not the two whole nodes that it got";
  EXPECT_EQ(exclusive->wait, 7);
  EXPECT_NE(Find(jobs, 1795293630, 1), nullptr) << "the first start of the one that was requeued";
  const JobStart* again = Find(jobs, 1795293647, 1);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->wait, 0) << "it was not eligible before";
}

TEST(SacctText, AFullCluster) {
  const SliceJobs now = Read(Fixture("sacct_22_05_waiting"));
  EXPECT_EQ(now.unreadable, 0);
  // Two parts of one heterogeneous job, an array of four, and the one that waits in both.
  EXPECT_THAT(now.waiting, UnorderedElementsAre(Pair("gpu", 9), Pair("medium", 1)));
  ASSERT_EQ(now.starts.size(), 2u);
  EXPECT_EQ(now.starts[0].cpus, 2) << "asked for, of 32 that it has";
  EXPECT_EQ(now.starts[1].wait, kNeverStarted);

  const SliceJobs later = Read(Fixture("sacct_22_05_later"));
  EXPECT_EQ(later.unreadable, 0);
  EXPECT_TRUE(later.waiting.empty());
  ASSERT_EQ(later.starts.size(), 8u);
  EXPECT_EQ(later.starts[3].partition, "medium") << "the one of two where it started";
  EXPECT_EQ(later.starts[3].minutes, 240);
  EXPECT_EQ(later.starts[3].gpus, 1);
  EXPECT_EQ(later.starts[3].memory_mib, 1024);
  EXPECT_EQ(later.starts[3].wait, 7);
  EXPECT_EQ(later.starts[4].wait, 0) << "until the job that it depends on had ended it was not eligible";
  EXPECT_EQ(later.starts[5].cpus, 5) << "a heterogeneous job";
}

class AccountingTest : public testing::Test {
 protected:
  // What a program with this answer leads to.
  absl::StatusOr<SliceJobs> Read(const absl::StatusOr<ProgramResult>& answer) {
    Accounting accounting(
        [this, answer](const ProgramCall& call) {
          called_ = call;
          if (answer.ok() && call.on_output) call.on_output(answer->out);
          return answer;
        },
        {.cluster = "snowy"});
    return accounting.Read(1795219200, 1795305600, [](std::size_t) {});
  }
  ProgramCall called_;
};

TEST_F(AccountingTest, WhatSacctIsAsked) {
  ASSERT_TRUE(Read(ProgramResult{}).ok());
  EXPECT_THAT(called_.words, ElementsAre("sacct", "-M", "snowy", "--allusers", "--allocations", "--duplicates",
                                         "--parsable2", "--noheader", "--starttime=2026-11-21T00:00:00",
                                         "--endtime=2026-11-22T00:00:00", HasSubstr("--format=JobID,")));
  EXPECT_THAT(called_.environment, UnorderedElementsAre(Pair("TZ", "UTC"), Pair("SLURM_TIME_FORMAT", "%s")));
}

TEST_F(AccountingTest, WhatIsWrongWithIt) {
  const std::pair<absl::StatusOr<ProgramResult>, const char*> cases[] = {
      {ProgramResult{1, "", "Slurm accounting storage is disabled\n"}, "keeps no accounting"},
      {ProgramResult{1, "",
                     "sacct: error: Sending\nsacct: error: Problem talking to the database: Connection refused\n"},
       "Problem talking to the database: Connection refused"},
      {ProgramResult{3, "", ""}, "ended with code 3, without any output"},
      {absl::NotFoundError("no sacct in PATH"), "no sacct in PATH"},
  };
  for (const auto& [answer, words] : cases) {
    const absl::Status status = Read(answer).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    EXPECT_EQ(ExitCodeOf(status), kExitScheduler) << words;
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(Read(absl::DeadlineExceededError("too long")).status()));
  EXPECT_TRUE(absl::IsCancelled(Read(absl::CancelledError("stopped")).status()));
}

}  // namespace
}  // namespace hotplate::cli
