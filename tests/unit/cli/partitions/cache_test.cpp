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
constexpr EpochSeconds kDay = 86'400, kNow = 20'000 * kDay;

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
  SliceCache Cache(CacheLimits limits = {}) { return SliceCache(folder(), "lab", kNow, limits); }
  std::string folder() const { return folder_.path() + "/cache"; }
  std::string PathOf(EpochSeconds from, EpochSeconds to) const {
    return folder() + "/waits/lab/" + std::to_string(from) + "-" + std::to_string(to) + ".waits";
  }

  TemporaryFolder folder_;
};

TEST_F(CacheTest, WhatWasKeptIsFound) {
  const EpochSeconds from = kNow - 2 * kDay;
  Cache().Keep(from, from + kDay, Jobs(from));
  SliceCache cache = Cache();
  const auto found = cache.Find(from, kNow);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->to, from + kDay);
  ASSERT_EQ(found->jobs.starts.size(), 3u);
  EXPECT_EQ(found->jobs.starts[1].partition, "medium,gpu");
  EXPECT_EQ(found->jobs.starts[1].wait, kNeverStarted);
  EXPECT_EQ(found->jobs.starts[2].start, from + 2);
  EXPECT_EQ(found->jobs.starts[2].minutes, kUnlimited);
  EXPECT_EQ(found->jobs.starts[2].memory_mib, kUnknownMemory);
  EXPECT_EQ(found->jobs.starts[2].gpus, 2);
  EXPECT_EQ(found->jobs.unreadable, 5);
  EXPECT_FALSE(cache.Find(from + 1, kNow));
  EXPECT_FALSE(cache.Find(from, from + kDay - 1)) << "longer than wanted";
  EXPECT_FALSE(SliceCache(folder(), "other", kNow).Find(from, kNow)) << "of another cluster";
}

TEST_F(CacheTest, ItIsForThisUserAlone) {
  Cache().Keep(kNow - kDay, kNow, Jobs(kNow - kDay));
  for (const fs::path path : {folder(), folder() + "/waits/lab", PathOf(kNow - kDay, kNow)}) {
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 077, 0u) << path;
  }
  ASSERT_EQ(chmod((folder() + "/waits/lab").c_str(), 0770), 0);
  SliceCache open = Cache();
  EXPECT_NE(open.unusable(), "");
  EXPECT_FALSE(open.Find(kNow - kDay, kNow)) << "others could have written it";
}

TEST_F(CacheTest, NamesThatAreNoFolders) {
  for (const char* name : {"", "..", "a/b", ".hidden", "a b"}) {
    SliceCache cache(folder(), name, kNow);
    EXPECT_NE(cache.unusable(), "") << name;
    cache.Keep(kNow - kDay, kNow, Jobs(kNow - kDay));
  }
  EXPECT_FALSE(fs::exists(folder()));
  std::ofstream(folder_.path() + "/file") << "in the way";
  EXPECT_NE(SliceCache(folder_.path() + "/file", "lab", kNow).unusable(), "");
}

TEST_F(CacheTest, TheLongestSliceCounts) {
  const EpochSeconds from = kNow - kDay;
  Cache().Keep(from, from + 100, Jobs(from));
  SliceCache cache = Cache();
  cache.Keep(from, from + 500, Jobs(from));
  EXPECT_EQ(cache.Find(from, kNow)->to, from + 500);
  EXPECT_FALSE(fs::exists(PathOf(from, from + 100))) << "covered by the longer one";
}

TEST_F(CacheTest, DamagedFilesCountAsNone) {
  const EpochSeconds from = kNow - kDay;
  const std::string whole = SliceText(from, kNow, Jobs(from));
  ASSERT_TRUE(ParseSlice(whole, from, kNow));
  EXPECT_FALSE(ParseSlice(whole, from, kNow + 1));
  EXPECT_FALSE(ParseSlice(whole + "more\n", from, kNow));
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_FALSE(ParseSlice(whole.substr(0, length), from, kNow)) << length;
  std::string huge = whole;
  huge.replace(huge.find(" 3 "), 3, " 99999999999999 ");
  EXPECT_FALSE(ParseSlice(huge, from, kNow));

  Cache().Keep(from, kNow, Jobs(from));
  std::ofstream(PathOf(from, kNow)) << whole.substr(0, 40);
  SliceCache cache = Cache();
  EXPECT_FALSE(cache.Find(from, kNow));
  EXPECT_FALSE(fs::exists(PathOf(from, kNow)));
}

TEST_F(CacheTest, ItsSizeAndAgeAreBounded) {
  for (int day = 1; day <= 5; ++day) {
    const EpochSeconds from = kNow - day * kDay;
    Cache().Keep(from, from + kDay, Jobs(from, 100));
  }
  const std::uint64_t bytes = fs::file_size(PathOf(kNow - kDay, kNow));
  Cache({.bytes = 2 * bytes + bytes / 2});
  EXPECT_TRUE(fs::exists(PathOf(kNow - kDay, kNow)));
  EXPECT_TRUE(fs::exists(PathOf(kNow - 2 * kDay, kNow - kDay)));
  EXPECT_FALSE(fs::exists(PathOf(kNow - 3 * kDay, kNow - 2 * kDay)));
  Cache({.seconds = kDay / 2});
  EXPECT_TRUE(fs::exists(PathOf(kNow - kDay, kNow)));
  EXPECT_FALSE(fs::exists(PathOf(kNow - 2 * kDay, kNow - kDay)));
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
