#include "server/journal/task_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/temporary_folder.h"

namespace hotplate::journal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<TaskEnd> ReadAll(const std::string& path, TaskLogFacts* facts = nullptr) {
  std::vector<TaskEnd> tasks;
  const absl::StatusOr<TaskLogFacts> read = ReadTaskLog(path, [&](TaskEnd end) { tasks.push_back(std::move(end)); });
  EXPECT_TRUE(read.ok()) << read.status();
  if (facts != nullptr && read.ok()) *facts = *read;
  return tasks;
}
std::vector<std::uint64_t> Rows(const std::vector<TaskEnd>& tasks) {
  std::vector<std::uint64_t> rows;
  for (const TaskEnd& task : tasks) rows.push_back(task.row);
  return rows;
}

class TaskLogTest : public ::testing::Test {
 protected:
  void Append(const std::vector<TaskEnd>& tasks) {
    absl::StatusOr<TaskLog> log = TaskLog::Open(path_);
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE(log->Append(tasks).ok());
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/tasks.log";
};

TEST_F(TaskLogTest, WhatWasAppendedIsReadBack) {
  EXPECT_TRUE(absl::IsNotFound(ReadTaskLog(path_, nullptr).status()));
  absl::StatusOr<TaskLog> log = TaskLog::Open(path_);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE(log->Append(std::vector<TaskEnd>{{.row = 0, .task = 7, .state = 3, .data = std::string("\0\1\2", 3)},
                                               {.row = 1, .task = 9, .state = 4, .code = 3, .error = "it is odd"}})
                  .ok());
  ASSERT_TRUE(log->Append(std::vector<TaskEnd>{{.row = 5, .task = 50, .state = 3}}).ok());
  const std::vector<TaskEnd> tasks = ReadAll(path_);
  EXPECT_THAT(Rows(tasks), ElementsAre(0, 1, 5));
  EXPECT_EQ(tasks[0].task, 7u);
  EXPECT_EQ(tasks[0].data, std::string("\0\1\2", 3));
  EXPECT_EQ(tasks[1].state, 4);
  EXPECT_EQ(tasks[1].code, 3);
  EXPECT_EQ(tasks[1].error, "it is odd");
}

TEST_F(TaskLogTest, ABatchThatWasCutOffAnywhereDoesNotCountAndTheNextTakesItsPlace) {
  Append({{.row = 1, .data = "one"}});
  const auto whole = std::filesystem::file_size(path_);
  Append({{.row = 2, .data = "two"}, {.row = 3, .data = "three"}});
  std::string bytes;
  {
    std::ifstream file(path_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  for (std::size_t length = whole; length < bytes.size(); ++length) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(length));
    ASSERT_THAT(Rows(ReadAll(path_)), ElementsAre(1)) << length;
  }
  Append({{.row = 4}});
  EXPECT_THAT(Rows(ReadAll(path_)), ElementsAre(1, 4));
}

TEST_F(TaskLogTest, DamageEndsIt) {
  Append({{.row = 1, .data = "one"}});
  const auto whole = static_cast<std::streamoff>(std::filesystem::file_size(path_));
  Append({{.row = 2, .data = "two"}});
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(whole + 20);
  file.put('\7');
  file.close();
  EXPECT_THAT(Rows(ReadAll(path_)), ElementsAre(1));
  // A length that is more than the file has.
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << std::string(8, '\xFF') << std::string(64, 'x');
  EXPECT_THAT(ReadAll(path_), IsEmpty());
}

TEST_F(TaskLogTest, MarksCountDaemonsSinceTheLastTask) {
  TaskLogFacts facts;
  Append({});
  ReadAll(path_, &facts);
  EXPECT_EQ(facts.marks_since_last_task, 1u);
  Append({{.row = 1}});
  ReadAll(path_, &facts);
  EXPECT_EQ(facts.marks_since_last_task, 0u);
  Append({});
  Append({});
  ReadAll(path_, &facts);
  EXPECT_EQ(facts.marks_since_last_task, 2u);
}

}  // namespace
}  // namespace hotplate::journal
