// What Slurm's variables mean.
#include "server/allocation.h"

#include <gtest/gtest.h>

#include <map>

namespace hotplate::server {
namespace {

using Variables = std::map<std::string, std::string>;

Surroundings With(Variables variables) {
  Surroundings surroundings;
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
