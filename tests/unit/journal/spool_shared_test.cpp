// Files of arrays that are durable by themselves, which jobs share.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "kernels/array/npy.h"
#include "tests/unit/journal/spool_fixture.h"

namespace hotplate::journal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An array that is durable by itself.
class SpoolOfDurableArraysTest : public SpoolTest {
 protected:
  SpoolOfDurableArraysTest() : large_(1000, 1.5F) {
    item_ = Item("a", large_, true);
    item_.file = folder_.File("A.npy");
    Write(large_);
    spool_ = OpenSpool(*journal_, {.bytes = 2000, .free_bytes = 0});
  }
  void Write(const std::vector<float>& elements) {
    std::filesystem::remove(item_.file);
    const auto bytes = std::as_bytes(std::span(elements));
    folder_.Write("A.npy", NpyHeaderFor(*item_.signature) +
                               std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  void AcceptLinked(std::uint64_t number) {
    absl::StatusOr<Spool::Stored> stored = spool_->StoreInputs(number, std::span(&item_, 1));
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_TRUE(stored->files().front().file.starts_with("linked/"));
    ASSERT_TRUE(journal_->Write(Accepted(number, stored->files())).ok());
    stored->Keep();
  }

  const std::vector<float> large_;
  SpoolItem item_;
};

TEST_F(SpoolOfDurableArraysTest, ItsFileIsSharedBeyondTheLimit) {
  for (const std::uint64_t number : {1, 2}) AcceptLinked(number);
  EXPECT_EQ(spool_->used_bytes(), 0u);
  EXPECT_EQ(SpooledBytes(*journal_).value(), 0u);
  EXPECT_EQ(Count("shared"), 0u);
  // The array may go, and its file be written anew: the jobs have what they were given.
  Write(std::vector<float>(1000, 7));
  EXPECT_EQ(VerifyAll(*journal_).files, 1u);
  EXPECT_THAT(VerifyAll(*journal_).problems, IsEmpty());
  std::filesystem::remove(item_.file);
  EXPECT_EQ(SweepSpool(*journal_, *spool_)->shared, 0u);
  EXPECT_TRUE(Has("jobs/1/input-a.npy"));
  for (const std::uint64_t number : {1, 2}) {
    ASSERT_TRUE(journal_->Write(Started(number)).ok());
    ASSERT_TRUE(journal_->Write(Ended(number)).ok());
    Fetch(number);
  }
  EXPECT_EQ(Prune(*journal_, spool_.get(), {.now = At(100'000), .age = std::chrono::seconds(1)})->released, 2u);
  EXPECT_EQ(Count("linked"), 0u);
  EXPECT_EQ(Count("jobs"), 0u);
  EXPECT_EQ(spool_->used_bytes(), 0u);
}

TEST_F(SpoolOfDurableArraysTest, ItsFileBecomesReadOnly) {
  AcceptLinked(1);
  struct stat facts {};
  ASSERT_EQ(stat(item_.file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0400u);
  EXPECT_EQ(facts.st_nlink, 3u) << "it, linked/ and jobs/1";
}

TEST_F(SpoolOfDurableArraysTest, AFileWithOtherBytesIsNotShared) {
  Write(std::vector<float>(1000, 7));
  const std::string refusal(spool_->StoreInputs(1, std::span(&item_, 1)).status().message());
  EXPECT_THAT(refusal, HasSubstr("may have 2.0 kB"));
  EXPECT_THAT(refusal, HasSubstr("A.npy has changed since it was written"));
  EXPECT_EQ(Count("linked"), 0u);
  spool_ = OpenSpool(*journal_);
  const absl::StatusOr<Spool::Stored> copied = spool_->StoreInputs(1, std::span(&item_, 1));
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_TRUE(copied->files().front().file.starts_with("shared/"));
  EXPECT_EQ(spool_->used_bytes(), 4128u);
}

TEST_F(SpoolOfDurableArraysTest, WhatAKilledDaemonLinkedIsSwept) {
  absl::StatusOr<Spool::Stored> stored = spool_->StoreInputs(1, std::span(&item_, 1));
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(Count("linked"), 1u);
  EXPECT_THAT(VerifyAll(*journal_).notes, testing::Contains(HasSubstr("linked/")));
  EXPECT_EQ(SweepSpool(*journal_, *spool_)->shared, 1u);
  EXPECT_EQ(Count("linked"), 0u);
  EXPECT_TRUE(std::filesystem::exists(item_.file));
}

}  // namespace
}  // namespace hotplate::journal
