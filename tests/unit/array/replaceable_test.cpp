// Whether somebody else could put another file in the place of one: by its folder, one further up, or a link on the
// way.
#include "kernels/array/replaceable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace hotplate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

// ROOT/course/tokens/ana.json, where nobody else may write.
class ReplaceableTest : public ::testing::Test {
 protected:
  ReplaceableTest() : root_(fs::canonical(folder_.path()).string()) {
    folder_.Write("course/tokens/ana.json", "{}");
    for (const char* const one : {"", "/course", "/course/tokens"}) Mode(root_ + one, 0755);
  }
  static void Mode(const std::string& path, mode_t mode) { EXPECT_EQ(chmod(path.c_str(), mode), 0) << path; }
  std::string Why(const std::string& path, const std::string& home = "") const {
    return WhyReplaceable({.path = path, .owner = geteuid(), .what = "the record", .home = home});
  }
  std::string record() const { return root_ + "/course/tokens/ana.json"; }
  std::string course() const { return root_ + "/course"; }

  const TemporaryFolder folder_;
  const std::string root_;
};

TEST_F(ReplaceableTest, AWayOfOnesOwnIsGood) {
  EXPECT_THAT(Why(record()), IsEmpty());
  EXPECT_THAT(Why(root_ + "/course/./tokens/../tokens//ana.json"), IsEmpty());
  EXPECT_THAT(Why(root_ + "/course/tokens/absent.json"), IsEmpty()) << "one that has yet to be made";
  EXPECT_THAT(Why(root_ + "/absent/ana.json"), IsEmpty()) << "left to whoever opens it";
}

TEST_F(ReplaceableTest, ItsFolderIsWritableToItsOwnerAlone) {
  for (const mode_t mode : {0775, 0757, 01777}) {  // where files go, anybody may take their names
    Mode(root_ + "/course/tokens", mode);
    EXPECT_THAT(Why(record()), AllOf(HasSubstr("folder " + root_ + "/course/tokens can be written by others (mode "),
                                     HasSubstr("who could replace the record in it: chmod go-w " + root_)));
  }
}

TEST_F(ReplaceableTest, AFolderFurtherUpIsWritableToOthersWithTheStickyBitAlone) {
  for (const mode_t mode : {02775, 0777, 0720}) {
    Mode(course(), mode);
    EXPECT_THAT(
        Why(record()),
        AllOf(HasSubstr("folder " + course() + ", on the way to the record, can be written by others (mode "),
              HasSubstr("who could replace what is in it: chmod +t " + course()), HasSubstr("chmod go-w " + course())));
  }
  Mode(course(), 03775);
  EXPECT_THAT(Why(record()), IsEmpty());
  Mode(course(), 0755);
  Mode(root_, 0777);
  EXPECT_THAT(Why(record()), HasSubstr("folder " + root_ + ", on the way")) << "however far up";
}

TEST_F(ReplaceableTest, FoldersAboveTheHomeAreNotLookedAt) {
  Mode(root_, 0777);
  EXPECT_THAT(Why(record(), course()), IsEmpty());
  EXPECT_THAT(Why(record(), root_), HasSubstr("folder " + root_)) << "the home itself is";
  EXPECT_THAT(Why(record(), root_ + "/cour"), IsEmpty());
  Mode(root_, 0755);
  Mode(course(), 0777);
  EXPECT_THAT(Why(record(), root_ + "/course2"), HasSubstr("folder " + course()));
}

TEST_F(ReplaceableTest, FoldersOfLinksCountToo) {
  fs::create_directory(root_ + "/open");
  fs::create_directory_symlink(course(), root_ + "/open/alias");
  fs::create_symlink("alias/tokens/ana.json", root_ + "/open/ana.json");
  Mode(root_ + "/open", 0755);
  for (const char* const path : {"/open/alias/tokens/ana.json", "/open/ana.json"}) {
    EXPECT_THAT(Why(root_ + path), IsEmpty());
    Mode(root_ + "/open", 0777);
    EXPECT_THAT(Why(root_ + path), HasSubstr("folder " + root_ + "/open, on the way")) << path;
    Mode(root_ + "/open", 0755);
    Mode(course(), 0777);
    EXPECT_THAT(Why(root_ + path), HasSubstr("folder " + course() + ", on the way")) << path;
    Mode(course(), 0755);
  }
  fs::create_symlink("loop", root_ + "/loop");
  EXPECT_THAT(Why(root_ + "/loop"), IsEmpty()) << "it cannot be opened";
}

TEST_F(ReplaceableTest, RootTheOwnerAndTheUserAreTrustedAndNobodyElse) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const auto why = [&](uid_t owner) {
    return WhyReplaceable({.path = record(), .owner = owner, .what = "the record"});
  };
  ASSERT_EQ(chown(course().c_str(), 12345, 12345), 0);
  EXPECT_THAT(why(12345), IsEmpty());
  EXPECT_THAT(why(12346), AllOf(HasSubstr("folder " + course() + ", on the way to the record, belongs to user 12345"),
                                HasSubstr("ask user 12346 for a record in another folder")));
  Mode(course(), 0775);
  EXPECT_THAT(why(12345), HasSubstr("ask user 12345, its owner, for chmod +t " + course()));
  Mode(course(), 0755);
  ASSERT_EQ(chown((root_ + "/course/tokens").c_str(), 12346, 12346), 0);
  EXPECT_THAT(why(12345),
              HasSubstr("belongs to user 12346, who could replace the record in it, which is user 12345's"));
  fs::create_symlink(record(), root_ + "/link");
  ASSERT_EQ(lchown((root_ + "/link").c_str(), 12347, 12347), 0);
  EXPECT_THAT(WhyReplaceable({.path = root_ + "/link", .owner = 12346, .what = "the record"}),
              HasSubstr("link " + root_ + "/link, on the way to the record, belongs to user 12347"));
}

}  // namespace
}  // namespace hotplate
