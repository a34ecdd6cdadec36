// A journal with its spool, and jobs in both.
#pragma once

#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/journal/journal_fixture.h"

namespace hotplate::journal {

class SpoolTest : public JournalTest {
 protected:
  SpoolTest() : journal_(Open()), spool_(OpenSpool(*journal_)) {}

  // A job with an input of its own and a shared one.
  void Accept(std::uint64_t number) {
    const std::vector<SpoolItem> items = {Item("a", own_), Item("matrix", shared_, true)};
    absl::StatusOr<Spool::Stored> stored = spool_->StoreInputs(number, items);
    ASSERT_TRUE(stored.ok()) << stored.status();
    ASSERT_TRUE(journal_->Write(Accepted(number, stored->files())).ok());
    stored->Keep();
  }
  void End(std::uint64_t number) {
    const std::vector<SpoolItem> items = {Item("out", own_)};
    const std::vector<SpoolText> texts = {{"receipt.json", "{\"kernel\": \"axpy\"}\n"}};
    const auto files = spool_->StoreResults(number, items, texts, Disk::Sync::kNow);
    ASSERT_TRUE(files.ok()) << files.status();
    ASSERT_TRUE(journal_->Write(Started(number)).ok());
    ASSERT_TRUE(journal_->Write(Ended(number, *files)).ok());
  }
  void Fetch(std::uint64_t number) { ASSERT_TRUE(journal_->Write(JobFetched{.number = number, .time = At(1)}).ok()); }
  bool Has(const std::string& path) const { return std::filesystem::exists(folder_.File("spool/" + path)); }
  std::size_t Count(const std::string& folder) const {
    const auto files = std::filesystem::directory_iterator(folder_.File("spool/" + folder));
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }

  const std::vector<float> own_ = {1, 2, 3}, shared_ = std::vector<float>(500, 2.5F);
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Spool> spool_;
};

}  // namespace hotplate::journal
