// A full disk, one that must not be written to, one that fails, and damaged files: new jobs are refused with the
// reason, and nothing that is there is lost.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <set>
#include <thread>

#include "tests/unit/journal/journal_fixture.h"
#include "tests/unit/journal/lossy_disk.h"

namespace hotplate::journal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FailingDiskTest : public JournalTest {
 protected:
  FailingDiskTest() { disk_.Reset(folder_.File("stash")); }
  ~FailingDiskTest() override { disk_.Reset(folder_.File("stash")); }

  JournalOptions Lossy(const std::string& generation = "g1") {
    JournalOptions options = Options(generation);
    options.vfs = LossyDisk::kVfs;
    options.disk = &disk_;
    options.writer.retry = std::chrono::milliseconds(5);
    return options;
  }

  // Its end has come to the index.
  static void Await(const std::future<absl::Status>& written) {
    ASSERT_EQ(written.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  }

  LossyDisk& disk_ = LossyDisk::Get();
};

struct Failure {
  int error;
  absl::StatusCode code;
  std::string text;
};

class EachFailureTest : public FailingDiskTest, public ::testing::WithParamInterface<Failure> {};

TEST_P(EachFailureTest, RefusesNewJobsKeepsTheOthersAndRecovers) {
  const std::unique_ptr<Journal> journal = Open(Lossy());
  ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  ASSERT_TRUE(journal->Accepting().ok());
  disk_.FailOnly(".sqlite");
  disk_.Fail(GetParam().error);
  const absl::Status refusal = journal->Write(Accepted(2));
  EXPECT_EQ(refusal.code(), GetParam().code) << refusal;
  EXPECT_THAT(std::string(refusal.message()), HasSubstr(GetParam().text));
  EXPECT_THAT(std::string(refusal.message()), HasSubstr(folder_.path()));
  EXPECT_EQ(journal->Accepting().code(), GetParam().code);
  // What happens to accepted jobs is not forgotten; attached ones are not refused.
  std::promise<absl::Status> ended;
  std::future<absl::Status> written = ended.get_future();
  journal->Append(Started(1), Durability::kSynced);
  journal->Append(Ended(1), Durability::kSynced, [&](const absl::Status& status) { ended.set_value(status); });
  Note(*journal, Attached(50, At(1)));
  EXPECT_FALSE(journal->Write(Accepted(3)).ok());
  EXPECT_EQ(written.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  disk_.Fail(0);
  Await(written);
  EXPECT_TRUE(written.get().ok());
  EXPECT_TRUE(journal->Accepting().ok());
  ASSERT_TRUE(journal->Write(Accepted(4)).ok());
  ASSERT_TRUE(journal->Close("").ok());
  const std::unique_ptr<Journal> next = Open(Lossy("g2"));
  const Recovered found = next->Recover({}).value();
  ASSERT_THAT(found.unfinished, SizeIs(1));
  EXPECT_EQ(found.unfinished[0].accepted.number, 4u);
  ASSERT_THAT(found.ended, SizeIs(1));
  EXPECT_THAT(VerifyAll(*next).problems, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Disk, EachFailureTest,
                         ::testing::Values(Failure{ENOSPC, absl::StatusCode::kResourceExhausted, "full"},
                                           Failure{EROFS, absl::StatusCode::kFailedPrecondition, "readonly"},
                                           Failure{EIO, absl::StatusCode::kUnavailable, "I/O error"}),
                         [](const auto& test) {
                           return test.param.error == ENOSPC  ? "Full"
                                  : test.param.error == EROFS ? "ReadOnly"
                                                              : "Broken";
                         });

TEST_F(FailingDiskTest, FindsOutByItselfThatTheDiskWorksAgain) {
  std::atomic<int> tries = 0;
  JournalOptions options = Lossy();
  options.writer.at_step = [&](std::string_view step) { tries += step == "group: begin" ? 1 : 0; };
  const std::unique_ptr<Journal> journal = Open(options);
  disk_.FailOnly(".sqlite");
  disk_.Fail(ENOSPC);
  EXPECT_FALSE(journal->Write(Accepted(1)).ok());
  // Not by forgetting that it did not.
  for (const int enough = tries + 5; tries < enough; std::this_thread::yield()) {
    EXPECT_FALSE(journal->Accepting().ok());
  }
  disk_.Fail(0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!journal->Accepting().ok() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(journal->Write(Accepted(1)).ok());
}

// A sync that failed has lost what was written before it, and the next one does not say so. What is acknowledged later
// stands behind that in SQLite's log, and would be lost with it.
TEST_F(FailingDiskTest, WhatIsAcknowledgedAfterAFailedSyncOutlivesAPowerCut) {
  const pid_t child = fork();
  if (child == 0) {
    JournalOptions options = Lossy();
    options.writer.behind = std::chrono::milliseconds(1);
    const std::unique_ptr<Journal> journal = Open(options);
    std::promise<absl::Status> behind;
    bool good = journal->Write(Accepted(1)).ok();
    journal->Append(Started(1), Durability::kBehind, [&](const absl::Status& status) { behind.set_value(status); });
    good = behind.get_future().get().ok() && good;
    disk_.FailSyncs(EIO);
    good = !journal->Write(Accepted(2)).ok() && good;
    disk_.FailSyncs(0);
    while (!journal->Accepting().ok()) std::this_thread::yield();
    good = journal->Write(Accepted(3)).ok() && good;
    if (good) disk_.CutNow(LossyDisk::Loss::kPower, 0);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), LossyDisk::kCutExit);
  const Recovered recovered = Open(Lossy("g2"))->Recover({}).value();
  std::set<std::uint64_t> jobs;
  for (const KeptJob& job : recovered.unfinished) jobs.insert(job.accepted.number);
  EXPECT_TRUE(jobs.contains(1));
  EXPECT_TRUE(jobs.contains(3));
}

TEST_F(FailingDiskTest, CloseSaysWhatCouldNotBeWritten) {
  std::unique_ptr<Journal> journal = Open(Lossy());
  ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  disk_.FailOnly(".sqlite");
  disk_.Fail(ENOSPC);
  absl::Status started;
  journal->Append(Started(1), Durability::kSynced, [&](const absl::Status& status) { started = status; });
  EXPECT_TRUE(absl::IsResourceExhausted(journal->Close("")));
  EXPECT_TRUE(absl::IsResourceExhausted(started)) << started;
  disk_.Fail(0);
  journal.reset();
  EXPECT_THAT(Open(Lossy("g2"))->Recover({}).value().unfinished, SizeIs(1));
}

TEST_F(FailingDiskTest, AFullDiskAtTheStartIsSaid) {
  disk_.Fail(ENOSPC);
  EXPECT_TRUE(absl::IsResourceExhausted(Journal::Open(Lossy()).status()));
  disk_.Fail(EROFS);
  EXPECT_TRUE(absl::IsFailedPrecondition(Journal::Open(Lossy()).status()));
  disk_.Fail(0);
  EXPECT_TRUE(Journal::Open(Lossy()).ok());
}

// A fence that cannot be read is no reason to acknowledge, nor to give up for good.
TEST_F(FailingDiskTest, AFenceThatCannotBeReadIsAwaited) {
  const std::unique_ptr<Journal> journal = Open(Lossy());
  const std::string fence = folder_.File("journal/fence"), away = folder_.File("away");
  std::filesystem::rename(fence, away);
  EXPECT_TRUE(absl::IsUnavailable(journal->Write(Accepted(1))));
  std::filesystem::rename(away, fence);
  std::promise<absl::Status> written;
  std::future<absl::Status> done = written.get_future();
  journal->Append(JobFetched{.number = 9, .time = At(0)}, Durability::kSynced,
                  [&](const absl::Status& status) { written.set_value(status); });
  Await(done);
  EXPECT_TRUE(absl::IsNotFound(done.get()));
  EXPECT_TRUE(journal->Write(Accepted(1)).ok());
}

TEST_F(FailingDiskTest, ADamagedIndexRefusesForGoodAndIsReported) {
  {
    const std::unique_ptr<Journal> journal = Open();
    for (std::uint64_t i = 1; i <= 500; ++i) journal->Append(Accepted(i), Durability::kBehind);
    ASSERT_TRUE(journal->Close("").ok());
  }
  // All pages but the first, which has the schema.
  const std::string path = folder_.File("journal/index-1.sqlite");
  std::string bytes = ReadText(path);
  std::fill(bytes.begin() + 8 * 4096, bytes.end(), 'x');
  WriteText(path, bytes);
  const std::unique_ptr<Journal> journal = Open(Options("g2"));
  const absl::Status refusal = journal->Write(Accepted(501));
  EXPECT_TRUE(absl::IsDataLoss(refusal)) << refusal;
  EXPECT_TRUE(absl::IsDataLoss(journal->Accepting()));
  EXPECT_FALSE(VerifyAll(*journal).problems.empty());
}

TEST_F(FailingDiskTest, AFullSpoolLeavesNothingHalf) {
  const std::unique_ptr<Journal> journal = Open(Lossy());
  const absl::StatusOr<std::unique_ptr<Spool>> opened = Spool::Open(
      {.root = folder_.File("spool"), .journal_id = journal->id(), .limits = {.free_bytes = 0}, .disk = &disk_});
  ASSERT_TRUE(opened.ok());
  Spool& spool = **opened;
  const std::vector<float> elements(1000, 1.5F);
  const std::vector<SpoolItem> items = {Item("a", elements), Item("b", elements, true)};
  disk_.FailOnly("input-a");
  disk_.Fail(ENOSPC);
  EXPECT_TRUE(absl::IsResourceExhausted(spool.StoreInputs(1, items).status()));
  disk_.FailOnly("shared");
  EXPECT_TRUE(absl::IsResourceExhausted(spool.StoreInputs(1, items).status()));
  disk_.FailOnly("result");
  const std::vector<SpoolItem> results = {Item("out", elements)};
  EXPECT_TRUE(absl::IsResourceExhausted(spool.StoreResults(1, results, {}, Disk::Sync::kNow).status()));
  disk_.Fail(0);
  EXPECT_FALSE(std::filesystem::exists(folder_.File("spool/jobs/1/input-a.npy")));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("spool/jobs/1/results.json")));
  absl::StatusOr<Spool::Stored> stored = spool.StoreInputs(1, items);
  ASSERT_TRUE(stored.ok()) << stored.status();
  ASSERT_TRUE(journal->Write(Accepted(1, stored->files())).ok());
  stored->Keep();
  EXPECT_THAT(VerifyAll(*journal).problems, IsEmpty());
}

}  // namespace
}  // namespace hotplate::journal
