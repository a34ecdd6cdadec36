// Job ids of all daemons of one folder: none twice, whoever ends or dies or starts at the same moment.
#include "server/saved/job_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "server/endpoint.h"
#include "server/wire/values.h"
#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JobIdsTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::permissions(directory_, std::filesystem::perms::owner_all); }

  std::unique_ptr<JobIds> Daemon(const std::string& name, const std::string& generation) {
    v1::DaemonLife life;
    life.set_name(name);
    life.set_generation(generation);
    wire::ToProto(std::chrono::system_clock::now(), *life.mutable_start_time());
    absl::StatusOr<std::unique_ptr<JobIds>> ids = JobIds::Open(directory_, std::move(life));
    EXPECT_TRUE(ids.ok()) << ids.status().ToString();
    return *std::move(ids);
  }
  static void ExpectBlock(JobIds& ids, std::uint64_t size, std::uint64_t first, std::uint64_t last) {
    const absl::StatusOr<core::NumberBlock> block = ids.Claim(size);
    ASSERT_TRUE(block.ok()) << block.status().ToString();
    EXPECT_EQ(block->first, first);
    EXPECT_EQ(block->last, last);
  }

  TemporaryFolder folder_;
  const std::string directory_ = folder_.path();
};

TEST_F(JobIdsTest, ASuccessorGoesOnWhereTheLastOneEnded) {
  const auto first = Daemon("local", "g1");
  ExpectBlock(*first, 100, 1, 100);
  ASSERT_TRUE(first->End({57}, JobIds::LastWords{}).ok());
  EXPECT_FALSE(first->Claim(100).ok()) << "it has ended";
  const auto second = Daemon("local", "g2");
  ExpectBlock(*second, 100, 58, 100);
  ExpectBlock(*second, 400, 101, 500);
  ASSERT_TRUE(second->End({70}, JobIds::LastWords{}).ok());
  ExpectBlock(*Daemon("local", "g3"), 100, 101, 500);
  struct stat facts {};
  ASSERT_EQ(stat((directory_ + "/jobs").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  ASSERT_EQ(stat((directory_ + "/jobs/1.0").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(JobIdsTest, ADaemonWithoutAJobUsesNone) {
  for (const char* generation : {"g1", "g2", "g3"}) {
    const auto ids = Daemon("local", generation);
    ExpectBlock(*ids, 100, 1, 100);
    ASSERT_TRUE(ids->End({0}, JobIds::LastWords{}).ok());
  }
}

TEST_F(JobIdsTest, NothingOfADaemonThatDiedIsUsedAgain) {
  ExpectBlock(*Daemon("local", "g1"), 100, 1, 100);
  ExpectBlock(*Daemon("local", "g2"), 100, 101, 200);
}

TEST_F(JobIdsTest, DaemonsAtTheSameTimeHaveNumbersOfTheirOwn) {
  constexpr int kDaemons = 8, kLives = 25;
  std::vector<std::vector<std::uint64_t>> used(kDaemons);
  std::vector<std::thread> threads;
  for (int i = 0; i < kDaemons; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int life = 0; life < kLives; ++life) {
        const auto ids = Daemon("d" + std::to_string(i), "g" + std::to_string(i) + "-" + std::to_string(life));
        std::uint64_t last = 0;
        for (std::uint64_t size = 1 + random() % 10; size < 200; size *= 4) {
          const auto block = ids->Claim(size);
          ASSERT_TRUE(block.ok()) << block.status().ToString();
          for (std::uint64_t n = block->first; n <= block->last; ++n) {
            if (random() % 20 == 0) break;
            ASSERT_GT(n, last) << "they go up";
            used[static_cast<std::size_t>(i)].push_back(last = n);
          }
          if (last < block->last) break;
        }
        if (random() % 4 == 0) continue;  // killed
        ASSERT_TRUE(ids->End({last}, JobIds::LastWords{}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  std::size_t count = 0;
  for (const auto& numbers : used) {
    all.insert(numbers.begin(), numbers.end());
    count += numbers.size();
  }
  EXPECT_GT(count, 1000u);
  EXPECT_EQ(all.size(), count) << "a number was given twice";
}

TEST_F(JobIdsTest, WhoseAJobWasIsKnown) {
  const auto ended = Daemon("early", "g1"), died = Daemon("dead", "g2"), lives = Daemon("other", "g3"),
             begins = Daemon("starts", "g5");
  ExpectBlock(*ended, 100, 1, 100);
  ExpectBlock(*died, 100, 101, 200);
  ExpectBlock(*lives, 100, 201, 300);
  ExpectBlock(*begins, 100, 301, 400);
  ASSERT_TRUE(ended->End({57}, JobIds::LastWords{}).ok());
  auto running = EndpointSlot::Claim(directory_, "other"), starts = EndpointSlot::Claim(directory_, "starts");
  ASSERT_TRUE(running.ok() && starts.ok());
  v1::EndpointRecord record;
  record.set_generation("g3");
  ASSERT_TRUE(running->Publish(record).ok());
  ASSERT_TRUE(died->Note("", {150}).ok());
  ASSERT_TRUE(lives->Note("", {230}).ok());
  const auto ids = Daemon("local", "g4");
  ExpectBlock(*ids, 100, 401, 500);
  EXPECT_THAT(ids->WhoseJob("57"), AllOf(HasSubstr("job 57 was of daemon \"early\""), HasSubstr("which ended at 20")));
  EXPECT_EQ(ids->WhoseJob("58"), "") << "it was nobody's";
  EXPECT_THAT(ids->WhoseJob("101"),
              AllOf(HasSubstr("daemon \"dead\""), HasSubstr("which died: it was last seen at 20")));
  EXPECT_THAT(ids->WhoseJob("230"),
              AllOf(HasSubstr("job 230 is of daemon \"other\""), HasSubstr("hotplate --server other")));
  EXPECT_THAT(ids->WhoseJob("250"), HasSubstr("job 250, if there is one, is of daemon \"other\""));
  EXPECT_THAT(ids->WhoseJob("350"), HasSubstr("hotplate --server starts"));
  EXPECT_THAT(ids->WhoseJob("151"), HasSubstr("job 151, if there was one, was of daemon \"dead\""));
  // A number below one that its daemon gave was given too.
  ExpectBlock(*lives, 100, 501, 600);
  ASSERT_TRUE(lives->Note("", {500}).ok());
  ids->Refresh();
  EXPECT_THAT(ids->WhoseJob("250"), HasSubstr("job 250, if there is one,")) << "the further block is not begun";
  ASSERT_TRUE(lives->Note("", {501}).ok());
  ids->Refresh();
  EXPECT_THAT(ids->WhoseJob("250"), HasSubstr("job 250 is of daemon \"other\""));
  for (const char* other : {"401", "601", "0", "", "x", "1x"}) EXPECT_EQ(ids->WhoseJob(other), "") << other;
}

TEST_F(JobIdsTest, TheDaemonBeforeIsNamedIfItLostSomething) {
  EXPECT_FALSE(Daemon("local", "g0")->Before().has_value());
  const auto died = Daemon("local", "g1");
  ExpectBlock(*died, 100, 1, 100);
  ASSERT_TRUE(died->Note("1 job that ran or waited (job 1)", {1}).ok());
  const std::string record = directory_ + "/servers/local.json";
  std::filesystem::create_directory(directory_ + "/servers");
  std::ofstream(record) << R"({"generation": "g1"})";
  std::optional<v1::DaemonLife> before = Daemon("local", "g2")->Before();
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->generation(), "g1");
  EXPECT_FALSE(before->has_end_time());
  EXPECT_EQ(before->held(), "1 job that ran or waited (job 1)");
  ASSERT_TRUE(std::filesystem::remove(record));
  EXPECT_FALSE(Daemon("local", "g2")->Before().has_value()) << "hotplate down has told of it";
  const auto calm = Daemon("local", "g3");
  ExpectBlock(*calm, 100, 101, 200);
  ASSERT_TRUE(calm->End({103}, JobIds::LastWords{}).ok());
  EXPECT_FALSE(Daemon("local", "g4")->Before().has_value()) << "g1 is not the daemon before";
  const auto lost = Daemon("local", "g5");
  ExpectBlock(*lost, 100, 104, 200);
  ASSERT_TRUE(lost->End({110}, JobIds::LastWords{.held = "1 array of 16 (a)"}).ok());
  before = Daemon("local", "g6")->Before();
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->generation(), "g5");
  EXPECT_TRUE(before->has_end_time());
}

// A client that goes over to the next daemon of the name must not find another array by an id of before.
TEST_F(JobIdsTest, ArraysGoOnBehindThoseOfTheDaemonsOfThatNameBefore) {
  const auto first = Daemon("local", "g1");
  EXPECT_EQ(first->FirstArray(), 1);
  ExpectBlock(*first, 100, 1, 100);
  ASSERT_TRUE(first->Note("", {0, 5}).ok());
  ASSERT_TRUE(first->End({0, 7}, JobIds::LastWords{}).ok());
  EXPECT_EQ(Daemon("other", "g2")->FirstArray(), 1);
  const auto killed = Daemon("local", "g3");
  EXPECT_EQ(killed->FirstArray(), 8);
  ExpectBlock(*killed, 100, 1, 100);
  ASSERT_TRUE(killed->Note("", {0, 20}).ok());
  const auto killed_at_once = Daemon("local", "g4");
  const std::uint64_t then = killed_at_once->FirstArray();
  EXPECT_GT(then, 100'000) << "it made some since its last note";
  ExpectBlock(*killed_at_once, 100, 101, 200);
  EXPECT_GT(Daemon("local", "g5")->FirstArray(), then + 100'000);
}

TEST_F(JobIdsTest, AFileThatMakesNoSenseIsNamed) {
  ExpectBlock(*Daemon("local", "g1"), 100, 1, 100);
  std::ofstream(directory_ + "/jobs/1.0") << "{";
  const auto block = Daemon("local", "g2")->Claim(100);
  EXPECT_FALSE(block.ok());
  EXPECT_THAT(std::string(block.status().message()),
              AllOf(HasSubstr(directory_ + "/jobs/1.0"), HasSubstr("remove it")));
}

// A folder ended the daemon, and a FIFO held it up for good.
TEST_F(JobIdsTest, ANameThatIsNoFileIsNamed) {
  const auto ids = Daemon("local", "g1");
  const std::string path = directory_ + "/jobs/1.0";
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  EXPECT_THAT(std::string(ids->Claim(100).status().message()), HasSubstr(path));
  ASSERT_EQ(rmdir(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(std::string(ids->Claim(100).status().message()), HasSubstr(path));
}

}  // namespace
}  // namespace hotplate::server
