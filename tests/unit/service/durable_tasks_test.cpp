// Tasks of sweeps on the disk: in which order they get there, and what the next daemon reads.
#include "server/durable/durable_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

class DurableTasksTest : public ::testing::Test {
 protected:
  std::unique_ptr<DurableTasks> Daemon() {
    return std::make_unique<DurableTasks>(*spool_, [](core::LogLevel, const std::string&) {});
  }
  static core::TaskRows Failed(std::uint64_t first, std::uint64_t count) {
    core::TaskRows rows;
    for (std::uint64_t row = first; row < first + count; ++row) {
      rows.rows.push_back(
          {.row = row, .task = row, .state = core::JobState::kFailed, .error = absl::InternalError("no")});
    }
    return rows;
  }
  // The runs since the last task, and in `tasks_` the number of tasks.
  std::optional<std::uint64_t> Restore(DurableTasks& daemon, std::uint64_t job) {
    tasks_ = 0;
    const auto runs = daemon.Restore(job, [&](const core::TaskRow&, std::span<const std::byte>) {
      ++tasks_;
      return true;
    });
    EXPECT_TRUE(runs.ok()) << runs.status();
    return runs.value_or(std::nullopt);
  }
  bool HasFile(std::uint64_t job) const {
    return std::filesystem::exists(folder_.File("spool") + "/jobs/" + std::to_string(job) + "/tasks.log");
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<journal::Spool> spool_ =
      journal::Spool::Open({.root = folder_.File("spool"), .journal_id = "one"}).value();
  int tasks_ = 0;
};

TEST_F(DurableTasksTest, TheEndComesBehindTheRowsThatStillWait) {
  const auto daemon = Daemon();
  for (std::uint64_t job = 1; job <= 50; ++job) {
    daemon->Started(job);
    for (std::uint64_t row = 0; row < 5; ++row) daemon->Write(job, Failed(row, 1));
    daemon->Ended(job, /*keep_file=*/job == 50);
  }
  daemon->Stop();
  for (std::uint64_t job = 1; job < 50; ++job) EXPECT_FALSE(HasFile(job)) << job;
  EXPECT_TRUE(HasFile(50));
  EXPECT_EQ(Restore(*Daemon(), 50), 0u);
  EXPECT_EQ(tasks_, 5);
}

TEST_F(DurableTasksTest, NothingIsWrittenBehindAnEndThatCouldNotWait) {
  const auto daemon = Daemon();
  daemon->Stop();
  daemon->Write(1, Failed(0, 1));
  EXPECT_TRUE(HasFile(1));
  daemon->Ended(1, /*keep_file=*/false);
  daemon->Write(1, Failed(1, 1));
  EXPECT_FALSE(HasFile(1));
}

// One that waited under five daemons was given up as if it had ended them.
TEST_F(DurableTasksTest, OnlyDaemonsUnderWhichItRanCount) {
  EXPECT_EQ(Restore(*Daemon(), 1), std::nullopt);
  auto daemon = Daemon();
  daemon->Started(1);
  daemon->Write(1, Failed(0, 3));
  daemon->Stop();
  for (int i = 0; i < 6; ++i) {
    daemon = Daemon();
    EXPECT_EQ(Restore(*daemon, 1), 0u);
    EXPECT_EQ(tasks_, 3);
    daemon->Stop();
  }
  for (std::uint64_t runs = 0; runs < 3; ++runs) {
    daemon = Daemon();
    EXPECT_EQ(Restore(*daemon, 1), runs);
    daemon->Started(1);
    daemon->Stop();
  }
  daemon = Daemon();
  EXPECT_EQ(Restore(*daemon, 1), 3u);
  daemon->Started(1);
  daemon->Write(1, Failed(3, 1));
  daemon->Stop();
  EXPECT_EQ(Restore(*Daemon(), 1), 0u);
  EXPECT_EQ(tasks_, 4);
}

}  // namespace
}  // namespace hotplate::server
