// The cache of slices: what is damaged, foreign or old counts as none, and it never grows without end.
#include "client/cli/partitions/cache.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

namespace fs = std::filesystem;
constexpr EpochSeconds kOneDay = 86'400, kMidnight = 20'000 * kOneDay;

SliceJobs Jobs(EpochSeconds from, std::size_t count = 3) {
  SliceJobs jobs;
  for (std::size_t i = 0; i < count; ++i)
    jobs.starts.push_back({.partition = i % 2 == 0 ? "gpu" : "medium,gpu",
                           .start = from + static_cast<EpochSeconds>(i),
                           .wait = i == 1 ? kNeverStarted : 77,
                           .cpus = 4,
                           .minutes = kUnlimited,
                           .memory_mib = kUnknownMemory,
                           .gpus = 2});
  jobs.unreadable = 5;
  return jobs;
}

class CacheTest : public testing::Test {
 protected:
  SliceCache Cache(CacheLimits limits = {}) { return SliceCache(folder(), "lab", kMidnight, limits); }
  std::string folder() const { return folder_.path() + "/cache"; }
  std::string PathOf(EpochSeconds from, EpochSeconds to) const {
    return folder() + "/waits/lab/" + std::to_string(from) + "-" + std::to_string(to) + ".waits";
  }

  TemporaryFolder folder_;
};

TEST_F(CacheTest, WhatWasKeptIsFound) {
  const EpochSeconds from = kMidnight - 2 * kOneDay;
  Cache().Keep(from, from + kOneDay, Jobs(from));
  SliceCache cache = Cache();
  const auto found = cache.Find(from, kMidnight);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->to, from + kOneDay);
  ASSERT_EQ(found->jobs.starts.size(), 3u);
  EXPECT_EQ(found->jobs.starts[1].partition, "medium,gpu");
  EXPECT_EQ(found->jobs.starts[1].wait, kNeverStarted);
  EXPECT_EQ(found->jobs.starts[2].start, from + 2);
  EXPECT_EQ(found->jobs.starts[2].minutes, kUnlimited);
  EXPECT_EQ(found->jobs.starts[2].memory_mib, kUnknownMemory);
  EXPECT_EQ(found->jobs.starts[2].gpus, 2);
  EXPECT_EQ(found->jobs.unreadable, 5);
  EXPECT_FALSE(cache.Find(from + 1, kMidnight));
  EXPECT_FALSE(cache.Find(from, from + kOneDay - 1)) << "longer than wanted";
  EXPECT_FALSE(SliceCache(folder(), "other", kMidnight).Find(from, kMidnight)) << "of another cluster";
}

TEST_F(CacheTest, ItIsForThisUserAlone) {
  Cache().Keep(kMidnight - kOneDay, kMidnight, Jobs(kMidnight - kOneDay));
  for (const fs::path path : {folder(), folder() + "/waits/lab", PathOf(kMidnight - kOneDay, kMidnight)}) {
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 077, 0u) << path;
  }
  ASSERT_EQ(chmod((folder() + "/waits/lab").c_str(), 0770), 0);
  SliceCache open = Cache();
  EXPECT_NE(open.unusable(), "");
  EXPECT_FALSE(open.Find(kMidnight - kOneDay, kMidnight)) << "others could have written it";
}

TEST_F(CacheTest, NamesThatAreNoFolders) {
  for (const char* name : {"", "..", "a/b", ".hidden", "a b"}) {
    SliceCache cache(folder(), name, kMidnight);
    EXPECT_NE(cache.unusable(), "") << name;
    cache.Keep(kMidnight - kOneDay, kMidnight, Jobs(kMidnight - kOneDay));
  }
  EXPECT_FALSE(fs::exists(folder()));
  std::ofstream(folder_.path() + "/file") << "in the way";
  EXPECT_NE(SliceCache(folder_.path() + "/file", "lab", kMidnight).unusable(), "");
}

TEST_F(CacheTest, TheLongestSliceCounts) {
  const EpochSeconds from = kMidnight - kOneDay;
  Cache().Keep(from, from + 100, Jobs(from));
  SliceCache cache = Cache();
  cache.Keep(from, from + 500, Jobs(from));
  EXPECT_EQ(cache.Find(from, kMidnight)->to, from + 500);
  EXPECT_FALSE(fs::exists(PathOf(from, from + 100))) << "covered by the longer one";
}

TEST_F(CacheTest, DamagedFilesCountAsNone) {
  const EpochSeconds from = kMidnight - kOneDay;
  const std::string whole = SliceText(from, kMidnight, Jobs(from));
  ASSERT_TRUE(ParseSlice(whole, from, kMidnight));
  EXPECT_FALSE(ParseSlice(whole, from, kMidnight + 1));
  EXPECT_FALSE(ParseSlice(whole + "more\n", from, kMidnight));
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_FALSE(ParseSlice(whole.substr(0, length), from, kMidnight)) << length;
  std::string huge = whole;
  huge.replace(huge.find(" 3 "), 3, " 99999999999999 ");
  EXPECT_FALSE(ParseSlice(huge, from, kMidnight));

  Cache().Keep(from, kMidnight, Jobs(from));
  std::ofstream(PathOf(from, kMidnight)) << whole.substr(0, 40);
  SliceCache cache = Cache();
  EXPECT_FALSE(cache.Find(from, kMidnight));
  EXPECT_FALSE(fs::exists(PathOf(from, kMidnight)));
}

TEST_F(CacheTest, ItsSizeAndAgeAreBounded) {
  for (int day = 1; day <= 5; ++day) {
    const EpochSeconds from = kMidnight - day * kOneDay;
    Cache().Keep(from, from + kOneDay, Jobs(from, 100));
  }
  const std::uint64_t bytes = fs::file_size(PathOf(kMidnight - kOneDay, kMidnight));
  Cache({.bytes = 2 * bytes + bytes / 2});
  EXPECT_TRUE(fs::exists(PathOf(kMidnight - kOneDay, kMidnight)));
  EXPECT_TRUE(fs::exists(PathOf(kMidnight - 2 * kOneDay, kMidnight - kOneDay)));
  EXPECT_FALSE(fs::exists(PathOf(kMidnight - 3 * kOneDay, kMidnight - 2 * kOneDay)));
  Cache({.seconds = kOneDay / 2});
  EXPECT_TRUE(fs::exists(PathOf(kMidnight - kOneDay, kMidnight)));
  EXPECT_FALSE(fs::exists(PathOf(kMidnight - 2 * kOneDay, kMidnight - kOneDay)));
}

TEST_F(CacheTest, DraftsOfProgramsThatWereKilledGo) {
  Cache();
  const std::string old = PathOf(1, 2) + ".77", fresh = PathOf(1, 2) + ".78";
  for (const std::string& path : {old, fresh}) std::ofstream(path) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
  Cache();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "somebody may be writing it";
}

TEST_F(CacheTest, ItsPlace) {
  std::map<std::string, std::string> variables;
  const Environment environment = [&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  Settings settings;
  settings.directory = "/home/me/.hotplate";
  EXPECT_EQ(CacheFolder(settings, environment), "/home/me/.hotplate/cache");
  variables["XDG_CACHE_HOME"] = "/scratch/me";
  EXPECT_EQ(CacheFolder(settings, environment), "/scratch/me/hotplate");
  variables["XDG_CACHE_HOME"] = "relative";
  EXPECT_EQ(CacheFolder(settings, environment), "/home/me/.hotplate/cache");
}

}  // namespace
}  // namespace hotplate::cli
