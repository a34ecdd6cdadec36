// Long rows on any number of threads, whatever this machine has: pieces, merges and the borders between them. And what
// the sorts refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/catalogue/sort/merge_cpu.h"
#include "kernels/catalogue/sort_by_key/radix_cpu.h"
#include "kernels/devices/cpu/cpu_context.h"
#include "kernels/spec/spec.h"

namespace hotplate {
namespace {

// Sorts by sort's own way; empty if it was cancelled.
std::vector<std::int32_t> Sorted(const std::vector<std::int32_t>& keys, int threads, hotplate_control& control) {
  ThreadBudget budget(threads, threads);
  CpuContext context(budget, control);
  std::vector<std::int32_t> a(keys.size()), sorted(keys.size());
  const bool complete = sort::SortLongRow(
      keys.size(), a.data(), sorted.data(), [&](std::size_t i) { return keys[i]; },
      [&](std::size_t i, std::int32_t key) { sorted[i] = key; }, context);
  return complete ? sorted : std::vector<std::int32_t>();
}

TEST(SortRows, AreInOrderOnAnyNumberOfThreads) {
  std::mt19937_64 random(7);
  const std::size_t piece = sort::kMergedAtOnce;
  for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, piece, 4 * piece, 3 * piece + 5, 9 * piece + 1}) {
    for (const std::uint64_t different : {3, 1'000'000}) {
      std::vector<std::int32_t> keys(n);
      for (std::int32_t& key : keys) key = static_cast<std::int32_t>(random() % different) - 1;
      std::vector<std::int32_t> expected = keys;
      std::sort(expected.begin(), expected.end());
      for (const int threads : {1, 2, 3, 4, 7, 16}) {
        hotplate_control control{};
        EXPECT_TRUE(Sorted(keys, threads, control) == expected) << n << " keys, " << threads << " threads";
        EXPECT_EQ(control.progress, 1'000'000u);
      }
    }
  }
}

TEST(SortRows, KeepToTheirPartOfTheProgress) {
  const std::size_t n = 2 * sort::kSerialBelow;
  ThreadBudget budget(2, 2);
  for (const std::size_t row : {0, 1, 2}) {
    const CpuContext::Part part = CpuContext::Part().Step(row, 3);
    const auto at = [](double fraction) { return static_cast<std::uint32_t>(fraction * 1e6); };
    hotplate_control control{.cancel = 0, .progress = at(part.from)};
    CpuContext context(budget, control);
    std::vector<std::int32_t> a(n), sorted(n);
    EXPECT_TRUE(sort::SortLongRow(
        n, a.data(), sorted.data(), [](std::size_t i) { return -static_cast<std::int32_t>(i); },
        [&](std::size_t i, std::int32_t key) { sorted[i] = key; }, context, part));
    EXPECT_EQ(control.progress, at(part.to));
    std::vector<std::uint64_t> counts(sort_by_key::PieceCount(n) * sort_by_key::kDigits);
    std::vector<sort_by_key::Entry> b(n), c(n);
    EXPECT_TRUE(sort_by_key::SortLongRow(
        n, counts.data(), b.data(), c.data(), [](std::size_t i) { return sort_by_key::Entry{.key = ~i, .index = i}; },
        [](std::size_t, const sort_by_key::Entry&) {}, context, part));
    EXPECT_EQ(control.progress, at(part.to));
  }
}

TEST(SortRows, EndWhenCancelled) {
  hotplate_control control{.cancel = 1, .progress = 0};
  EXPECT_TRUE(Sorted(std::vector<std::int32_t>(200'000, 5), 2, control).empty());
}

TEST(SortRows, OfWideKeysAreInTheOnlyStableOrder) {
  std::mt19937_64 random(11);
  for (const std::size_t n : {sort::kSerialBelow, sort::kSerialBelow + 70'003}) {
    // All digits, one digit, and none that tells keys apart.
    for (const std::uint64_t mask : {~0ull, 0xffull << 40, 0x3ull, 0ull}) {
      std::vector<std::uint64_t> keys(n);
      for (std::uint64_t& key : keys) key = random() & mask;
      std::vector<std::uint64_t> expected(n);
      std::iota(expected.begin(), expected.end(), 0u);
      std::stable_sort(expected.begin(), expected.end(),
                       [&](std::uint64_t a, std::uint64_t b) { return keys[a] < keys[b]; });
      for (const int threads : {1, 2, 5}) {
        hotplate_control control{};
        ThreadBudget budget(threads, threads);
        CpuContext context(budget, control);
        std::vector<std::uint64_t> counts(sort_by_key::PieceCount(n) * sort_by_key::kDigits), order(n);
        std::vector<sort_by_key::Entry> a(n), b(n);
        ASSERT_TRUE(sort_by_key::SortLongRow(
            n, counts.data(), a.data(), b.data(),
            [&](std::size_t i) { return sort_by_key::Entry{.key = keys[i], .index = i}; },
            [&](std::size_t i, const sort_by_key::Entry& entry) { order[i] = entry.index; }, context));
        EXPECT_TRUE(order == expected) << n << " keys of mask " << mask << ", " << threads << " threads";
      }
    }
  }
}

std::string Refusal(const std::string& kernel, const std::map<std::string, Signature>& inputs) {
  const KernelSpec& spec = **BuiltinCatalog().Find(kernel);
  return spec.Bind({}, inputs, HOTPLATE_PRECISION_DEFAULT).status().ToString();
}

TEST(SortSpecs, RefuseWhatHasNoRowsOrTooMany) {
  using testing::HasSubstr;
  const std::int64_t many = std::int64_t{1} << 17;
  const Signature scalar{DType::kFloat32, {}}, long_row{DType::kInt32, {many * many}},
      rows{DType::kInt32, {many, many}}, long_rows{DType::kInt32, {many, 8 * many}};
  const Signature ten{DType::kInt32, {10}}, twenty{DType::kFloat64, {20}};
  EXPECT_THAT(Refusal("sort", {{"x", scalar}}), HasSubstr("x is a scalar, which has no last axis"));
  EXPECT_EQ(Refusal("sort", {{"x", long_row}}), "OK");
  EXPECT_EQ(Refusal("sort", {{"x", long_rows}}), "OK") << "each is sorted by itself";
  EXPECT_THAT(
      Refusal("sort", {{"x", rows}}),
      HasSubstr("x is [131072, 131072]; rows shorter than 1048576 may have at most 4294967295 elements together"));
  EXPECT_THAT(Refusal("sort_by_key", {{"keys", scalar}, {"values", scalar}}), HasSubstr("keys is a scalar"));
  EXPECT_THAT(Refusal("sort_by_key", {{"keys", long_rows}, {"values", long_rows}}),
              HasSubstr("keys is [131072, 1048576]; there may be at most 4294967295 keys"));
  EXPECT_THAT(Refusal("sort_by_key", {{"keys", long_row}, {"values", long_row}}),
              HasSubstr("keys is [17179869184]; there may be at most 4294967295 keys"));
  EXPECT_THAT(Refusal("sort_by_key", {{"keys", ten}, {"values", twenty}}),
              HasSubstr("values is [20], keys is [10]; keys and values must"));
}

}  // namespace
}  // namespace hotplate
