// The bytes of a guest's detached jobs on the disk: what counts, what is refused, and what is given back.
#include "server/durable/guests_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/base/status.h"

namespace hotplate::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kQuota = 100;

journal::SpooledFile InputOf(const std::string& content, std::uint64_t bytes) {
  journal::SpooledFile file;
  file.sha256 = journal::Sha256Of(content);
  file.bytes = bytes;
  return file;
}

journal::PartOfJob PartOf(std::uint64_t job, std::optional<journal::FileRole> file, std::uint64_t bytes, bool fetched) {
  return {.job = job, .owner = "anna", .fetched = fetched, .file = file, .sha256 = {}, .bytes = bytes};
}

class GuestsDiskTest : public ::testing::Test {
 protected:
  absl::Status Take(std::uint64_t job, const std::vector<journal::SpooledFile>& inputs, std::uint64_t results,
                    std::uint64_t quota = kQuota) {
    return disk_.Take({job, "anna", 0, results, inputs}, quota);
  }
  std::uint64_t has() const { return disk_.BytesOf("anna"); }

  GuestsDisk disk_;
};

TEST_F(GuestsDiskTest, InputsAndTheMostOfResultsCountUntilTheJobIsReleased) {
  ASSERT_TRUE(Take(1, {InputOf("a", 30)}, 40).ok());
  EXPECT_EQ(has(), 70u);
  const absl::Status refused = Take(2, {}, 31);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("token \"anna\" has 70 bytes of detached jobs on the disk"),
            HasSubstr("this job needs 31 more; its limit quota-bytes is 100"), HasSubstr("hotplate result JOB")));
  EXPECT_THAT(Violations(refused), SizeIs(0)) << "it may do later";
  EXPECT_EQ(has(), 70u);
  EXPECT_TRUE(disk_.Take({2, "ben", 0, 31}, kQuota).ok());
  disk_.SetResults(1, 10);  // fewer than it might have had
  EXPECT_EQ(has(), 40u);
  ASSERT_TRUE(Take(3, {}, 31).ok());
  disk_.Release(1);
  EXPECT_EQ(has(), 31u);
  disk_.Release(1);
  EXPECT_EQ(has(), 31u);
}

TEST_F(GuestsDiskTest, WhatNeverFitsIsSaidWithTheField) {
  const absl::Status refused = Take(1, {InputOf("a", 60)}, 41);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  ASSERT_THAT(Violations(refused), SizeIs(1));
  EXPECT_EQ(Violations(refused)[0].field, "quota-bytes");
  EXPECT_TRUE(Take(1, {InputOf("a", 60)}, 41, 0).ok()) << "no bound";
  EXPECT_EQ(has(), 101u);
}

TEST_F(GuestsDiskTest, AContentCountsOnceForAToken) {
  ASSERT_TRUE(Take(1, {InputOf("a", 60), InputOf("a", 60)}, 0).ok());
  ASSERT_TRUE(Take(2, {InputOf("a", 60)}, 10).ok());
  EXPECT_EQ(has(), 70u);
  const std::vector<journal::SpooledFile> inputs = {InputOf("a", 60)};
  ASSERT_TRUE(disk_.Take({3, "ben", 0, 0, inputs}, kQuota).ok());
  EXPECT_EQ(disk_.BytesOf("ben"), 60u);
  disk_.Release(1);
  EXPECT_EQ(has(), 70u);
  disk_.Release(2);
  EXPECT_EQ(has(), 0u);
}

TEST_F(GuestsDiskTest, WhatTheJournalHasCounts) {
  using journal::FileRole;
  disk_.Add(PartOf(1, FileRole::kInput, 30, true));
  disk_.Add(PartOf(1, FileRole::kResult, 15, true));
  disk_.Add(PartOf(1, FileRole::kResult, 5, true));
  disk_.Add(PartOf(1, std::nullopt, 5, true));
  disk_.Add(PartOf(2, FileRole::kInput, 30, false));
  EXPECT_EQ(has(), 55u);
  EXPECT_TRUE(disk_.IsFetched(1));
  EXPECT_FALSE(disk_.IsFetched(2));
  disk_.SetResults(2, "anna", 40);  // it goes on under this daemon
  EXPECT_EQ(has(), 95u);
  EXPECT_EQ(Take(3, {}, 10).code(), absl::StatusCode::kResourceExhausted);
  disk_.Release(1);
  EXPECT_EQ(has(), 70u);
}

TEST_F(GuestsDiskTest, AnOutputWhoseSizeComesLateFindsRoomOrNot) {
  ASSERT_TRUE(Take(1, {}, 60).ok());
  ASSERT_TRUE(Take(2, {}, 0).ok());
  disk_.SetResults(2, "anna", 50);
  EXPECT_THAT(std::string(disk_.CheckResults(2, kQuota).message()), HasSubstr("has 60 bytes"));
  EXPECT_THAT(disk_.WithFetched(), IsEmpty());
  disk_.Fetched(1);
  EXPECT_TRUE(disk_.CheckResults(2, kQuota).ok()) << "what was fetched makes room";
  EXPECT_THAT(disk_.WithFetched(), ElementsAre("anna")) << "and goes, since both are too much";
  EXPECT_TRUE(disk_.CheckResults(2, 0).ok());
  EXPECT_TRUE(disk_.CheckResults(99, kQuota).ok());
  disk_.SetResults(2, 0);
  EXPECT_EQ(has(), 60u);
  disk_.Release(1);
  EXPECT_THAT(disk_.WithFetched(), IsEmpty());
}

TEST_F(GuestsDiskTest, ARequestCountsAsLongAsTheJobIsThere) {
  ASSERT_TRUE(disk_.Take({1, "anna", 50, 40}, kQuota).ok());
  EXPECT_FALSE(disk_.Take({2, "anna", 11, 0}, kQuota).ok());
  disk_.SetResults(1, 0);
  EXPECT_EQ(has(), 50u);
  disk_.Release(1);
  EXPECT_EQ(has(), 0u);
}

TEST_F(GuestsDiskTest, JobsOfNoGuestAreNotCounted) {
  disk_.SetResults(7, 1000);
  disk_.Fetched(7);
  disk_.Release(7);
  EXPECT_EQ(has(), 0u);
}

}  // namespace
}  // namespace hotplate::server
