// One daemon has a journal, and who lost it acknowledges nothing.
#include "server/journal/fence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/unit/journal/journal_fixture.h"

namespace hotplate::journal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class FenceTest : public JournalTest {
 protected:
  // Makes the newest record one of a daemon on another machine, which was last heard of so long ago.
  void MoveElsewhere(std::chrono::seconds silent) {
    const Owner owner = Fence::Newest(folder_.File("journal"), Disk::Real()).value();
    const std::string record = folder_.File("journal/owner-" + std::to_string(owner.epoch));
    std::string text = ReadText(record);
    const std::size_t at = text.find(owner.boot);
    text.replace(at, 4, "feed");
    text.replace(text.find("node b-cn1"), 10, "node other");
    WriteText(record, text);
    const auto then = std::chrono::system_clock::now() - silent;
    const timespec time{std::chrono::floor<std::chrono::seconds>(then).time_since_epoch().count(), 0};
    const timespec times[2] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, record.c_str(), times, 0), 0);
  }
};

TEST_F(FenceTest, ASecondDaemonIsToldWhoHasIt) {
  const std::unique_ptr<Journal> journal = Open();
  const absl::Status refusal = Journal::Open(Options("g2")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refusal));
  EXPECT_THAT(std::string(refusal.message()),
              testing::AllOf(HasSubstr("daemon \"local\" (pid " + std::to_string(getpid()) + " on b-cn1, Slurm job 12"),
                             HasSubstr("is running")));
  EXPECT_TRUE(journal->Write(Accepted(1)).ok());
}

TEST_F(FenceTest, AClosedJournalIsFreeAtOnce) {
  ASSERT_TRUE(Open()->Close("").ok());
  MoveElsewhere(std::chrono::seconds(0));
  const std::unique_ptr<Journal> journal = Open(Options("g2"));
  EXPECT_EQ(journal->epoch(), 2u);
  EXPECT_TRUE(journal->before()->ended);
}

TEST_F(FenceTest, AnotherMachinesDaemonIsAwaitedUntilItIsSilentOrKnownToBeGone) {
  { const std::unique_ptr<Journal> journal = Open(); }
  MoveElsewhere(std::chrono::seconds(5));
  EXPECT_THAT(std::string(Journal::Open(Options("g2")).status().message()),
              HasSubstr("may be running: it was last seen "));
  JournalOptions options = Options("g2");
  options.is_gone = [](const Owner& owner) { return owner.life.slurm_job == "12"; };
  { const std::unique_ptr<Journal> journal = Open(options); }
  MoveElsewhere(std::chrono::minutes(2));
  const std::unique_ptr<Journal> journal = Open(Options("g3"));
  EXPECT_EQ(journal->epoch(), 3u);
}

TEST_F(FenceTest, AfterATakeOverTheOldWriterAcknowledgesNothing) {
  JournalOptions options = Options();
  options.locks = false;
  options.writer.behind = std::chrono::hours(1);
  const std::unique_ptr<Journal> old = Open(options);
  ASSERT_TRUE(old->Write(Accepted(1)).ok());
  options.life.generation = "g2";
  options.life.name = "heir";
  EXPECT_FALSE(Journal::Open(options).ok());
  options.take_over = true;
  const std::unique_ptr<Journal> heir = Open(options);
  const absl::Status refusal = old->Write(Accepted(2));
  EXPECT_TRUE(absl::IsFailedPrecondition(refusal)) << refusal;
  EXPECT_THAT(std::string(refusal.message()), HasSubstr("taken over by daemon \"heir\""));
  EXPECT_EQ(old->Accepting(), refusal);
  EXPECT_FALSE(old->Write(Started(1)).ok());
  EXPECT_TRUE(heir->Write(Accepted(3)).ok());
  EXPECT_FALSE(old->Close("").ok());
  ASSERT_TRUE(heir->Close("").ok());
  const std::unique_ptr<Journal> next = Open(Options("g3"));
  const Recovered found = next->Recover({}).value();
  ASSERT_THAT(found.unfinished, SizeIs(2));
  EXPECT_EQ(found.unfinished[0].accepted.number, 1u);
  EXPECT_EQ(found.unfinished[0].state, JobState::kPending);
  EXPECT_EQ(found.unfinished[1].accepted.number, 3u);
}

// The moment between a commit and its acknowledgement: the heir may have copied the index before it.
TEST_F(FenceTest, ATakeOverBetweenCommitAndAcknowledgementLeavesTheJobUnacknowledged) {
  JournalOptions options = Options();
  options.locks = false;
  std::unique_ptr<Journal> heir;
  std::atomic<bool> take_over = false;
  JournalOptions of_heir = options;
  of_heir.take_over = true;
  options.writer.at_step = [&](std::string_view step) {
    if (step == "group: written" && take_over.exchange(false)) heir = Open(of_heir);
  };
  const std::unique_ptr<Journal> old = Open(options);
  ASSERT_TRUE(old->Write(Accepted(1)).ok());
  take_over = true;
  EXPECT_FALSE(old->Write(Accepted(2)).ok());
  const Recovered found = heir->Recover({}).value();
  ASSERT_THAT(found.unfinished, SizeIs(1));
}

TEST_F(FenceTest, OfManyThatStartTogetherOneGetsIt) {
  constexpr int kThreads = 8;
  std::atomic<int> have = 0, ready = 0;
  std::vector<std::unique_ptr<Journal>> journals(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      absl::StatusOr<std::unique_ptr<Journal>> journal = Journal::Open(Options("g" + std::to_string(i)));
      if (!journal.ok()) return;
      ++have;
      journals[static_cast<std::size_t>(i)] = *std::move(journal);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(have, 1);
}

TEST_F(FenceTest, TheNextDaemonRemovesTheDraftsOfKilledOnes) {
  ASSERT_TRUE(Open()->Close("").ok());
  for (const char* draft : {".owner-1.4711.dead", ".owner-2.4711.dead", ".owner-3.4711.lives"}) {
    folder_.Write(std::string("journal/") + draft, "");
  }
  const std::unique_ptr<Journal> journal = Open(Options("g2"));
  ASSERT_EQ(journal->epoch(), 2u);
  std::vector<std::string> names = Disk::Real().List(folder_.File("journal")).value();
  std::erase_if(names, [](const std::string& name) { return name.find("owner-") == std::string::npos; });
  EXPECT_THAT(names, UnorderedElementsAre("owner-2", ".owner-3.4711.lives"));
}

// Before the first link, another daemon takes that epoch, and its journal is closed again.
class FasterDaemonDisk : public Disk {
 public:
  explicit FasterDaemonDisk(FenceOptions other) : other_(std::move(other)) {}
  absl::Status Link(const std::string& from, const std::string& to) override {
    if (++links_ == 1) {
      const absl::StatusOr<std::unique_ptr<Fence>> fence = Fence::Claim(other_);
      EXPECT_TRUE(fence.ok() && (*fence)->End().ok()) << fence.status();
      EXPECT_NE(access(from.c_str(), F_OK), 0) << "the other daemon removes the draft";
    }
    return Disk::Link(from, to);
  }

 private:
  FenceOptions other_;
  int links_ = 0;
};

TEST_F(FenceTest, ADaemonWhoseDraftWasRemovedTriesAgain) {
  const std::string folder = folder_.File("journal");
  FasterDaemonDisk disk({.folder = folder, .life = {.generation = "g1"}});
  const auto fence = Fence::Claim({.folder = folder, .life = {.generation = "g2"}, .disk = &disk});
  ASSERT_TRUE(fence.ok()) << fence.status();
  EXPECT_EQ((*fence)->self().epoch, 2u);
}

TEST_F(FenceTest, ALateWriteOfALoserDoesNotFenceTheWinner) {
  const std::unique_ptr<Journal> first = Open();
  ASSERT_TRUE(first->Close("").ok());
  const std::unique_ptr<Journal> journal = Open(Options("g2"));
  WriteText(folder_.File("journal/fence"), "00000000000000000001\n");
  EXPECT_TRUE(journal->Write(Accepted(1)).ok());
  EXPECT_EQ(ReadText(folder_.File("journal/fence")), "00000000000000000002\n");
}

TEST_F(FenceTest, AnHeirThatDiedBeforeItHadItsCopyHidesNothing) {
  JournalOptions options = Options();
  options.locks = false;
  {
    const std::unique_ptr<Journal> journal = Open(options);
    ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  }
  // It claims, and dies.
  {
    const auto fence =
        Fence::Claim({.folder = options.folder, .life = options.life, .take_over = true, .locks = false});
    ASSERT_TRUE(fence.ok());
    EXPECT_EQ((*fence)->copy_from(), "index-1.sqlite");
  }
  options.take_over = true;
  const std::unique_ptr<Journal> journal = Open(options);
  EXPECT_THAT(journal->Recover({}).value().unfinished, SizeIs(1));
  EXPECT_EQ(journal->epoch(), 3u);
}

TEST_F(FenceTest, ABrokenRecordIsNamed) {
  ASSERT_TRUE(Open()->Close("").ok());
  WriteText(folder_.File("journal/owner-1"), "epoch 1\n");
  const absl::Status refusal = Journal::Open(Options()).status();
  EXPECT_TRUE(absl::IsDataLoss(refusal));
  EXPECT_THAT(std::string(refusal.message()), HasSubstr("journal/owner-1"));
}

}  // namespace
}  // namespace hotplate::journal
