// Bins, quantiles and the table: what stands in it is what the jobs waited.
#include "client/cli/partitions/waits.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "client/cli/partitions/wait_text.h"

namespace hotplate::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// NumPy's default, on the sorted values, step by step.
double NaiveQuantile(std::vector<std::uint32_t> values, double q) {
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(place)), high = static_cast<std::size_t>(std::ceil(place));
  return values[low] + (place - static_cast<double>(low)) * (static_cast<double>(values[high]) - values[low]);
}

TEST(Waits, QuantilesOfKnownValues) {
  std::vector<std::uint32_t> one = {7};
  EXPECT_EQ(Quantile(one, 0.5), 7);
  EXPECT_EQ(Quantile(one, 0.9), 7);
  std::vector<std::uint32_t> four = {40, 10, 30, 20};
  EXPECT_EQ(Quantile(four, 0.5), 25);
  EXPECT_DOUBLE_EQ(Quantile(four, 0.9), 37);
  EXPECT_EQ(Quantile(four, 0), 10);
  EXPECT_EQ(Quantile(four, 1), 40);
}

TEST(Waits, QuantilesAreThoseOfTheSortedValues) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t size = 1 + random() % (round % 10 == 0 ? 1000 : 12);
    // Few different values, or the whole range.
    const std::uint32_t most = round % 3 == 0 ? 4 : std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> values(size);
    for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random()) % most;
    const double q = round % 2 == 0 ? (round % 4 == 0 ? 0.5 : 0.9) : std::uniform_real_distribution<>(0, 1)(random);
    const double expected = NaiveQuantile(values, q);
    std::vector<std::uint32_t> reordered = values;
    ASSERT_NEAR(Quantile(reordered, q), expected, 1e-6) << "q " << q << " of " << size << " values, round " << round;
    std::sort(values.begin(), values.end());
    std::sort(reordered.begin(), reordered.end());
    ASSERT_EQ(reordered, values) << "it may reorder, not change";
  }
}

TEST(Waits, Edges) {
  EXPECT_THAT(*ParseEdges("4,16,64"), ElementsAre(4, 16, 64));
  EXPECT_THAT(*ParseEdges("0.5"), ElementsAre(0.5));
  for (const char* wrong : {"", ",", "4,", ",4", "4,4", "16,4", "0,4", "-1", "a", "4;16", "inf", "nan", "4, 16",
                            "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21"})
    EXPECT_FALSE(ParseEdges(wrong)) << wrong;
}

TEST(Waits, LabelsAreTrueAsTheyStand) {
  const Bins processor_hours(Measure::kCpuHours, {4, 16, 64});
  EXPECT_EQ(processor_hours.Label(0), "< 4 CPUh");
  EXPECT_EQ(processor_hours.Label(1), "4–16 CPUh");
  EXPECT_EQ(processor_hours.Label(3), "> 64 CPUh");
  EXPECT_EQ(processor_hours.IndexOf(0), 0u);
  EXPECT_EQ(processor_hours.IndexOf(3.999), 0u);
  EXPECT_EQ(processor_hours.IndexOf(4), 1u);
  EXPECT_EQ(processor_hours.IndexOf(16), 2u);
  EXPECT_EQ(processor_hours.IndexOf(64), 2u) << "not over 64";
  EXPECT_EQ(processor_hours.IndexOf(64.001), 3u);
  EXPECT_EQ(processor_hours.IndexOf(kInfinite), 3u);
  const Bins one(Measure::kMemory, {4});
  EXPECT_EQ(one.Label(0), "< 4 GB");
  EXPECT_EQ(one.Label(1), "≥ 4 GB");
  EXPECT_EQ(one.IndexOf(4), 1u);
  const Bins gpus(Measure::kGpus, DefaultEdges(Measure::kGpus));
  std::vector<std::string> labels;
  for (std::size_t bin = 0; bin < gpus.size(); ++bin) labels.push_back(gpus.Label(bin));
  EXPECT_THAT(labels, ElementsAre("no GPU", "1 GPU", "2–3 GPUs", "4–7 GPUs", "≥ 8 GPUs"));
  EXPECT_EQ(gpus.IndexOf(0), 0u);
  EXPECT_EQ(gpus.IndexOf(1), 1u);
  EXPECT_EQ(gpus.IndexOf(3), 2u);
  EXPECT_EQ(gpus.IndexOf(8), 4u);
}

TEST(Waits, Sizes) {
  const JobStart job{
      .partition = "gpu", .start = 1, .wait = 0, .cpus = 6, .minutes = 90, .memory_mib = 3072, .gpus = 2};
  EXPECT_EQ(SizeOf(job, Measure::kCpuHours, {}), 9);
  EXPECT_EQ(SizeOf(job, Measure::kMemory, {}), 3);
  EXPECT_EQ(SizeOf(job, Measure::kGpus, {}), 2);
  JobStart other = job;
  other.minutes = kUnlimited;
  EXPECT_EQ(SizeOf(other, Measure::kCpuHours, {}), kInfinite);
  other.minutes = kPartitionLimit;
  EXPECT_EQ(SizeOf(other, Measure::kCpuHours, {}), std::nullopt);
  EXPECT_EQ(SizeOf(other, Measure::kCpuHours, 600), 60);
  EXPECT_EQ(SizeOf(other, Measure::kCpuHours, kUnlimited), kInfinite);
  other.memory_mib = kUnknownMemory;
  EXPECT_EQ(SizeOf(other, Measure::kMemory, {}), std::nullopt);
}

JobStart Job(const std::string& partition, std::int64_t wait, std::int64_t cpus, EpochSeconds start = 1000) {
  return {
      .partition = partition, .start = start, .wait = wait, .cpus = cpus, .minutes = 60, .memory_mib = 1024, .gpus = 0};
}

TEST(Waits, TheTable) {
  WaitTable table(Bins(Measure::kCpuHours, {4, 16}), {{"gpu", 60}, {"int", {}}, {"empty", 60}}, 1000);
  SliceJobs first, second;
  first.starts = {Job("gpu", 10, 1), Job("gpu", 20, 2), Job("gpu", 7200, 8), Job("old", 5, 1), Job("gpu", 1, 1, 999)};
  first.unreadable = 2;
  second.starts = {Job("gpu", 30, 3), Job("int", 0, 100), Job("int", 0, 1), Job("int", kNeverStarted, 0),
                   Job("gpu,int", kNeverStarted, 0)};
  second.starts[2].minutes = kPartitionLimit;
  table.Add(first);
  table.Add(second);
  table.SetWaiting({{"gpu", 3}, {"elsewhere", 4}});
  const std::vector<PartitionWaits> waits = table.Waits();
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[0].bins[0].jobs, 3u) << "the one before --since is none";
  EXPECT_EQ(waits[0].bins[0].median, 20);
  EXPECT_DOUBLE_EQ(waits[0].bins[0].p90, 28);
  EXPECT_EQ(waits[0].bins[1].median, 7200);
  EXPECT_EQ(waits[0].bins[2].jobs, 0u);
  EXPECT_EQ(waits[0].all.jobs, 4u);
  EXPECT_EQ(waits[0].all.median, 25);
  EXPECT_EQ(waits[0].waiting, 3);
  EXPECT_EQ(waits[0].never_started, 1u);
  EXPECT_EQ(waits[1].bins[2].jobs, 1u);
  EXPECT_EQ(waits[1].unknown_size, 1u);
  EXPECT_EQ(waits[1].all.jobs, 2u);
  EXPECT_EQ(waits[1].never_started, 1u);
  EXPECT_EQ(waits[2].all.jobs, 0u);
  EXPECT_EQ(table.unreadable(), 2);

  EXPECT_EQ(WaitTableText(table.bins(), waits, false),
            "PARTITION  < 4 CPUh  4–16 CPUh  > 16 CPUh  WAITING NOW\n"
            "gpu        20 s (3)  2 h (1)    -          3\n"
            "  90 %     28 s      2 h\n"
            "int        -         -          0 s (1)    0\n"
            "  90 %                          0 s\n"
            "empty      -         -          -          0\n");
  const std::string json = WaitJson({"lab", 1000, 2000, false}, table, waits);
  EXPECT_THAT(json, HasSubstr(R"("since":1000,"until":2000,)"));
  EXPECT_THAT(json, HasSubstr(R"({"label":"< 4 CPUh","from":0,"to":4,"jobs":3,"medianSeconds":20,"p90Seconds":28})"));
  EXPECT_THAT(
      json, HasSubstr(R"({"label":"> 16 CPUh","from":16,"to":null,"jobs":0,"medianSeconds":null,"p90Seconds":null})"));
  EXPECT_THAT(json, Not(HasSubstr("inf")));
}

TEST(Waits, TextOfAWait) {
  const std::pair<double, const char*> cases[] = {
      {0, "0 s"},     {0.5, "0.5 s"},  {42, "42 s"},     {59.9, "59.9 s"},  {59.96, "1.0 m"}, {60, "1 m"},
      {492, "8.2 m"}, {3599, "1.0 h"}, {12240, "3.4 h"}, {172799, "2.0 d"}, {864000, "10 d"}, {1e7, "116 d"}};
  for (const auto& [wait, text] : cases) EXPECT_EQ(WaitText(wait), text) << wait;
}

}  // namespace
}  // namespace hotplate::cli
