// What Slurm's and LSF's variables mean.
#include "server/slurm/allocation.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace hotplate::server {
namespace {

using Variables = std::map<std::string, std::string>;

Surroundings With(Variables variables, const std::string& node = "gpu1") {
  Surroundings surroundings;
  surroundings.node = node;
  surroundings.environment = [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return surroundings;
}

// As Slurm 22.05 sets them in a batch script.
const Variables kBatch = {{"SLURM_JOB_ID", "17"},         {"SLURM_CLUSTER_NAME", "fake"},
                          {"SLURMD_NODENAME", "gpu1"},    {"SLURM_JOB_NODELIST", "gpu[1-2]"},
                          {"SLURM_JOB_NUM_NODES", "2"},   {"SLURM_JOB_PARTITION", "gpu"},
                          {"SLURM_SUBMIT_HOST", "login"}, {"SLURM_JOB_GPUS", "0,2"},
                          {"SLURM_GPUS_ON_NODE", "2"},    {"SLURM_CPUS_ON_NODE", "4"},
                          {"SLURM_MEM_PER_CPU", "512"}};

Variables Plus(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

TEST(AllocationTest, ABatchScript) {
  const Allocation allocation = ReadAllocation(With(kBatch));
  EXPECT_EQ(allocation.system, BatchSystem::kSlurm);
  EXPECT_EQ(allocation.cluster, "fake");
  EXPECT_EQ(allocation.job_id, "17");
  EXPECT_EQ(allocation.partition, "gpu");
  EXPECT_EQ(allocation.node_list, "gpu[1-2]");
  EXPECT_EQ(allocation.node, "gpu1");
  EXPECT_EQ(allocation.submit_host, "login");
  EXPECT_EQ(allocation.restart_count, 0u);
  EXPECT_EQ(allocation.gpus, 2u);
  EXPECT_EQ(allocation.gpu_ids, "0,2");
  EXPECT_EQ(allocation.cpus, 4u);
  EXPECT_EQ(allocation.memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(allocation.memory_source, "SLURM_MEM_PER_CPU");
  EXPECT_FALSE(allocation.end_time);
  EXPECT_EQ(DefaultName(allocation), "fake-17") << "the script itself runs once, on the first node";
}

TEST(AllocationTest, OneDaemonPerNodeHasTheNodeInItsName) {
  Allocation allocation =
      ReadAllocation(With(Plus(kBatch, {{"SLURM_STEP_ID", "0"}, {"SLURMD_NODENAME", "gpu2.site"}})));
  EXPECT_EQ(DefaultName(allocation), "fake-17-gpu2");
  allocation = ReadAllocation(With(Plus(kBatch, {{"SLURM_STEP_ID", "0"}, {"SLURM_JOB_NUM_NODES", "1"}})));
  EXPECT_EQ(DefaultName(allocation), "fake-17");
}

// srun --jobid=17 --overlap on the login node.
TEST(AllocationTest, AStepFromOutside) {
  const Allocation allocation = ReadAllocation(With({{"SLURM_JOB_ID", "17"},
                                                     {"SLURMD_NODENAME", "gpu1"},
                                                     {"SLURM_STEP_ID", "0"},
                                                     {"SLURM_WORKING_CLUSTER", "lab:10.77.0.1:6817:9728:109"},
                                                     {"SLURM_STEP_GPUS", "0"},
                                                     {"SLURM_GPUS_ON_NODE", "1"},
                                                     {"SLURM_CPUS_ON_NODE", "4"}}));
  EXPECT_EQ(allocation.cluster, "lab");
  EXPECT_EQ(DefaultName(allocation), "lab-17");
  EXPECT_EQ(allocation.gpu_ids, "0");
  EXPECT_EQ(allocation.cpus, 4u);
}

TEST(AllocationTest, NoneByHand) {
  EXPECT_TRUE(ReadAllocation(With({})).empty());
  EXPECT_EQ(DefaultName(ReadAllocation(With({}))), "local");
  EXPECT_EQ(AllocationElsewhere(With({})), "");
}

TEST(AllocationTest, TheShellOfSallocOnTheLoginNodeIsNotInIt) {
  const Surroundings shell =
      With({{"SLURM_JOB_ID", "17"}, {"SLURM_CLUSTER_NAME", "fake"}, {"SLURM_GPUS_ON_NODE", "1"}});
  EXPECT_TRUE(ReadAllocation(shell).empty());
  EXPECT_EQ(ReadAllocation(shell).gpus, 0u);
  EXPECT_EQ(AllocationElsewhere(shell), "17");
  EXPECT_EQ(AllocationElsewhere(With(kBatch)), "");
}

TEST(AllocationTest, EndAndRestartsWhereSlurmSaysThem) {
  const Allocation allocation =
      ReadAllocation(With(Plus(kBatch, {{"SLURM_JOB_END_TIME", "1790000000"}, {"SLURM_RESTART_COUNT", "3"}})));
  ASSERT_TRUE(allocation.end_time);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*allocation.end_time), 1790000000);
  EXPECT_EQ(allocation.restart_count, 3u);
}

TEST(AllocationTest, WhatIsNoNumberIsNothing) {
  for (const char* wrong : {"", "soon", "-1", "1e3", "99999999999999999999"}) {
    const Allocation allocation = ReadAllocation(With(Plus(kBatch, {{"SLURM_JOB_END_TIME", wrong},
                                                                    {"SLURM_RESTART_COUNT", wrong},
                                                                    {"SLURM_CPUS_ON_NODE", wrong},
                                                                    {"SLURM_MEM_PER_CPU", wrong},
                                                                    {"SLURM_JOB_NUM_NODES", wrong}})));
    EXPECT_FALSE(allocation.end_time) << wrong;
    EXPECT_EQ(allocation.restart_count, 0u) << wrong;
    EXPECT_EQ(allocation.cpus, 0u) << wrong;
    EXPECT_EQ(allocation.memory_bytes, 0u) << wrong;
  }
}

TEST(AllocationTest, GpusAreCountedWhereSlurmOnlyListsThem) {
  Variables variables = kBatch;
  variables.erase("SLURM_GPUS_ON_NODE");
  const auto gpus = [&](const std::string& list) {
    return ReadAllocation(With(Plus(variables, {{"SLURM_JOB_GPUS", list}}))).gpus;
  };
  EXPECT_EQ(gpus("0"), 1u);
  EXPECT_EQ(gpus("1,3"), 2u);
  EXPECT_EQ(gpus("0-3,6"), 5u);
  for (const char* wrong : {"", "x", "3-1", "0-", "0-99999999", ",,"}) EXPECT_EQ(gpus(wrong), 0u) << wrong;
}

TEST(AllocationTest, MemoryPerNodeAndPerGpu) {
  Variables variables = kBatch;
  variables.erase("SLURM_MEM_PER_CPU");
  const auto bytes = [&](const Variables& more) { return ReadAllocation(With(Plus(variables, more))).memory_bytes; };
  EXPECT_EQ(bytes({}), 0u);
  EXPECT_EQ(bytes({{"SLURM_MEM_PER_NODE", "1000"}}), std::uint64_t{1000} << 20);
  EXPECT_EQ(bytes({{"SLURM_MEM_PER_NODE", "0"}}), 0u) << "all of the node's";
  EXPECT_EQ(bytes({{"SLURM_MEM_PER_GPU", "1000"}}), std::uint64_t{2000} << 20);
}

TEST(AllocationTest, TheNumbersOfTheGpus) {
  const auto numbers = [&](const std::string& list) {
    return ReadAllocation(With(Plus(kBatch, {{"SLURM_JOB_GPUS", list}}))).gpu_numbers;
  };
  EXPECT_EQ(numbers("0,2"), (std::vector<int>{0, 2}));
  EXPECT_EQ(numbers("4-6,1"), (std::vector<int>{4, 5, 6, 1}));
  for (const char* wrong : {"", "x", "3-1", "0-9999"}) EXPECT_TRUE(numbers(wrong).empty()) << wrong;
  EXPECT_EQ(ReadAllocation(With(Plus(kBatch, {{"SLURM_STEP_GPUS", "1"}}))).gpu_numbers, (std::vector<int>{1, 0, 2}))
      << "inherited from the shell that submitted";
}

// By IBM's documentation of the variables.
const Variables kLsf = {{"LSB_JOBID", "17"},
                        {"LSB_QUEUE", "batch"},
                        {"LSB_SUB_HOST", "login1"},
                        {"LSB_HOSTS", "batch1 h41n01 h41n01 h41n02"},
                        {"LSB_MCPU_HOSTS", "batch1 1 h41n01 42 h41n02 42"}};

TEST(AllocationTest, AnLsfJob) {
  const Allocation allocation = ReadAllocation(With(kLsf, "h41n01.ascent.olcf.ornl.gov"));
  EXPECT_EQ(allocation.system, BatchSystem::kLsf);
  EXPECT_EQ(allocation.cluster, "lsf");
  EXPECT_EQ(allocation.job_id, "17");
  EXPECT_EQ(allocation.partition, "batch");
  EXPECT_EQ(allocation.submit_host, "login1");
  EXPECT_EQ(allocation.node, "h41n01");
  EXPECT_EQ(allocation.node_list, "batch1,h41n01,h41n02");
  EXPECT_EQ(allocation.gpus, 0u);
  EXPECT_FALSE(allocation.end_time);
  EXPECT_EQ(DefaultName(allocation), "lsf-17");
}

TEST(AllocationTest, AnLsfJobsOtherForms) {
  EXPECT_EQ(ReadAllocation(With(Plus(kLsf, {{"LSF_CLUSTER", "ascent"}}), "h41n01")).cluster, "ascent");
  const Allocation element = ReadAllocation(With(Plus(kLsf, {{"LSB_JOBINDEX", "3"}}), "h41n01"));
  EXPECT_EQ(element.job_id, "17[3]");
  EXPECT_EQ(DefaultName(element), "lsf-17-3-");
  EXPECT_EQ(ReadAllocation(With(Plus(kLsf, {{"LSB_JOBINDEX", "0"}}), "h41n01")).job_id, "17") << "no array";
  // The list is absent where it would be too long.
  EXPECT_EQ(ReadAllocation(With(Plus(kLsf, {{"LSB_HOSTS", ""}}), "h41n02")).node, "h41n02");
  EXPECT_EQ(ReadAllocation(With(Plus(kLsf, {{"LSB_MCPU_HOSTS", ""}}), "h41n02")).node_list, "batch1,h41n01,h41n02");
  EXPECT_EQ(ReadAllocation(With({{"LSB_JOBID", "17"}}, "h41n02")).node, "h41n02");
}

TEST(AllocationTest, AnotherNodeThanTheLsfJobs) {
  EXPECT_TRUE(ReadAllocation(With(kLsf, "login1")).empty());
  EXPECT_EQ(AllocationElsewhere(With(kLsf, "login1")), "17");
  EXPECT_EQ(AllocationElsewhere(With(kLsf, "h41n01")), "");
}

TEST(AllocationTest, SlurmsGoesFirst) {
  EXPECT_EQ(ReadAllocation(With(Plus(kBatch, kLsf), "h41n01")).system, BatchSystem::kSlurm);
  Variables shell = Plus(kBatch, kLsf);
  shell.erase("SLURMD_NODENAME");
  EXPECT_TRUE(ReadAllocation(With(shell, "h41n01")).empty());
}

TEST(AllocationTest, NamesAreWhatADaemonMayHave) {
  Allocation allocation;
  allocation.job_id = "17";
  EXPECT_EQ(DefaultName(allocation), "slurm-17");
  allocation.cluster = "../clu ster/with a name that does not end";
  allocation.node = "node.with.a.domain";
  allocation.one_of_several = true;
  EXPECT_EQ(DefaultName(allocation), "---clu-ster-with-a-name--17-node");
  EXPECT_LE(DefaultName(allocation).size(), 64u);
}

}  // namespace
}  // namespace hotplate::server
