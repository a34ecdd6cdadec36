// What is written is read back by the next daemon.
#include "server/journal/journal.h"

#include <atomic>
#include <future>
#include <thread>

#include "server/journal/index_copy.h"
#include "tests/unit/journal/journal_fixture.h"

namespace hotplate::journal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(JournalTest, AJobThatWaitsIsReadBackWhole) {
  JobAccepted job = Accepted(7);
  SpooledFile file{.name = "a", .file = "jobs/7/input-a.npy", .sha256 = Sha256Of("a"), .bytes = 140, .signature = {}};
  file.signature = Signature{.dtype = DType::kFloat64, .shape = {3, 0, 5}};
  job.inputs = {file};
  {
    const std::unique_ptr<Journal> journal = Open();
    ASSERT_TRUE(journal->Write(job).ok());
    ASSERT_TRUE(journal->Close("told to").ok());
  }
  const std::unique_ptr<Journal> journal = Open(Options("g2"));
  const absl::StatusOr<Recovered> found = journal->Recover({});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->last_number, 7u);
  ASSERT_THAT(found->unfinished, SizeIs(1));
  const KeptJob& kept = found->unfinished[0];
  EXPECT_EQ(kept.state, JobState::kPending);
  EXPECT_EQ(kept.epoch, 1u);
  EXPECT_EQ(kept.accepted.request, job.request);
  EXPECT_EQ(kept.accepted.payload_hash, job.payload_hash);
  EXPECT_EQ(kept.accepted.owner, "me");
  EXPECT_EQ(kept.accepted.session, "s1");
  EXPECT_EQ(kept.accepted.request_key, job.request_key);
  EXPECT_EQ(kept.accepted.kernel, "axpy");
  EXPECT_EQ(kept.accepted.label, "sweep");
  EXPECT_EQ(kept.accepted.priority, -3);
  EXPECT_EQ(kept.accepted.time_limit, std::chrono::minutes(5));
  EXPECT_TRUE(kept.accepted.may_rerun);
  EXPECT_EQ(kept.accepted.time, job.time);
  ASSERT_THAT(kept.accepted.inputs, SizeIs(1));
  EXPECT_EQ(kept.accepted.inputs[0].file, file.file);
  EXPECT_EQ(kept.accepted.inputs[0].sha256, file.sha256);
  EXPECT_EQ(kept.accepted.inputs[0].signature, file.signature);
  ASSERT_THAT(kept.changes, SizeIs(1));
  EXPECT_EQ(kept.changes[0].sequence, 1u);
  ASSERT_THAT(found->daemons, SizeIs(2));
  EXPECT_EQ(found->daemons[0].life.generation, "g1");
  EXPECT_EQ(found->daemons[0].life.slurm_job, "12");
  EXPECT_EQ(found->daemons[0].end_reason, "told to");
  EXPECT_FALSE(found->daemons[1].end);
}

TEST_F(JournalTest, AKilledDaemonLosesNothingThatWasAcknowledged) {
  {
    const std::unique_ptr<Journal> journal = Open();
    ASSERT_TRUE(journal->Write(Accepted(1)).ok());
    ASSERT_TRUE(journal->Write(Accepted(2)).ok());
    ASSERT_TRUE(journal->Write(Started(2)).ok());
    ASSERT_TRUE(journal->Write(Accepted(3)).ok());
    ASSERT_TRUE(journal->Write(Started(3)).ok());
    ASSERT_TRUE(journal->Write(Ended(3)).ok());
  }  // not closed
  const std::unique_ptr<Journal> journal = Open(Options("g2"));
  ASSERT_TRUE(journal->before());
  EXPECT_FALSE(journal->before()->ended);
  const Recovered found = journal->Recover({}).value();
  ASSERT_THAT(found.unfinished, SizeIs(2));
  EXPECT_EQ(found.unfinished[0].state, JobState::kPending);
  EXPECT_EQ(found.unfinished[1].state, JobState::kRunning);
  EXPECT_EQ(found.unfinished[1].device, "gpu0");
  ASSERT_THAT(found.ended, SizeIs(1));
  EXPECT_EQ(found.ended[0].end, "end 3");
  EXPECT_EQ(found.ended[0].outputs, "outputs");
  EXPECT_EQ(found.ended[0].use.energy_joules, 50);
  EXPECT_EQ(found.ended[0].changes.back().sequence, 3u);
  EXPECT_FALSE(found.daemons[0].end);
}

// Watchers ask for what comes after the last number they saw.
TEST_F(JournalTest, SequenceNumbersGoOnWhenAJobRunsAgain) {
  const std::unique_ptr<Journal> journal = Open();
  ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  ASSERT_TRUE(journal->Write(Started(1, 2)).ok());
  ASSERT_TRUE(journal->Write(JobRequeued{.number = 1, .sequence = 3, .time = At(1500), .reason = "killed"}).ok());
  ASSERT_TRUE(journal->Write(Started(1, 4)).ok());
  ASSERT_TRUE(journal->Write(Ended(1, {}, 5)).ok());
  const Recovered found = journal->Recover({}).value();
  ASSERT_THAT(found.ended, SizeIs(1));
  std::vector<std::pair<std::uint64_t, JobState>> story;
  for (const Change& change : found.ended[0].changes) story.emplace_back(change.sequence, change.state);
  using enum JobState;
  EXPECT_THAT(story, ElementsAre(std::pair(1u, kPending), std::pair(2u, kRunning), std::pair(3u, kPending),
                                 std::pair(4u, kRunning), std::pair(5u, kCompleted)));
}

TEST_F(JournalTest, ACancelIsKnownUntilTheJobHasEnded) {
  const std::unique_ptr<Journal> journal = Open();
  for (const std::uint64_t number : {1, 2}) {
    ASSERT_TRUE(journal->Write(Accepted(number)).ok());
    ASSERT_TRUE(journal->Write(Started(number)).ok());
  }
  ASSERT_TRUE(journal->Write(JobCancelRequested{.number = 2, .time = At(1200)}).ok());
  ASSERT_TRUE(journal->Write(JobCancelRequested{.number = 2, .time = At(1300)}).ok());
  const Recovered found = journal->Recover({}).value();
  ASSERT_THAT(found.unfinished, SizeIs(2));
  EXPECT_FALSE(found.unfinished[0].cancel_time);
  EXPECT_EQ(found.unfinished[1].cancel_time, At(1200));
  ASSERT_TRUE(journal->Write(Ended(2)).ok());
  EXPECT_TRUE(journal->Write(JobCancelRequested{.number = 2, .time = At(3000)}).ok()) << "it came too late";
  EXPECT_TRUE(absl::IsNotFound(journal->Write(JobCancelRequested{.number = 9, .time = At(3000)})));
}

TEST_F(JournalTest, ABadRecordSpoilsNoOtherOfItsGroup) {
  const std::unique_ptr<Journal> journal = Open();
  ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  // Two inputs of one name: its first rows are written before that shows.
  JobAccepted twice = Accepted(2);
  twice.inputs.resize(2);
  // All wait for the first to be written: one group.
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::thread holder([&] { journal->With([&](Index&) { return gone.wait(), absl::OkStatus(); }).IgnoreError(); });
  std::vector<absl::Status> results(5);
  std::promise<void> all;
  const auto note = [&](std::size_t at) {
    return [&, at](const absl::Status& status) {
      results[at] = status;
      if (at == 4) all.set_value();
    };
  };
  journal->Append(Accepted(1), Durability::kSynced, note(0));
  journal->Append(twice, Durability::kSynced, note(1));
  journal->Append(Started(9), Durability::kSynced, note(2));
  journal->Append(JobFetched{.number = 1, .time = At(0)}, Durability::kSynced, note(3));
  journal->Append(Accepted(3), Durability::kSynced, note(4));
  go.set_value();
  holder.join();
  all.get_future().wait();
  EXPECT_TRUE(absl::IsAlreadyExists(results[0])) << results[0];
  EXPECT_TRUE(absl::IsAlreadyExists(results[1])) << results[1];
  EXPECT_TRUE(absl::IsNotFound(results[2])) << results[2];
  EXPECT_TRUE(absl::IsInvalidArgument(results[3])) << results[3];
  EXPECT_TRUE(results[4].ok()) << results[4];
  const Recovered found = journal->Recover({}).value();
  ASSERT_THAT(found.unfinished, SizeIs(2));
  EXPECT_EQ(found.unfinished[1].accepted.number, 3u);
  EXPECT_THAT(VerifyAll(*journal).problems, IsEmpty());
}

TEST_F(JournalTest, WhatIsWrittenBehindComesWithTheNextGroupOrAfterAWhile) {
  JournalOptions options = Options();
  options.writer.behind = std::chrono::hours(1);
  {
    const std::unique_ptr<Journal> journal = Open(options);
    Note(*journal, Attached(1, At(5)));
    EXPECT_EQ(journal->Recover({}).value().last_number, 0u);
    ASSERT_TRUE(journal->Write(Accepted(2)).ok());
    journal
        ->With([](Index& index) {
          EXPECT_THAT(EndedJobs(index, {}).value(), SizeIs(1));
          return absl::OkStatus();
        })
        .IgnoreError();
    ASSERT_TRUE(journal->Close("").ok());
  }
  options.writer.behind = std::chrono::milliseconds(1);
  const std::unique_ptr<Journal> journal = Open(options);
  std::promise<absl::Status> written;
  journal->Append(Attached(3, At(6)), Durability::kBehind,
                  [&](const absl::Status& status) { written.set_value(status); });
  EXPECT_TRUE(written.get_future().get().ok());
  EXPECT_EQ(journal->Recover({}).value().last_number, 3u);
}

TEST_F(JournalTest, AFloodOfAttachedJobsIsKeptAsSums) {
  JournalOptions options = Options();
  options.writer.attached_per_second = 10;
  const std::unique_ptr<Journal> journal = Open(options);
  for (std::uint64_t i = 1; i <= 1000; ++i) Note(*journal, Attached(i, At(30)));
  for (std::uint64_t i = 1; i <= 5; ++i) Note(*journal, Attached(1000 + i, At(31)));
  ASSERT_TRUE(journal->Write(Accepted(2000)).ok());
  std::vector<KeptJob> jobs;
  Sums sums;
  ASSERT_TRUE(journal
                  ->With([&](Index& index) {
                    jobs = EndedJobs(index, {.kernel = "axpy", .label = "loop"}).value();
                    sums = SumsSince(index, std::nullopt).value();
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_THAT(jobs, SizeIs(15));
  EXPECT_TRUE(jobs[0].attached);
  EXPECT_EQ(jobs[0].end, "receipt");
  ASSERT_THAT(sums, SizeIs(1));
  EXPECT_EQ(sums.begin()->second.jobs, 990u);
  EXPECT_DOUBLE_EQ(sums.begin()->second.energy_joules, 495);
  EXPECT_EQ(sums.begin()->second.device_time, std::chrono::milliseconds(2970));
  EXPECT_EQ(sums.begin()->second.gpu_time, std::chrono::milliseconds(2970));
  EXPECT_EQ(jobs[0].use.gpu_time, std::chrono::milliseconds(3));
  EXPECT_EQ(sums.begin()->first.label, "loop");
}

TEST_F(JournalTest, ManyCallersShareTheirSyncs) {
  std::atomic<int> groups = 0;
  JournalOptions options = Options();
  options.writer.at_step = [&](std::string_view step) { groups += step == "group: committed" ? 1 : 0; };
  const std::unique_ptr<Journal> journal = Open(options);
  constexpr std::uint64_t kThreads = 16, kEach = 25;
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < kEach; ++i) failed += journal->Write(Accepted(1 + thread * kEach + i)).ok() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_LT(groups, 300);
  const Recovered found = journal->Recover({}).value();
  ASSERT_THAT(found.unfinished, SizeIs(kThreads * kEach));
  for (std::uint64_t i = 0; i < found.unfinished.size(); ++i) {
    EXPECT_EQ(found.unfinished[i].accepted.number, i + 1);
    EXPECT_EQ(found.unfinished[i].accepted.request, RequestOf(i + 1));
  }
}

TEST_F(JournalTest, AFullQueueRefusesAcceptancesOnly) {
  JournalOptions options = Options();
  options.writer.most_bytes = 10'000;
  const std::unique_ptr<Journal> journal = Open(options);
  ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  std::promise<void> go, full;
  std::shared_future<void> gone = go.get_future().share();
  std::thread holder([&] { journal->With([&](Index&) { return gone.wait(), absl::OkStatus(); }).IgnoreError(); });
  JobAccepted large = Accepted(2);
  large.request.resize(20'000);
  absl::Status refusal, started;
  journal->Append(large, Durability::kSynced, [&](const absl::Status& status) { refusal = status; });
  JobEnded ended = Ended(1);
  ended.outputs.resize(30'000);
  journal->Append(Started(1), Durability::kSynced);
  journal->Append(ended, Durability::kSynced, [&](const absl::Status& status) {
    started = status;
    full.set_value();
  });
  go.set_value();
  holder.join();
  full.get_future().wait();
  EXPECT_TRUE(absl::IsResourceExhausted(refusal)) << refusal;
  EXPECT_TRUE(started.ok()) << started;
}

TEST_F(JournalTest, AClosedJournalSaysSo) {
  const std::unique_ptr<Journal> journal = Open();
  ASSERT_TRUE(journal->Close("").ok());
  EXPECT_THAT(journal->Write(Accepted(1)).message(), HasSubstr("closed"));
  EXPECT_FALSE(journal->Recover({}).ok());
}

TEST_F(JournalTest, ReadsACopyBesideALivingDaemon) {
  const std::unique_ptr<Journal> journal = Open();
  ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  std::size_t jobs = 0;
  ASSERT_TRUE(ReadCopy(folder_.File("journal"), [&](Index& index) {
                jobs = Recover(index, {}).value().unfinished.size();
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(jobs, 1u);
  ASSERT_TRUE(journal->Write(Accepted(2)).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadCopy(folder_.File("none"), [](Index&) { return absl::OkStatus(); })));
}

// Does something after each copy of a file.
class DisturbedDisk : public Disk {
 public:
  explicit DisturbedDisk(std::function<void(const std::string& from)> disturb) : disturb_(std::move(disturb)) {}
  absl::Status Copy(const std::string& from, const std::string& to) override {
    absl::Status copied = Disk::Copy(from, to);
    disturb_(from);
    return copied;
  }

 private:
  std::function<void(const std::string& from)> disturb_;
};

class CopyTest : public JournalTest {
 protected:
  void WriteNext() { ASSERT_TRUE(journal_->Write(Accepted(++last_)).ok()); }
  // Puts the log into the file, and empties it.
  void Checkpoint() {
    ASSERT_TRUE(journal_->With([](Index& index) { return index.Checkpoint(); }).ok());
  }
  std::size_t JobsOf(const std::string& copy) {
    const auto index = Index::Open({.path = copy}, 1);
    EXPECT_TRUE(index.ok()) << index.status();
    EXPECT_EQ((*index)->database().execAndGet("PRAGMA integrity_check").getString(), "ok");
    return Recover(**index, {}).value().unfinished.size();
  }

  std::uint64_t last_ = 0;
  const std::unique_ptr<Journal> journal_ = Open();
  const std::string from_ = folder_.File("journal/index-1.sqlite"), to_ = folder_.File("copy.sqlite");
};

// A copy was only taken if nothing at all was written meanwhile: of a busy daemon there was none.
TEST_F(CopyTest, WhatIsAppendedMeanwhileDoesNoHarm) {
  for (int i = 0; i < 100; ++i) WriteNext();
  Checkpoint();
  WriteNext();
  int copies = 0;
  DisturbedDisk disk([&](const std::string&) { WriteNext(), ++copies; });
  ASSERT_TRUE(CopyIndex(from_, to_, disk).ok());
  EXPECT_EQ(copies, 2);
  EXPECT_EQ(JobsOf(to_), 102u) << "with what was there when the log was copied";
}

TEST_F(CopyTest, ALogThatBeganAnewMeanwhileIsCopiedAgain) {
  for (int i = 0; i < 100; ++i) WriteNext();
  for (const bool empty : {false, true}) {
    int copies = 0;
    DisturbedDisk disk([&](const std::string& from) {
      if (from != from_ || ++copies > 3) return;
      for (int i = 0; i < 100; ++i) WriteNext();
      Checkpoint();
      if (!empty) WriteNext();
    });
    ASSERT_TRUE(CopyIndex(from_, to_, disk).ok());
    EXPECT_EQ(copies, 4);
    EXPECT_EQ(JobsOf(to_), last_);
    Checkpoint();
  }
}

TEST_F(JournalTest, ReadsACopyBesideABusyDaemon) {
  const std::unique_ptr<Journal> journal = Open();
  std::atomic<std::uint64_t> written = 0;
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::uint64_t number = 1; !stop.stop_requested(); ++number) {
      journal->Append(Accepted(number), Durability::kBehind);
      if (number % 4 != 0) continue;
      EXPECT_TRUE(journal->Write(Started(number)).ok());
      written = number;
    }
  });
  for (int i = 0; i < 30; ++i) {
    const std::uint64_t before = written;
    std::uint64_t jobs = 0;
    std::string sound;
    const absl::Status read = ReadCopy(folder_.File("journal"), [&](Index& index) {
      sound = index.database().execAndGet("PRAGMA integrity_check").getString();
      jobs = Recover(index, {}).value().unfinished.size();
      return absl::OkStatus();
    });
    ASSERT_TRUE(read.ok()) << read;
    EXPECT_EQ(sound, "ok");
    EXPECT_GE(jobs, before) << "what was acknowledged is in it";
  }
}

TEST_F(JournalTest, ACopyLeavesNothingBehind) {
  const std::unique_ptr<Journal> journal = Open();
  ASSERT_TRUE(journal->Write(Accepted(1)).ok());
  const std::string temporary = folder_.File("tmp");
  std::filesystem::create_directories(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  // A killed command runs no destructors: it must be gone while it is read.
  const absl::Status read = ReadCopy(folder_.File("journal"), [&](Index& index) {
    EXPECT_TRUE(std::filesystem::is_empty(temporary));
    EXPECT_THAT(Recover(index, {}).value().unfinished, SizeIs(1));
    return absl::OkStatus();
  });
  unsetenv("TMPDIR");
  EXPECT_TRUE(read.ok()) << read;
}

TEST_F(JournalTest, AnErrorOfACopyNamesTheJournal) {
  ASSERT_TRUE(Open()->Close("").ok());
  const std::string index = folder_.File("journal/index-1.sqlite");
  WriteText(index, std::string(100, '\0') + ReadText(index).substr(100));
  const absl::Status read = ReadCopy(folder_.File("journal"), [](Index&) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr(index));
}

// Numbers come in blocks, one a daemon: they tell no order.
TEST_F(JournalTest, TheHistoryIsInTheOrderOfItsEnds) {
  const std::unique_ptr<Journal> journal = Open();
  for (const auto& [number, end] : {std::pair(5u, 10), {1u, 30}, {9u, 20}, {7u, 30}, {3u, 5}}) {
    Note(*journal, Attached(number, At(end)));
  }
  ASSERT_TRUE(journal->Write(Accepted(100)).ok());
  const absl::Status read = journal->With([&](Index& index) {
    std::vector<std::uint64_t> numbers;
    JobQuery query{.limit = 2};
    for (std::vector<KeptJob> page; page = EndedJobs(index, query).value(), !page.empty();) {
      for (const KeptJob& job : page) numbers.push_back(job.accepted.number);
      query.before = JobPlace::Of(page.back());
    }
    EXPECT_THAT(numbers, ElementsAre(7, 1, 9, 5, 3));
    return absl::OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read;
}

TEST_F(JournalTest, HundredsOfJobsComeBackInOrder) {
  {
    const std::unique_ptr<Journal> journal = Open();
    for (std::uint64_t i = 1; i < 3000; ++i) journal->Append(Accepted(i), Durability::kBehind);
    for (std::uint64_t i = 1; i < 1000; ++i) journal->Append(Started(i), Durability::kBehind);
    for (std::uint64_t i = 1; i < 500; ++i) journal->Append(Ended(i), Durability::kBehind);
    for (std::uint64_t i = 1; i < 100; ++i) {
      journal->Append(JobFetched{.number = i, .time = At(9000)}, Durability::kBehind);
    }
    for (std::uint64_t i = 1; i < 50; ++i) {
      journal->Append(JobReleased{.number = i, .time = At(9000)}, Durability::kBehind);
    }
    ASSERT_TRUE(journal->Close("").ok());
  }
  const std::unique_ptr<Journal> journal = Open(Options("g2"));
  const Recovered all = journal->Recover({.ended_since = At(0)}).value();
  EXPECT_THAT(all.unfinished, SizeIs(2500));
  EXPECT_THAT(all.ended, SizeIs(450));
  EXPECT_EQ(all.ended[0].accepted.number, 50u);
  // Of fetched ones only the new: the others stay, however old they are.
  EXPECT_THAT(journal->Recover({.ended_since = At(100'000)}).value().ended, SizeIs(400));
  EXPECT_THAT(journal->Recover({.ended_since = At(0), .most_ended = 10}).value().ended, SizeIs(10));
}

}  // namespace
}  // namespace hotplate::journal
