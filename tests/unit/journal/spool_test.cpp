// The spool's layout, which people and scripts read, and what may be deleted from it.
#include "server/journal/spool.h"

#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "kernels/array/npy.h"
#include "server/journal/export.h"
#include "tests/unit/journal/spool_fixture.h"

namespace hotplate::journal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(SpoolTest, AJobsFolderIsReadWithoutADaemon) {
  Accept(7);
  End(7);
  const std::string job = folder_.File("spool/jobs/7/");
  auto input = NpyFile::Open(job + "input-a.npy");
  ASSERT_TRUE(std::holds_alternative<NpyFile>(input));
  std::vector<float> elements(3);
  EXPECT_FALSE(std::get<NpyFile>(input).Read(std::as_writable_bytes(std::span(elements))));
  EXPECT_EQ(elements, own_);
  EXPECT_TRUE(std::holds_alternative<NpyFile>(NpyFile::Open(job + "input-matrix.npy")));
  EXPECT_TRUE(std::holds_alternative<NpyFile>(NpyFile::Open(job + "result-out.npy")));
  EXPECT_THAT(ReadText(job + "receipt.json"), HasSubstr("axpy"));
  const std::string sha = Sha256Of(ReadText(job + "input-a.npy")).Hex();
  EXPECT_EQ(ReadText(job + "inputs.json"),
            "{\"job\":\"7\",\"files\":[\n{\"name\":\"a\",\"file\":\"input-a.npy\",\"bytes\":140,\"sha256\":\"" + sha +
                "\",\"dtype\":\"float32\",\"shape\":[3]},\n{\"name\":\"matrix\",\"file\":\"../../shared/" +
                Sha256Of(ReadText(job + "input-matrix.npy")).Hex() + ".npy\",\"bytes\":2128,\"sha256\":\"" +
                Sha256Of(ReadText(job + "input-matrix.npy")).Hex() + "\",\"dtype\":\"float32\",\"shape\":[500]}]}\n");
  struct stat facts {};
  ASSERT_EQ(stat((job + "input-matrix.npy").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  const VerifyReport report = VerifyAll(*journal_);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_EQ(report.files, 3u);
}

TEST_F(SpoolTest, AnArrayOfManyJobsIsThereOnce) {
  for (const std::uint64_t number : {1, 2, 3}) Accept(number);
  EXPECT_EQ(Count("shared"), 1u);
  EXPECT_EQ(spool_->used_bytes(), 3 * 140u + 2128u);
  EXPECT_EQ(SpooledBytes(*journal_).value(), spool_->used_bytes());
}

TEST_F(SpoolTest, AFileStaysAsLongAsOneJobHasIt) {
  for (const std::uint64_t number : {1, 2}) Accept(number), End(number), Fetch(number);
  Accept(3);
  const PruneReport all = Prune(*journal_, spool_.get(), {.now = At(100'000), .age = std::chrono::seconds(1)}).value();
  EXPECT_EQ(all.released, 2u);
  EXPECT_FALSE(Has("jobs/1"));
  EXPECT_TRUE(Has("jobs/3/input-a.npy"));
  EXPECT_EQ(Count("shared"), 1u);
  End(3), Fetch(3);
  EXPECT_EQ(Prune(*journal_, spool_.get(), {.now = At(100'000), .age = std::chrono::seconds(1)})->released, 1u);
  EXPECT_EQ(Count("shared"), 0u);
  EXPECT_EQ(Count("jobs"), 0u);
  EXPECT_EQ(spool_->used_bytes(), 0u);
  EXPECT_THAT(VerifyAll(*journal_).problems, IsEmpty());
  // History remains.
  journal_
      ->With([](Index& index) {
        EXPECT_THAT(EndedJobs(index, {}).value(), SizeIs(3));
        return absl::OkStatus();
      })
      .IgnoreError();
}

TEST_F(SpoolTest, NothingUnreadIsEverDeleted) {
  for (const std::uint64_t number : {1, 2, 3, 4}) Accept(number), End(number);
  Fetch(2);
  Fetch(4);
  Accept(5);
  const PruneReport report =
      Prune(*journal_, spool_.get(), {.now = At(1'000'000), .age = std::chrono::seconds(1), .bytes = 1}).value();
  EXPECT_EQ(report.released, 2u);
  EXPECT_EQ(report.unread, 2u);
  EXPECT_EQ(report.unread_bytes, 2 * 280u);
  EXPECT_TRUE(Has("jobs/1/result-out.npy"));
  EXPECT_TRUE(Has("jobs/5/input-a.npy"));
  EXPECT_FALSE(Has("jobs/2"));
}

TEST_F(SpoolTest, BeyondItsSizeTheOldestGoFirst) {
  for (const std::uint64_t number : {1, 2, 3, 4}) Accept(number), End(number), Fetch(number);
  const std::uint64_t bytes = spool_->used_bytes();
  EXPECT_EQ(Prune(*journal_, spool_.get(), {.now = At(9000), .bytes = bytes - 300})->released, 2u);
  EXPECT_FALSE(Has("jobs/1"));
  EXPECT_FALSE(Has("jobs/2"));
  EXPECT_TRUE(Has("jobs/3"));
}

TEST_F(SpoolTest, OneOwnersFetchedResultsMakeRoomOldestFirst) {
  for (const std::uint64_t number : {1, 2, 3, 4}) Accept(number), End(number);
  Fetch(1), Fetch(2);
  std::vector<std::uint64_t> gone;
  PruneBounds bounds{.now = At(9000), .age = nanoseconds(1)};
  bounds.at_once = 1;
  bounds.stop = [&] { return !gone.empty(); };
  bounds.released = [&](std::uint64_t number) { gone.push_back(number); };
  bounds.owner = "you";
  EXPECT_EQ(Prune(*journal_, spool_.get(), bounds)->released, 0u);
  bounds.owner = "me";
  EXPECT_EQ(Prune(*journal_, spool_.get(), bounds)->released, 1u);
  EXPECT_THAT(gone, ElementsAre(1)) << "it is asked after each";
  bounds.stop = nullptr;
  bounds.is_fetched = [](std::uint64_t number) { return number == 4; };
  EXPECT_EQ(Prune(*journal_, spool_.get(), bounds)->released, 2u);
  EXPECT_THAT(gone, ElementsAre(1, 2, 4)) << "of the last the index does not have it yet";
  EXPECT_TRUE(Has("jobs/3"));
}

TEST_F(SpoolTest, WhatOthersHaveIsToldWithTheirNames) {
  Accept(1), End(1), Fetch(1);
  Accept(2);
  std::vector<std::string> told;
  const auto take = [&](const PartOfJob& part) {
    told.push_back(std::to_string(part.job) + " " + part.owner + (part.fetched ? " fetched " : " ") +
                   (!part.file                       ? "request "
                    : *part.file == FileRole::kInput ? "input "
                                                     : "result ") +
                   std::to_string(part.bytes));
  };
  ASSERT_TRUE(EachPartBut(*journal_, "me", take).ok());
  EXPECT_THAT(told, IsEmpty());
  ASSERT_TRUE(EachPartBut(*journal_, "you", take).ok());
  const std::string request = std::to_string(RequestOf(1).size());
  EXPECT_THAT(told, UnorderedElementsAre("1 me fetched request " + request, "1 me fetched input 140",
                                         "1 me fetched input 2128", "1 me fetched result 140",
                                         "2 me request " + request, "2 me input 140", "2 me input 2128"));
}

TEST_F(SpoolTest, InputsThatAreNotAdmittedLeaveNothing) {
  const std::vector<SpoolItem> items = {Item("a", own_), Item("matrix", shared_, true)};
  std::uint64_t asked = 0;
  const absl::StatusOr<Spool::Stored> stored =
      spool_->StoreInputs(1, items, {}, [&](std::span<const SpooledFile> files) -> absl::Status {
        for (const SpooledFile& file : files) asked += file.bytes;
        EXPECT_FALSE(Has("jobs/1")) << "it is asked before anything is written";
        return absl::ResourceExhaustedError("no room");
      });
  EXPECT_EQ(stored.status().message(), "no room");
  EXPECT_EQ(asked, 140u + 2128u);
  EXPECT_FALSE(Has("jobs/1"));
  EXPECT_EQ(Count("shared"), 0u);
}

TEST_F(SpoolTest, OldHistoryIsForgotten) {
  Accept(1), End(1), Fetch(1);
  Accept(2), End(2);
  Note(*journal_, Attached(20, At(10)));
  ASSERT_TRUE(journal_->Write(Accepted(11)).ok());
  const PruneReport report =
      Prune(*journal_, spool_.get(),
            {.now = At(1'000'000), .age = std::chrono::hours(1), .history_age = std::chrono::hours(1)})
          .value();
  EXPECT_EQ(report.forgotten, 2u);
  const Recovered found = journal_->Recover({.ended_since = At(0)}).value();
  EXPECT_THAT(found.ended, SizeIs(1));
  EXPECT_THAT(found.unfinished, SizeIs(1));
  EXPECT_EQ(found.last_number, 20u) << "no job gets the number of one that is forgotten";
}

TEST_F(SpoolTest, LimitsAreNamed) {
  const std::vector<float> large(1000);
  const std::vector<SpoolItem> items = {Item("a", large)};
  spool_ = OpenSpool(*journal_, {.bytes = 5000, .free_bytes = 0});
  {
    absl::StatusOr<Spool::Stored> stored = spool_->StoreInputs(1, items);
    ASSERT_TRUE(stored.ok());
    const absl::Status refusal = spool_->StoreInputs(2, items).status();
    EXPECT_TRUE(absl::IsResourceExhausted(refusal));
    EXPECT_THAT(std::string(refusal.message()), HasSubstr("may have 5.0 kB, and has 4.1 kB"));
  }
  // It was not kept.
  EXPECT_EQ(spool_->used_bytes(), 0u);
  EXPECT_FALSE(Has("jobs/1"));
  const std::vector<SpoolItem> more = {Item("a", large), Item("b", large, true)};
  EXPECT_THAT(std::string(spool_->StoreInputs(3, more).status().message()),
              HasSubstr("may have 5.0 kB, and has 4.1 kB"));
  EXPECT_EQ(Count("shared"), 0u);
  EXPECT_EQ(spool_->used_bytes(), 0u);
  spool_ = OpenSpool(*journal_, {.free_bytes = std::uint64_t{1} << 60});
  EXPECT_THAT(std::string(spool_->StoreInputs(4, items).status().message()), HasSubstr("are free in"));
}

TEST_F(SpoolTest, NamesCannotLeaveTheFolder) {
  const std::vector<SpoolItem> items = {{.name = "../../x y", .signature = {}, .bytes = {}}};
  absl::StatusOr<Spool::Stored> stored = spool_->StoreInputs(1, items);
  ASSERT_TRUE(stored.ok());
  EXPECT_TRUE(Has("jobs/1/input-%2E%2E%2F%2E%2E%2Fx%20y.bin"));
}

TEST_F(SpoolTest, AnotherJournalsSpoolAndOtherFoldersAreRefused) {
  const absl::Status other = Spool::Open({.root = folder_.File("spool"), .journal_id = "another"}).status();
  EXPECT_THAT(std::string(other.message()), HasSubstr("is the spool of another journal"));
  folder_.Write("home/thesis.tex", "");
  const absl::Status home = Spool::Open({.root = folder_.File("home"), .journal_id = journal_->id()}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(home));
  EXPECT_THAT(std::string(home.message()), HasSubstr("thesis.tex"));
}

// A copy of a HOTPLATE_DIR has the same journal id, and the path of the same spool.
TEST_F(SpoolTest, ACopyOfAJournalHasNoPartInItsSpool) {
  ASSERT_TRUE(spool_->Claim(folder_.File("journal"), /*replace=*/true).ok());
  Accept(1), End(1), Fetch(1);
  ASSERT_TRUE(journal_->Close("").ok());
  std::filesystem::copy(folder_.File("journal"), folder_.File("copy"), std::filesystem::copy_options::recursive);
  journal_ = Open(Options("g2"));
  spool_ = OpenSpool(*journal_);
  ASSERT_TRUE(spool_->Claim(folder_.File("journal"), /*replace=*/true).ok());
  Accept(2), End(2);

  JournalOptions options = Options("g3");
  options.folder = folder_.File("copy");
  const std::unique_ptr<Journal> copy = Open(options);
  ASSERT_EQ(copy->id(), journal_->id());
  const std::unique_ptr<Spool> same = OpenSpool(*copy);
  const absl::Status claimed = same->Claim(folder_.File("copy"), /*replace=*/true);
  EXPECT_TRUE(absl::IsFailedPrecondition(claimed));
  EXPECT_THAT(std::string(claimed.message()), HasSubstr("is the spool of the journal in " + folder_.File("journal")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckSpoolOwner(Disk::Real(), folder_.File("spool"), folder_.File("copy"))));
  EXPECT_TRUE(CheckSpoolOwner(Disk::Real(), folder_.File("spool"), folder_.File("journal")).ok());
  EXPECT_FALSE(Prune(*copy, same.get(), {.now = At(100'000), .age = std::chrono::seconds(1)}).ok());
  EXPECT_FALSE(SweepSpool(*copy, *same).ok());
  EXPECT_FALSE(same->StoreInputs(2, {}).ok());
  EXPECT_FALSE(same->StoreResults(2, {}, {}, Disk::Sync::kNow).ok());
  EXPECT_TRUE(Has("jobs/1/result-out.npy"));
  EXPECT_TRUE(Has("jobs/2/result-out.npy"));
  EXPECT_THAT(VerifyAll(*journal_).problems, IsEmpty());

  // A folder that is gone, or was moved, has no spool.
  journal_.reset();
  std::filesystem::rename(folder_.File("journal"), folder_.File("moved"));
  EXPECT_FALSE(same->Claim(folder_.File("copy"), /*replace=*/false).ok());
  EXPECT_TRUE(same->Claim(folder_.File("copy"), /*replace=*/true).ok());
  EXPECT_TRUE(same->StoreInputs(3, {}).ok());
}

TEST_F(SpoolTest, ACopyOfASpoolIsThatOfTheCopiedJournal) {
  ASSERT_TRUE(spool_->Claim(folder_.File("journal"), /*replace=*/true).ok());
  Accept(1);
  std::filesystem::copy(folder_.File("spool"), folder_.File("copy"), std::filesystem::copy_options::recursive);
  const auto copy = Spool::Open({.root = folder_.File("copy"), .journal_id = journal_->id()}).value();
  std::filesystem::create_directories(folder_.File("other journal"));
  EXPECT_TRUE(copy->Claim(folder_.File("other journal"), /*replace=*/true).ok());
  EXPECT_FALSE(spool_->Claim(folder_.File("other journal"), /*replace=*/true).ok());
}

TEST_F(SpoolTest, APruneSyncsOnceForManyJobs) {
  // Shared: the journal outlives the test's body.
  const auto groups = std::make_shared<std::atomic<int>>(0);
  ASSERT_TRUE(journal_->Close("").ok());
  JournalOptions options = Options("g2");
  options.writer.at_step = [groups](std::string_view step) { *groups += step == "group: committed"; };
  journal_ = Open(options);
  for (std::uint64_t number = 1; number <= 700; ++number) {
    journal_->Append(Accepted(number), Durability::kBehind);
    journal_->Append(Ended(number), Durability::kBehind);
    journal_->Append(JobFetched{.number = number, .time = At(1)}, Durability::kBehind);
  }
  ASSERT_TRUE(journal_->Write(Accepted(1000)).ok());
  *groups = 0;
  PruneBounds bounds{.now = At(100'000), .age = std::chrono::seconds(1)};
  // One that is to end does a batch, and says that there is more.
  bounds.stop = [] { return true; };
  const PruneReport first = Prune(*journal_, spool_.get(), bounds).value();
  EXPECT_EQ(first.released, 500u);
  EXPECT_TRUE(first.more);
  bounds.stop = nullptr;
  const PruneReport second = Prune(*journal_, spool_.get(), bounds).value();
  EXPECT_EQ(second.released, 200u);
  EXPECT_FALSE(second.more);
  EXPECT_LE(*groups, 20) << "500 syncs take longer than a call may";
}

TEST_F(SpoolTest, ASweepRemovesWhatNoRecordHas) {
  Accept(1);
  folder_.Write("spool/jobs/9/input-a.npy", "half");
  folder_.Write("spool/jobs/notes.txt", "mine");
  folder_.Write("spool/shared/." + Sha256Of("x").Hex() + ".new", "half");
  folder_.Write("spool/shared/" + Sha256Of("x").Hex() + ".npy", "whole");
  EXPECT_THAT(VerifyAll(*journal_).notes, SizeIs(4));
  const Spool::Swept swept = SweepSpool(*journal_, *spool_).value();
  EXPECT_EQ(swept.folders, 1u);
  EXPECT_EQ(swept.shared, 2u);
  EXPECT_TRUE(Has("jobs/notes.txt"));
  EXPECT_EQ(Count("shared"), 1u);
  EXPECT_THAT(VerifyAll(*journal_).problems, IsEmpty());
}

TEST_F(SpoolTest, VerifyFindsEachLossAndEachChange) {
  Accept(1), Accept(2), Accept(3);
  std::filesystem::remove(folder_.File("spool/jobs/1/input-a.npy"));
  std::string bytes = ReadText(folder_.File("spool/jobs/2/input-a.npy"));
  bytes.back() ^= 1;
  WriteText(folder_.File("spool/jobs/2/input-a.npy"), bytes);
  WriteText(folder_.File("spool/jobs/3/input-a.npy"), "");
  const VerifyReport report = VerifyAll(*journal_);
  EXPECT_THAT(report.problems, UnorderedElementsAre(HasSubstr("job 1: opening"),
                                                    HasSubstr("input-a.npy has changed since it was written"),
                                                    HasSubstr("has 0 bytes, and had 140")));
}

TEST_F(SpoolTest, ResultsOfAnEarlierRunAreReplaced) {
  Accept(1);
  const std::vector<SpoolItem> first = {Item("out", shared_), Item("extra", own_)}, second = {Item("out", own_)};
  ASSERT_TRUE(spool_->StoreResults(1, first, {}, Disk::Sync::kNow).ok());
  const auto files = spool_->StoreResults(1, second, {}, Disk::Sync::kLater);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_FALSE(Has("jobs/1/result-extra.npy"));
  EXPECT_FALSE((*files)[0].synced);
  EXPECT_TRUE(CheckFile(spool_->PathOf((*files)[0]), (*files)[0]).ok());
}

TEST_F(SpoolTest, SharedFilesSurviveThreadsThatStoreAndPruneAtOnce) {
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (std::uint64_t i = 1; i <= 10; ++i) {
        const std::uint64_t number = thread * 100 + i;
        Accept(number);
        if (i % 2 == 0) End(number), Fetch(number);
        if (i % 3 == 0) {
          EXPECT_TRUE(Prune(*journal_, spool_.get(), {.now = At(100'000), .age = std::chrono::seconds(1)}).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const VerifyReport report = VerifyAll(*journal_);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.unfinished, 20u);
  EXPECT_EQ(SpooledBytes(*journal_).value(), spool_->used_bytes());
}

TEST_F(SpoolTest, ExportIsOneJsonObjectALine) {
  Accept(1), End(1);
  Accept(2);
  ASSERT_TRUE(journal_->Close("").ok());
  journal_ = Open(Options("g\"2"));
  std::vector<std::string> lines;
  const auto with = [&](absl::FunctionRef<absl::Status(Index&)> work) { return journal_->With(work); };
  const auto add = [&](const std::string& line) { return lines.push_back(line), true; };
  ASSERT_TRUE(Export(with, {.end_json = [](const std::string&, std::string_view) { return "{}"; }}, add).ok());
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("{\"type\":\"daemon\",\"epoch\":1,\"generation\":\"g1\""),
                          HasSubstr("\"generation\":\"g\\\"2\""),
                          testing::AllOf(HasSubstr("{\"type\":\"job\",\"id\":\"1\",\"epoch\":1,\"kernel\":\"axpy\""),
                                         HasSubstr("\"state\":\"COMPLETED\""), HasSubstr("\"end\":{}"),
                                         HasSubstr("\"results\":[{\"name\":\"out\"")),
                          testing::AllOf(HasSubstr("\"id\":\"2\""), HasSubstr("\"state\":\"PENDING\""),
                                         HasSubstr("\"request_base64\":\"cmVxdWVzdCAy"))));
}

}  // namespace
}  // namespace hotplate::journal
