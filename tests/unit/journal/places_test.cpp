// Which journals a HOTPLATE_DIR has: each once, whatever paths and copies of it there are.
#include "server/journal/places.h"

#include <filesystem>

#include "tests/unit/journal/journal_fixture.h"

namespace hotplate::journal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class PlacesTest : public JournalTest {
 protected:
  // A daemon's life, with a journal in that folder.
  void Live(const std::string& name, const std::string& folder) {
    JournalOptions options = Options();
    options.folder = folder;
    options.life.name = name;
    const std::unique_ptr<Journal> journal = Open(std::move(options));
    const std::string root = folder_.File("spools/" + name);
    auto spool = Spool::Open({.root = root, .journal_id = journal->id()});
    ASSERT_TRUE(spool.ok()) << spool.status();
    ASSERT_TRUE(NotePlace(Disk::Real(), directory_, {.name = name, .folder = folder, .spool = root}).ok());
    ASSERT_TRUE(journal->Close("").ok());
  }
  std::vector<std::string> Folders(const std::string& name = "") {
    std::vector<std::string> folders;
    const std::vector<Place> places = FindPlaces(Disk::Real(), directory_, name).value();
    for (const Place& place : places) folders.push_back(place.folder);
    return folders;
  }

  const std::string directory_ = folder_.File("hotplate");
  const std::string default_ = directory_ + "/journal/local";
  PlacesTest() { std::filesystem::create_directories(directory_ + "/servers"); }
};

TEST_F(PlacesTest, OneFolderByTwoPathsIsOneJournal) {
  Live("local", default_);
  // hotplated --journal "$HOTPLATE_DIR/journal/"
  Live("local", directory_ + "/journal//local");
  EXPECT_EQ(Folders().size(), 1u);
  std::filesystem::create_directory_symlink(default_, directory_ + "/journal/alias");
  EXPECT_EQ(Folders().size(), 1u);
  EXPECT_EQ(FindPlaces(Disk::Real(), directory_).value()[0].name, "local");
}

TEST_F(PlacesTest, OfCopiesTheOneLastWrittenToCounts) {
  Live("local", default_);
  const std::string copy = directory_ + "/journal/local.bak";
  std::filesystem::copy(default_, copy, std::filesystem::copy_options::recursive);
  EXPECT_THAT(Folders(), ElementsAre(default_)) << "the daemon's name decides";
  Live("local", default_);
  EXPECT_THAT(Folders(), ElementsAre(default_));
  EXPECT_THAT(Folders("local.bak"), ElementsAre(copy)) << "by its name it can be read";
  // A daemon goes on with a copy elsewhere.
  const std::string moved = folder_.File("elsewhere/local");
  std::filesystem::create_directories(folder_.File("elsewhere"));
  std::filesystem::copy(default_, moved, std::filesystem::copy_options::recursive);
  Live("local", moved);
  EXPECT_THAT(Folders(), ElementsAre(moved));
  EXPECT_THAT(Folders("local"), ElementsAre(moved));
  std::vector<std::string> copies;
  ASSERT_TRUE(FindPlaces(Disk::Real(), directory_, "", &copies).ok());
  EXPECT_THAT(copies, UnorderedElementsAre(default_, copy));
}

TEST_F(PlacesTest, DifferentJournalsStay) {
  EXPECT_THAT(Folders(), IsEmpty());
  Live("a", directory_ + "/journal/a");
  Live("b", directory_ + "/journal/b");
  EXPECT_EQ(Folders().size(), 2u);
}

}  // namespace
}  // namespace hotplate::journal
