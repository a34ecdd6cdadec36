// A file is there whole or not at all, whatever goes wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "kernels/array/npy.h"
#include "tests/temporary_folder.h"
#include "tests/unit/array/bytes_of.h"

namespace hotplate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::optional<NpyError> Replace(const std::string& path, const std::string& content) {
  auto created = AtomicFile::Create(path);
  if (auto* error = std::get_if<NpyError>(&created)) return *error;
  AtomicFile& file = std::get<AtomicFile>(created);
  if (auto error = file.Write(BytesOf(content))) return error;
  return file.Commit();
}

int ErrorOf(const std::string& path) {
  const std::optional<NpyError> error = Replace(path, "x");
  if (!error) {
    ADD_FAILURE() << path << " was written";
    return 0;
  }
  return error->system_error;
}

mode_t ModeOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(umask(mask)) {}
  ~Umask() { umask(before_); }

 private:
  mode_t before_;
};

TEST(AtomicFileTest, IsNotThereBeforeCommitAndWholeAfter) {
  const TemporaryFolder folder;
  auto created = AtomicFile::Create(folder.File("out.npy"));
  ASSERT_TRUE(std::holds_alternative<AtomicFile>(created));
  AtomicFile& file = std::get<AtomicFile>(created);
  ASSERT_FALSE(file.Write(BytesOf("first ")));
  ASSERT_FALSE(file.Write({}));
  ASSERT_FALSE(file.Write(BytesOf("second")));
  EXPECT_NE(access(folder.File("out.npy").c_str(), F_OK), 0);
  ASSERT_FALSE(file.Commit());
  EXPECT_EQ(ReadText(folder.File("out.npy")), "first second");
  EXPECT_THAT(folder.Names(), ElementsAre("out.npy"));
}

TEST(AtomicFileTest, WithoutCommitTheOldFileStaysAndNothingElse) {
  const TemporaryFolder folder;
  WriteText(folder.File("out.npy"), "old");
  {
    auto created = AtomicFile::Create(folder.File("out.npy"));
    ASSERT_TRUE(std::holds_alternative<AtomicFile>(created));
    ASSERT_FALSE(std::get<AtomicFile>(created).Write(BytesOf("new")));
    EXPECT_EQ(folder.Names().size(), 2u);
  }
  EXPECT_EQ(ReadText(folder.File("out.npy")), "old");
  EXPECT_THAT(folder.Names(), ElementsAre("out.npy"));
}

TEST(AtomicFileTest, AMovedFileIsRemovedOnceAndCommitsOnce) {
  const TemporaryFolder folder;
  auto created = AtomicFile::Create(folder.File("a"));
  ASSERT_TRUE(std::holds_alternative<AtomicFile>(created));
  AtomicFile moved = std::get<AtomicFile>(std::move(created));
  created = NpyError{};
  EXPECT_EQ(folder.Names().size(), 1u) << "the moved-from one must not remove it";
  ASSERT_FALSE(moved.Write(BytesOf("x")));
  ASSERT_FALSE(moved.Commit());
  const auto again = moved.Commit();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->system_error, EBADF);
  ASSERT_TRUE(moved.Write(BytesOf("y")));
  EXPECT_EQ(ReadText(folder.File("a")), "x");
}

TEST(AtomicFileTest, ANewFileFollowsTheUmaskAndAReplacedOneKeepsItsMode) {
  const TemporaryFolder folder;
  for (const mode_t mask : {mode_t{022}, mode_t{027}, mode_t{077}}) {
    const Umask umask(mask);
    const std::string path = folder.File("mask" + std::to_string(mask));
    ASSERT_FALSE(Replace(path, "x"));
    EXPECT_EQ(ModeOf(path), 0666 & ~mask);
  }
  const Umask umask(022);
  WriteText(folder.File("private"), "old");
  ASSERT_EQ(chmod(folder.File("private").c_str(), 0600), 0);
  ASSERT_FALSE(Replace(folder.File("private"), "new"));
  EXPECT_EQ(ModeOf(folder.File("private")), mode_t{0600});
  EXPECT_EQ(ReadText(folder.File("private")), "new");
}

TEST(AtomicFileTest, ALinkStaysAndItsTargetIsReplaced) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkdir(folder.File("scratch").c_str(), 0700), 0);
  WriteText(folder.File("scratch/real"), "old");
  ASSERT_EQ(symlink("scratch/real", folder.File("link").c_str()), 0);
  ASSERT_EQ(symlink(folder.File("link").c_str(), folder.File("link to link").c_str()), 0);
  ASSERT_FALSE(Replace(folder.File("link to link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link to link")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link")));
  EXPECT_EQ(ReadText(folder.File("scratch/real")), "new");

  ASSERT_EQ(symlink("scratch/not yet", folder.File("dangling").c_str()), 0);
  ASSERT_FALSE(Replace(folder.File("dangling"), "made"));
  EXPECT_EQ(ReadText(folder.File("scratch/not yet")), "made");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("dangling")));

  ASSERT_EQ(symlink("round", folder.File("round").c_str()), 0);
  EXPECT_EQ(ErrorOf(folder.File("round")), ELOOP);
}

// A folder as /tmp is, and in it a link of another user's to a file of ours. fs.protected_symlinks, where it is on,
// keeps the kernel from such links; this must hold without it, and say why.
TEST(AtomicFileTest, AnotherUsersLinkInAFolderOfAllIsNotFollowed) {
  const uid_t another = geteuid() + 1;
  const TemporaryFolder folder;
  const std::string shared = folder.File("shared"), trap = shared + "/out.npy", own = shared + "/own.npy";
  WriteText(folder.File("precious"), "old");
  ASSERT_EQ(mkdir(shared.c_str(), 0700), 0);
  ASSERT_EQ(chmod(shared.c_str(), 01777), 0);
  for (const std::string& link : {trap, own}) ASSERT_EQ(symlink(folder.File("precious").c_str(), link.c_str()), 0);
  ASSERT_EQ(symlink(trap.c_str(), folder.File("by way of it").c_str()), 0);

  ASSERT_FALSE(Replace(own, "by our own link"));
  EXPECT_EQ(ReadText(folder.File("precious")), "by our own link");
  if (lchown(trap.c_str(), another, another) != 0) {
    GTEST_SKIP() << "only root can give a link away: whether another user's is followed was not tried";
  }
  for (const std::string& path : {trap, folder.File("by way of it")}) {
    const auto error = Replace(path, "stolen");
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->system_error, EACCES);
    EXPECT_THAT(error->message, HasSubstr(trap + " is another user's link"));
  }
  EXPECT_EQ(ReadText(folder.File("precious")), "by our own link");

  // As the kernel has it: the folder's owner may put links there, and elsewhere permissions alone count.
  ASSERT_EQ(chown(shared.c_str(), another, another), 0);
  ASSERT_FALSE(Replace(trap, "by the owner's link"));
  ASSERT_FALSE(Replace(own, "by our own link in another's folder"));
  ASSERT_EQ(chown(shared.c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(shared.c_str(), 0777), 0);
  ASSERT_FALSE(Replace(trap, "by a link in another folder"));
  EXPECT_EQ(ReadText(folder.File("precious")), "by a link in another folder");
}

TEST(AtomicFileTest, WhatIsNoFileIsNotReplaced) {
  const TemporaryFolder folder;
  EXPECT_EQ(ErrorOf(folder.path()), EISDIR);
  EXPECT_EQ(ErrorOf(folder.File("new/")), EISDIR);
  EXPECT_EQ(ErrorOf(""), ENOENT);
  ASSERT_EQ(symlink(folder.path().c_str(), folder.File("link").c_str()), 0);
  EXPECT_EQ(ErrorOf(folder.File("link")), EISDIR);
  ASSERT_EQ(mkfifo(folder.File("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(folder.File("pipe")), EINVAL);
  EXPECT_THAT(folder.Names(), UnorderedElementsAre("link", "pipe"));
  EXPECT_EQ(ErrorOf("/dev/null"), EINVAL);
}

TEST(AtomicFileTest, AFolderThatIsNotThereIsNamed) {
  const TemporaryFolder folder;
  const auto error = Replace(folder.File("none/out.npy"), "x");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->system_error, ENOENT);
  EXPECT_THAT(error->message, HasSubstr(folder.File("none")));
  WriteText(folder.File("file"), "");
  EXPECT_EQ(ErrorOf(folder.File("file/out.npy")), ENOTDIR);
}

// Root may write everywhere, so the test steps down where it runs as root.
TEST(AtomicFileTest, AFolderOrFileThatMayNotBeWrittenIsRefused) {
  const TemporaryFolder folder;
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(mkdir(folder.File("closed").c_str(), 0755), 0);
  WriteText(folder.File("closed/old"), "old");
  WriteText(folder.File("read only"), "old");
  ASSERT_EQ(chmod(folder.File("read only").c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  ASSERT_EQ(chmod(folder.File("closed").c_str(), 0555), 0);
  const bool root = geteuid() == 0;
  if (root && seteuid(kNobody) != 0) GTEST_SKIP() << "runs as root in a namespace with no other user to become";
  const int in_closed = ErrorOf(folder.File("closed/new")), old_in_closed = ErrorOf(folder.File("closed/old"));
  const int read_only = ErrorOf(folder.File("read only"));
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(in_closed, EACCES);
  EXPECT_EQ(old_in_closed, EACCES);
  EXPECT_EQ(read_only, EACCES);
  EXPECT_EQ(ReadText(folder.File("closed/old")), "old");
  EXPECT_EQ(ReadText(folder.File("read only")), "old");
  ASSERT_EQ(chmod(folder.File("closed").c_str(), 0755), 0);
  EXPECT_EQ(folder.Names().size(), 2u);
}

// A limit on the size of files stands in for a full disk or quota: a write succeeds in part, then fails.
TEST(AtomicFileTest, AWriteThatFailsHalfWayLeavesTheOldFile) {
  const TemporaryFolder folder;
  WriteText(folder.File("out.npy"), "old");
  auto* const before_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto error = Replace(folder.File("out.npy"), std::string(5000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, before_handler);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->system_error, EFBIG);
  EXPECT_EQ(ReadText(folder.File("out.npy")), "old");
  EXPECT_THAT(folder.Names(), ElementsAre("out.npy"));
}

TEST(AtomicFileTest, ACommitThatFailsLeavesNothing) {
  const TemporaryFolder folder;
  auto created = AtomicFile::Create(folder.File("out"));
  ASSERT_TRUE(std::holds_alternative<AtomicFile>(created));
  // Somebody makes a folder of that name meanwhile.
  ASSERT_EQ(mkdir(folder.File("out").c_str(), 0700), 0);
  const auto error = std::get<AtomicFile>(created).Commit();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->system_error, EISDIR);
  created = NpyError{};
  EXPECT_THAT(folder.Names(), ElementsAre("out"));
  EXPECT_THAT(std::filesystem::is_empty(folder.File("out")), true);
}

TEST(AtomicFileTest, TheLongestNameIsPossible) {
  const TemporaryFolder folder;
  EXPECT_FALSE(Replace(folder.File(std::string(255, 'n')), "x"));
  EXPECT_EQ(ErrorOf(folder.File(std::string(256, 'n'))), ENAMETOOLONG);
  EXPECT_EQ(folder.Names().size(), 1u);
}

TEST(AtomicFileTest, TwoWritersAtOnceLeaveOneWholeFile) {
  const TemporaryFolder folder;
  auto first = AtomicFile::Create(folder.File("out")), second = AtomicFile::Create(folder.File("out"));
  ASSERT_TRUE(std::holds_alternative<AtomicFile>(first) && std::holds_alternative<AtomicFile>(second));
  ASSERT_FALSE(std::get<AtomicFile>(first).Write(BytesOf("first")));
  ASSERT_FALSE(std::get<AtomicFile>(second).Write(BytesOf("second")));
  ASSERT_FALSE(std::get<AtomicFile>(first).Commit());
  ASSERT_FALSE(std::get<AtomicFile>(second).Commit());
  EXPECT_EQ(ReadText(folder.File("out")), "second");
  EXPECT_THAT(folder.Names(), ElementsAre("out"));
}

// A child that leaves an unfinished file behind, and does not end before it is told to.
class Writer {
 public:
  explicit Writer(const std::string& path) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      auto created = AtomicFile::Create(path);
      if (std::holds_alternative<AtomicFile>(created) && write(ready[1], "x", 1) == 1) pause();
      _exit(1);
    }
    close(ready[1]);
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
  }
  ~Writer() { Kill(); }

  void Kill() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

TEST(AtomicFileTest, WhatKilledWritersLeftIsRemoved) {
  const TemporaryFolder folder;
  Writer dead(folder.File("a.npy")), living(folder.File("b.npy"));
  dead.Kill();
  folder.Write("c.part", "the user's");
  folder.Write(".c.npy.0123456789abcdef.another-node.part", "may still be written to");
  EXPECT_EQ(folder.Names().size(), 4u);
  AtomicFile::RemoveAbandoned(folder.path());
  EXPECT_EQ(folder.Names().size(), 3u);
  living.Kill();
  AtomicFile::RemoveAbandoned(folder.path());
  EXPECT_THAT(folder.Names(), UnorderedElementsAre("c.part", ".c.npy.0123456789abcdef.another-node.part"));
}

TEST(AtomicFileTest, WhatAnotherMachineLeftGoesAfterADay) {
  const TemporaryFolder folder;
  for (const char* name : {".c.npy.0123456789abcdef.another-node.part", ".c.npy.0123456789abcdef.part",
                           ".notes.another-node.part", "c.npy.0123456789abcdef.part", ".0123456789abcdef.part"}) {
    const std::string file = folder.Write(name, "x");
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  }
  folder.Write(".d.npy.0123456789abcdef.part", "new");
  AtomicFile::RemoveAbandoned(folder.path());
  EXPECT_THAT(folder.Names(), UnorderedElementsAre(".notes.another-node.part", "c.npy.0123456789abcdef.part",
                                                   ".0123456789abcdef.part", ".d.npy.0123456789abcdef.part"));
}

}  // namespace
}  // namespace hotplate
