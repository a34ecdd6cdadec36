// Files by path: only below the root, never through a link, and never in the place of another one unasked.
#include "kernels/array/placed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/temporary_folder.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Signature kThree{DType::kFloat64, {3}};
const std::vector<double> kValues = {1, 2, 3};
constexpr mode_t kMode = 0644;

class PlacedFileTest : public ::testing::Test {
 protected:
  PlacedFileTest() { fs::create_directories(root_ + "/sub/deep"); }

  NpyError Refused(const std::string& path, bool replace = false) {
    auto opened = PlacedFile::Open(root_, path, replace, kMode);
    if (const auto* error = std::get_if<NpyError>(&opened)) return *error;
    ADD_FAILURE() << path << " was accepted";
    return {};
  }
  std::optional<NpyError> Put(const std::string& path, bool replace = false) {
    auto opened = PlacedFile::Open(root_, path, replace, kMode);
    if (const auto* error = std::get_if<NpyError>(&opened)) return *error;
    auto& file = std::get<PlacedFile>(opened);
    if (auto error = file.Write(kThree, std::as_bytes(std::span(kValues)), nullptr)) return error;
    return file.Commit();
  }
  std::vector<double> Read(const std::string& path) {
    auto opened = NpyFile::Open(path);
    std::vector<double> values(3);
    if (auto* file = std::get_if<NpyFile>(&opened)) {
      EXPECT_FALSE(file->Read(std::as_writable_bytes(std::span(values))));
    } else {
      ADD_FAILURE() << std::get<NpyError>(opened).message;
    }
    return values;
  }
  std::vector<std::string> NamesIn(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    return names;
  }

  TemporaryFolder folder_;
  const std::string root_ = folder_.path() + "/root";
};

TEST_F(PlacedFileTest, AreWrittenWholeBelowTheRoot) {
  for (const std::string& path : {root_ + "/a.npy", root_ + "/sub//deep/b.npy"}) {
    EXPECT_FALSE(Put(path));
    EXPECT_EQ(Read(path), kValues);
  }
  EXPECT_THAT(NamesIn(root_ + "/sub/deep"), ElementsAre("b.npy"));
}

TEST_F(PlacedFileTest, OnlyPlainNamesOfNpyFiles) {
  for (const char* name : {"a.txt", ".npy", ".a.npy", "sub", "sub/", ".hidden/a.npy", "../a.npy", "sub/../a.npy",
                           "./a.npy", "missing/a.npy", "a.npy/b.npy", "", "/"}) {
    folder_.Write("root/a.npy", "old");
    const NpyError error = Refused(root_ + "/" + name, true);
    EXPECT_NE(error.system_error, 0) << name;
  }
  EXPECT_THAT(Refused(root_ + "/.ssh/a.npy").message, HasSubstr(".ssh begins with a dot"));
  EXPECT_THAT(Refused(folder_.path() + "/rootling/a.npy").message, HasSubstr("below " + root_));
  EXPECT_EQ(Refused(root_ + "/missing/a.npy").system_error, ENOENT);
  EXPECT_EQ(ReadText(root_ + "/a.npy"), "old");
}

TEST_F(PlacedFileTest, LinksAreNotFollowed) {
  const std::string outside = folder_.path() + "/outside";
  fs::create_directory(outside);
  const std::string victim = folder_.Write("outside/victim.npy", "precious");
  fs::create_directory_symlink(outside, root_ + "/way");
  fs::create_directory_symlink(root_ + "/sub", root_ + "/within");
  fs::create_symlink(victim, root_ + "/a.npy");
  fs::create_symlink(outside + "/new.npy", root_ + "/dangling.npy");
  for (const bool replace : {false, true}) {
    EXPECT_THAT(Refused(root_ + "/way/a.npy", replace).message, HasSubstr("way is a link"));
    EXPECT_THAT(Refused(root_ + "/within/a.npy", replace).message, HasSubstr("within is a link"));
    EXPECT_THAT(Refused(root_ + "/a.npy", replace).message, HasSubstr("a.npy is a link"));
    EXPECT_THAT(Refused(root_ + "/dangling.npy", replace).message, HasSubstr("dangling.npy is a link"));
  }
  EXPECT_EQ(ReadText(victim), "precious");
  EXPECT_THAT(NamesIn(outside), ElementsAre("victim.npy"));
}

// The folders are looked at when the job is submitted; it may run hours later.
TEST_F(PlacedFileTest, AFolderThatBecomesALinkMeanwhileDoesNotLeadAway) {
  const std::string outside = folder_.path() + "/outside";
  fs::create_directory(outside);
  auto opened = PlacedFile::Open(root_, root_ + "/sub/a.npy", false, kMode);
  ASSERT_TRUE(std::holds_alternative<PlacedFile>(opened));
  fs::rename(root_ + "/sub", root_ + "/moved");
  fs::create_directory_symlink(outside, root_ + "/sub");
  auto& file = std::get<PlacedFile>(opened);
  EXPECT_FALSE(file.Write(kThree, std::as_bytes(std::span(kValues)), nullptr));
  EXPECT_FALSE(file.Commit());
  EXPECT_THAT(NamesIn(outside), IsEmpty());
  EXPECT_EQ(Read(root_ + "/moved/a.npy"), kValues);

  auto second = PlacedFile::Open(root_, root_ + "/b.npy", true, kMode);
  ASSERT_TRUE(std::holds_alternative<PlacedFile>(second));
  const std::string victim = folder_.Write("outside/victim.npy", "precious");
  fs::create_symlink(victim, root_ + "/b.npy");
  EXPECT_FALSE(std::get<PlacedFile>(second).Write(kThree, std::as_bytes(std::span(kValues)), nullptr));
  EXPECT_FALSE(std::get<PlacedFile>(second).Commit());
  EXPECT_EQ(ReadText(victim), "precious");
  EXPECT_EQ(Read(root_ + "/b.npy"), kValues) << "the link was replaced, not what it led to";
}

TEST_F(PlacedFileTest, AFileThatIsThereStaysUnlessItIsToBeReplaced) {
  const std::string path = folder_.Write("root/a.npy", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  for (const bool replace : {false, true}) {
    auto opened = PlacedFile::Open(root_, path, replace, kMode);
    ASSERT_TRUE(std::holds_alternative<PlacedFile>(opened));
    EXPECT_EQ(std::get<PlacedFile>(opened).Taken().has_value(), !replace);
  }
  const auto error = Put(path);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->system_error, EEXIST);
  EXPECT_EQ(ReadText(path), "old");
  EXPECT_FALSE(Put(path, true));
  EXPECT_EQ(Read(path), kValues);
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640u);
}

TEST_F(PlacedFileTest, ANewFileHasItsPermissionsWhateverTheUmask) {
  const mode_t before = umask(077);
  const auto error = Put(root_ + "/a.npy");
  umask(before);
  ASSERT_FALSE(error) << error->message;
  struct stat facts {};
  ASSERT_EQ(stat((root_ + "/a.npy").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, kMode);
}

TEST_F(PlacedFileTest, OfTwoThatWriteAtOnceOneIsFirst) {
  auto one = PlacedFile::Open(root_, root_ + "/a.npy", false, 0640),
       other = PlacedFile::Open(root_, root_ + "/a.npy", false, kMode);
  for (auto* file : {&one, &other})
    EXPECT_FALSE(std::get<PlacedFile>(*file).Write(kThree, std::as_bytes(std::span(kValues)), nullptr));
  EXPECT_FALSE(std::get<PlacedFile>(one).Commit());
  const auto error = std::get<PlacedFile>(other).Commit();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->system_error, EEXIST);
  other = NpyError{};
  EXPECT_THAT(NamesIn(root_), ::testing::UnorderedElementsAre("a.npy", "sub"));
}

// Each looks for what killed writers left, and once took a new file that its writer had not locked yet for such a one.
TEST_F(PlacedFileTest, SeveralAreWrittenIntoOneFolderAtOnce) {
  constexpr int kThreads = 8, kFiles = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      for (int j = 0; j < kFiles; ++j) {
        const std::string name = std::to_string(i) + "-" + std::to_string(j) + ".npy";
        const std::optional<NpyError> error = Put(root_ + "/sub/deep/" + name);
        EXPECT_FALSE(error) << name << ": " << error->message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(NamesIn(root_ + "/sub/deep"), SizeIs(kThreads * kFiles));
}

TEST_F(PlacedFileTest, OneThatIsGivenUpLeavesNothing) {
  {
    auto opened = PlacedFile::Open(root_, root_ + "/a.npy", false, kMode);
    const auto error =
        std::get<PlacedFile>(opened).Write(kThree, std::as_bytes(std::span(kValues)), [] { return true; });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->system_error, ECANCELED);
  }
  EXPECT_THAT(NamesIn(root_), ElementsAre("sub"));
}

}  // namespace
}  // namespace hotplate
