// Whether another job is to bring a daemon back.
#include "client/lib/follow_on.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace hotplate::client {
namespace {

TEST(IsFollowedTest, TheNoteOfTheAllocationTells) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/servers");
  std::filesystem::create_directories(folder.path() + "/allocations");
  const std::string note = folder.path() + "/allocations/work.json";
  FoundRecord found;
  found.path = folder.path() + "/servers/work.json";
  found.record.set_slurm_job_id("12");
  EXPECT_FALSE(IsFollowed(found)) << "there is no note";
  const auto followed = [&](const std::string& json) {
    std::ofstream(note) << json;
    return IsFollowed(found);
  };
  EXPECT_TRUE(followed(R"({"job_id": "12", "follow_on": ["13", "14"], "earlier": []})"));
  EXPECT_TRUE(followed(R"({"job_id": "13", "follow_on": ["14"], "earlier": ["12"]})")) << "the note has moved on";
  EXPECT_TRUE(followed(R"({"job_id": "13", "follow_on": [], "earlier": ["11", "12"]})"));
  EXPECT_FALSE(followed(R"({"job_id": "12", "follow_on": [], "earlier": ["11"]})")) << "the last one";
  EXPECT_FALSE(followed(R"({"job_id": "22", "follow_on": ["23"], "earlier": []})")) << "of another job";
  EXPECT_FALSE(followed(R"({"job_id": 12, "follow_on": {"a": 1}})"));
  EXPECT_FALSE(followed("{"));
  std::ofstream(note) << R"({"job_id": "12", "follow_on": ["13"]})";
  found.record.clear_slurm_job_id();
  EXPECT_FALSE(IsFollowed(found)) << "no job's daemon";
}

}  // namespace
}  // namespace hotplate::client
