// When the allocation ends, and how the daemon comes to know.
#include "server/slurm/allocation_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using core::WallTime;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

WallTime At(std::int64_t second) { return WallTime(seconds(second)); }

// A folder at the front of PATH with a squeue of the test's own.
class AskSqueueTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  void Squeue(const std::string& script) { chmod(folder_.Write("squeue", "#!/bin/sh\n" + script).c_str(), 0700); }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(AskSqueueTest, AsksThisNodesClusterForSeconds) {
  setenv("SLURM_CLUSTERS", "another", 1);
  setenv("SQUEUE_FORMAT", "nonsense", 1);
  Squeue("echo \"$*\" >" + folder_.File("words") + "; env >" + folder_.File("env") +
         "; echo '17|RUNNING|N/A|1790000000|gpu1|1001|None'\n");
  const auto end = AskSqueue("17", {});
  unsetenv("SLURM_CLUSTERS");
  unsetenv("SQUEUE_FORMAT");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(*end, At(1790000000));
  EXPECT_EQ(ReadText(folder_.File("words")), "-h -a -t all -j 17 -o %A|%T|%S|%e|%N|%U|%r\n");
  EXPECT_THAT(ReadText(folder_.File("env")), AllOf(HasSubstr("SLURM_TIME_FORMAT=%s\n"),
                                                   Not(HasSubstr("SLURM_CLUSTERS")), Not(HasSubstr("SQUEUE_FORMAT"))));
}

TEST_F(AskSqueueTest, NoEndIsNotFound) {
  for (const char* script : {"", "echo '16|RUNNING|N/A|1790000000|gpu1|1001|None'\n",
                             "echo '17|RUNNING|N/A|N/A|gpu1|1001|None'\n", "echo Invalid job id >&2; exit 1\n"}) {
    Squeue(script);
    const auto end = AskSqueue("17", {});
    EXPECT_EQ(end.status().code(), absl::StatusCode::kNotFound) << script;
    EXPECT_THAT(std::string(end.status().message()), HasSubstr("job 17")) << script;
  }
}

TEST_F(AskSqueueTest, ItsOwnWordsWhenItFails) {
  Squeue("echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1\n");
  const auto end = AskSqueue("17", {});
  EXPECT_EQ(end.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(end.status().message()), AllOf(HasSubstr("status 1"), HasSubstr("Unable to contact")));
}

// Far more than anything here takes, on a machine of whatever speed.
constexpr std::chrono::minutes kBound(2);

bool Becomes(const std::function<bool()>& state) {
  for (const auto end = std::chrono::steady_clock::now() + kBound; !state(); std::this_thread::yield()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

// Tells what an AllocationEnd told, one thing at a time.
class Told {
 public:
  AllocationEnd::Options Options(std::optional<WallTime> known, const std::vector<absl::StatusOr<WallTime>>& answers) {
    AllocationEnd::Options options;
    options.known = known;
    options.interval = std::chrono::milliseconds(1);
    options.ask = [this, answers](const std::stop_token& stop) -> absl::StatusOr<WallTime> {
      std::unique_lock lock(mutex_);
      if (asked_ < answers.size()) return answers[asked_++];
      ++asked_;
      wake_.notify_all();
      if (!hang_) return answers.back();
      lock.unlock();
      EXPECT_TRUE(Becomes([&] { return stop.stop_requested(); }));
      return absl::CancelledError("");
    };
    options.changed = [this](std::optional<WallTime> before, WallTime now) {
      Note((before ? std::to_string(WallTime::clock::to_time_t(*before)) : "none") + ">" +
           std::to_string(WallTime::clock::to_time_t(now)));
    };
    options.failed = [this](const absl::Status& why) { Note(std::string(why.message())); };
    return options;
  }
  void Hang() { hang_ = true; }
  // When every answer was given, and one more.
  std::vector<std::string> All(std::size_t answers) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(wake_.wait_for(lock, kBound, [&] { return asked_ > answers; }));
    return notes_;
  }

 private:
  void Note(std::string text) {
    const std::scoped_lock lock(mutex_);
    notes_.push_back(std::move(text));
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::string> notes_;
  std::size_t asked_ = 0;
  bool hang_ = false;
};

TEST(AllocationEndTest, FollowsWhatSlurmSays) {
  Told told;
  const std::vector<absl::StatusOr<WallTime>> answers = {At(1000), At(1000), At(900), At(2000)};
  AllocationEnd end(told.Options(std::nullopt, answers));
  EXPECT_FALSE(end.Get());
  end.Start();
  EXPECT_THAT(told.All(4), testing::ElementsAre("none>1000", "1000>900", "900>2000"));
  EXPECT_EQ(end.Get(), At(2000));
}

TEST(AllocationEndTest, WhatTheEnvironmentSaidIsNoNews) {
  Told told;
  AllocationEnd end(told.Options(At(1000), {At(1000), At(1100)}));
  EXPECT_EQ(end.Get(), At(1000));
  end.Start();
  EXPECT_THAT(told.All(2), testing::ElementsAre("1000>1100"));
}

TEST(AllocationEndTest, AFailureIsSaidOnceAndTheOldEndStays) {
  Told told;
  const absl::Status down = absl::UnavailableError("down");
  AllocationEnd end(told.Options(At(1000), {down, down, down, At(1100), down}));
  end.Start();
  EXPECT_THAT(told.All(5), testing::ElementsAre("down", "1000>1100", "down"));
  EXPECT_EQ(end.Get(), At(1100));
}

TEST(AllocationEndTest, StopsAQuestionUnderWay) {
  Told told;
  told.Hang();
  AllocationEnd end(told.Options(std::nullopt, {At(1000)}));
  end.Start();
  told.All(1);
  end.Stop();
  EXPECT_EQ(end.Get(), At(1000));
}

TEST(AllocationEndTest, WhatElseIsAskedHoldsNoAnswerBack) {
  Told told;
  AllocationEnd::Options options = told.Options(std::nullopt, {At(1000)});
  options.interval = std::chrono::hours(1);
  std::atomic<int> asked{0};
  options.then = [&](const std::stop_token& stop) {
    ++asked;
    EXPECT_TRUE(Becomes([&] { return stop.stop_requested(); }));
  };
  AllocationEnd end(std::move(options));
  end.Start();
  ASSERT_TRUE(Becomes([&] { return asked == 1; }));
  EXPECT_EQ(end.Get(), At(1000));
  EXPECT_EQ(end.answers(), 1u);
  end.Stop();
  EXPECT_EQ(asked, 1);
}

TEST(AllocationEndTest, RefreshAsksWithoutWaiting) {
  Told told;
  AllocationEnd::Options options = told.Options(std::nullopt, {At(1000)});
  options.interval = std::chrono::hours(1);
  AllocationEnd end(std::move(options));
  EXPECT_FALSE(end.Refresh()) << "nobody asks";
  end.Start();
  ASSERT_TRUE(Becomes([&] { return end.answers() > 0; }));
  EXPECT_TRUE(end.Refresh());
  EXPECT_TRUE(Becomes([&] { return end.answers() > 1; }));
}

TEST(AllocationEndTest, WithoutAnIntervalNobodyAsks) {
  Told told;
  AllocationEnd::Options options = told.Options(At(1000), {At(2000)});
  options.interval = {};
  AllocationEnd end(std::move(options));
  end.Start();
  EXPECT_FALSE(end.Refresh());
  EXPECT_EQ(end.Get(), At(1000));
}

TEST(EndWarningsTest, TwiceAndAgainAfterAReprieve) {
  EndWarnings warnings;
  EXPECT_FALSE(warnings.Due(minutes(11)));
  EXPECT_TRUE(warnings.Due(minutes(10)));
  EXPECT_FALSE(warnings.Due(minutes(9)));
  EXPECT_FALSE(warnings.Due(seconds(121)));
  EXPECT_TRUE(warnings.Due(seconds(119)));
  EXPECT_FALSE(warnings.Due(seconds(1)));
  EXPECT_FALSE(warnings.Due(seconds(-1)));
  EXPECT_FALSE(warnings.Due(minutes(5))) << "put off, but the first warning holds";
  EXPECT_TRUE(warnings.Due(minutes(2)));
  EXPECT_FALSE(warnings.Due(minutes(30)));
  EXPECT_TRUE(warnings.Due(minutes(10)));
}

TEST(EndWarningsTest, AShortAllocationIsWarnedOfOnce) {
  EndWarnings warnings;
  EXPECT_TRUE(warnings.Due(seconds(60)));
  EXPECT_FALSE(warnings.Due(seconds(59)));
}

}  // namespace
}  // namespace hotplate::server
