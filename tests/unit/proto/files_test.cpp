// The files of a HOTPLATE_DIR, as daemons and clients read and write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "proto/codec/job_id_block.h"
#include "proto/codec/json_file.h"
#include "tests/temporary_folder.h"

namespace hotplate::codec {
namespace {

using testing::HasSubstr;

class FilesTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() + "/" + name) << text; }
  absl::Status Read(const std::string& name) { return ReadJsonFile(folder_.path() + "/" + name, record_); }

  TemporaryFolder folder_;
  v1::EndpointRecord record_;
};

TEST_F(FilesTest, ARecordIsReadAsItWasWritten) {
  v1::EndpointRecord written;
  written.set_schema_version(1);
  written.set_name("local");
  written.set_pid_namespace(1ull << 60);
  const std::string json = ToJson(written);
  EXPECT_THAT(json, HasSubstr("\"schema_version\": 1"));  // the proto's names
  Write("a", json);
  ASSERT_TRUE(Read("a").ok());
  EXPECT_EQ(ToJson(record_), json);
}

TEST_F(FilesTest, FieldsOfANewerVersionAreIgnored) {
  Write("a", R"({"name": "local", "from_tomorrow": {"x": [1]}})");
  ASSERT_TRUE(Read("a").ok());
  EXPECT_EQ(record_.name(), "local");
}

TEST_F(FilesTest, WhatIsNoRecordIsRefused) {
  EXPECT_TRUE(absl::IsUnavailable(Read("nothing")));
  Write("text", "schema_version: 1");
  EXPECT_TRUE(absl::IsFailedPrecondition(Read("text")));
  Write("type", R"({"pid": "me"})");
  EXPECT_TRUE(absl::IsFailedPrecondition(Read("type")));
  Write("long", "{" + std::string(kLongestJsonFile, ' ') + "}");
  EXPECT_THAT(std::string(Read("long").message()), HasSubstr("longer than 262144 bytes"));
  // Nobody ever writes to it: opening it must not wait.
  ASSERT_EQ(mkfifo((folder_.path() + "/fifo").c_str(), 0600), 0);
  EXPECT_THAT(std::string(Read("fifo").message()), HasSubstr("not a regular file"));
}

TEST_F(FilesTest, BlocksAreListedInTheOrderInWhichTheyWereClaimed) {
  for (const char* name : {"101.0", "58.1", "58.0", "9.0", "1f.0", "58", "58.", ".1", "g1.new", "1.2.3"})
    Write(name, "{}");
  const auto keys = ListJobIdBlocks(folder_.path());
  ASSERT_TRUE(keys.has_value());
  const std::vector<JobIdBlockKey> expected = {{9, 0}, {58, 0}, {58, 1}, {101, 0}};
  EXPECT_EQ(*keys, expected);
  EXPECT_FALSE(ListJobIdBlocks(folder_.path() + "/nowhere").has_value());
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(FilesTest, ABlockWithoutNumbersIsNone) {
  v1::JobIdBlock block;
  block.set_first_job_id(58);
  block.set_last_job_id(100);
  Write("58.1", ToJson(block));
  EXPECT_EQ(ReadJobIdBlock(folder_.path(), {58, 1})->last_job_id(), 100u);
  EXPECT_FALSE(ReadJobIdBlock(folder_.path(), {58, 0}).has_value());
  Write("1.0", "{}");
  EXPECT_FALSE(ReadJobIdBlock(folder_.path(), {1, 0}).has_value());
  block.set_last_job_id(57);
  Write("58.2", ToJson(block));
  EXPECT_FALSE(ReadJobIdBlock(folder_.path(), {58, 2}).has_value());
}

}  // namespace
}  // namespace hotplate::codec
