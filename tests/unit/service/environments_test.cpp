// What modules change, interpreters that are asked, and the files and folders of both. The daemon's side of it with
// real interpreters is in tests/e2e/environments_test.py.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <utime.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "server/environments/environment_changes.h"
#include "server/environments/environment_files.h"
#include "server/environments/jit_caches.h"
#include "server/environments/module_load.h"
#include "server/environments/python_facts.h"
#include "tests/temporary_folder.h"

namespace hotplate::server {
namespace {

using std::string_literals::operator""s;

// The client's variables after the changes between the two.
VariableMap Changed(const VariableMap& before, const VariableMap& after, VariableMap client) {
  Apply(ChangesBetween(before, after), client);
  return client;
}

TEST(EnvironmentChangesTest, ListsGrowAtBothEndsAndTheRestIsSet) {
  const VariableMap before = {{"PATH", "/bin"}, {"MANPATH", "/man"}, {"MODE", "a"}, {"GONE", "1"}, {"SAME", "x"}};
  const VariableMap after = {{"PATH", "/m/bin:/bin:/m/last"}, {"MANPATH", "/man:/m/man"}, {"MODE", "b"}, {"SAME", "x"},
                             {"LD_LIBRARY_PATH", "/m/lib"},   {"CUDA_HOME", "/m"}};
  const VariableMap client = {
      {"PATH", "/mine"}, {"MODE", "mine"}, {"GONE", "mine"}, {"SAME", "mine"}, {"LD_LIBRARY_PATH", "/my/lib"}};
  EXPECT_EQ(Changed(before, after, client), (VariableMap{{"PATH", "/m/bin:/mine:/m/last"},
                                                         {"MANPATH", "/m/man"},
                                                         {"MODE", "b"},
                                                         {"SAME", "mine"},
                                                         {"LD_LIBRARY_PATH", "/m/lib:/my/lib"},
                                                         {"CUDA_HOME", "/m"}}));
}

TEST(EnvironmentChangesTest, AFolderIsNotFoundInALongerOne) {
  EXPECT_EQ(Changed({{"PATH", "/a"}}, {{"PATH", "/a/b:/c"}}, {{"PATH", "/mine"}}), (VariableMap{{"PATH", "/a/b:/c"}}));
}

TEST(EnvironmentChangesTest, WhatIsTheShellsOwnIsNoChange) {
  const VariableMap after = {{"PWD", "/"},           {"SHLVL", "2"}, {"_", "env"}, {"BASH_FUNC_module%%", "() { :; }"},
                             {"HOTPLATE_NAME", "x"}, {"OLDPWD", "/"}};
  EXPECT_TRUE(NamesIn(ChangesBetween({}, after)).empty());
  EXPECT_EQ(NamesIn(ChangesBetween({{"B", "1"}}, {{"A", "1"}})), (std::vector<std::string>{"A", "B"}));
}

// A shell that prints this and ends so; what it was called with is kept.
ProgramToEnd Shell(const std::string& out, const std::string& err, int exit_code, Program* asked = nullptr) {
  return [=](const Program& program) -> absl::StatusOr<EndedProgram> {
    if (asked != nullptr) *asked = program;
    EndedProgram ended;
    ended.end.use.exit_code = exit_code;
    ended.out = out;
    ended.err = err;
    return ended;
  };
}

const std::string kMark = "hotplate: variables\0"s;

TEST(ModuleLoadTest, WhatItChangesIsKeptWhateverProfilesPrint) {
  Program asked;
  const auto loaded =
      LoadModules({"GCC/12", "CUDA"}, {{"HOME", "/home/ada"}, {"SECRET", "1"}, {"LOADEDMODULES", "old"}},
                  Shell("Welcome\n\0"s + kMark + "PATH=/bin\0A=1\0"s + kMark + "PATH=/m:/bin\0A=1\0"s, "", 0, &asked));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(NamesIn(loaded->changes), std::vector<std::string>{"PATH"});
  EXPECT_EQ(loaded->variables.at("PATH"), "/m:/bin");
  EXPECT_EQ(asked.environment, std::vector<std::string>{"HOME=/home/ada"}) << "a login's variables alone";
  EXPECT_EQ(asked.arguments[1], "-l");
  EXPECT_EQ(std::vector<std::string>(asked.arguments.end() - 2, asked.arguments.end()),
            (std::vector<std::string>{"GCC/12", "CUDA"}));
}

TEST(ModuleLoadTest, TheWordsOfModuleAreTold) {
  const auto why = [](const ProgramToEnd& shell) {
    const auto loaded = LoadModules({"nosuch/1"}, {}, shell);
    EXPECT_TRUE(absl::IsInvalidArgument(loaded.status())) << loaded.status();
    return std::string(loaded.status().message());
  };
  EXPECT_EQ(why(Shell("", "Lmod has detected the following error:\n\n  not known: \"nosuch/1\"\n", 1)),
            "module load nosuch/1 failed on the node: Lmod has detected the following error: not known: \"nosuch/1\"");
  EXPECT_EQ(why(Shell("", "", 41)),
            "module load nosuch/1: the node has no command `module` in a login shell (bash -l)");
  EXPECT_EQ(why(Shell("", "", 5)), "module load nosuch/1 failed on the node without a word");
  // Modules 3.2 fails with exit code 0.
  const std::string out = "\0"s + kMark + "A=1\0"s + kMark + "A=1\0"s;
  EXPECT_EQ(
      why(Shell(out, "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for 'nosuch/1'\n", 0)),
      "module load nosuch/1 failed on the node: ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for "
      "'nosuch/1'");
}

absl::StatusOr<PythonFacts> Asked(const std::string& out, int exit_code = 0, const std::string& err = "") {
  Program python;
  python.file = "/x/python";
  return AskPython(python, Ask::kInstalled, Shell(out, err, exit_code));
}

const std::string kAnswer = "\0hotplate: python\0"s;

TEST(PythonFactsTest, ItsAnswerIsFoundBehindWhatElseItPrints) {
  const auto facts =
      Asked("hello" + kAnswer + "3.12.1\0002.1.0\000\0001\0cloudpickle cannot be imported: x\0/lib/site\0bye"s);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->version, "3.12.1");
  EXPECT_EQ(facts->numpy, "2.1.0");
  EXPECT_EQ(facts->cloudpickle, "");
  EXPECT_EQ(facts->notes, std::vector<std::string>{"cloudpickle cannot be imported: x"});
  EXPECT_EQ(facts->folders, std::vector<std::string>{"/lib/site"});
}

TEST(PythonFactsTest, WhatIsNoPythonIsRefusedWithItsWords) {
  EXPECT_EQ(Asked("", 2, "ls: invalid option\nTry 'ls --help'\n").status().message(),
            "/x/python is no Python that runs: it ended with exit code 2 and said: Try 'ls --help'");
  EXPECT_EQ(Asked("anything").status().message(),
            "/x/python is no Python that runs: it gave no answer to a Python program and said: anything");
  EXPECT_EQ(Asked(kAnswer + "2.7.18\0"s).status().message(),
            "/x/python is Python 2.7.18; Python 3.9 or later is needed");
  EXPECT_EQ(Asked(kAnswer + "3.8.2\0"s).status().message(), "/x/python is Python 3.8.2; Python 3.9 or later is needed");
  for (const std::string& answer : {"\0"s, "\0\0\0\0"s, "3.11.2\0"s, "3.11.2\0a\0b\0x\0"s, "3.11.2\0a\0b\09\0c\0"s}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Asked(kAnswer + answer).status())) << answer;
  }
}

class EnvironmentFilesTest : public testing::Test {
 protected:
  v1::EnvironmentFile File(const std::string& name) {
    v1::EnvironmentFile file;
    file.mutable_environment()->set_name(name);
    file.mutable_environment()->set_python("/x/python");
    auto& variable = *file.mutable_changes()->add_set();
    variable.set_name("SECRET");
    variable.set_value("\xff\x01 not text");
    return file;
  }

  TemporaryFolder folder_;
  const EnvironmentFiles files_{folder_.path()};
};

TEST_F(EnvironmentFilesTest, WhatIsWrittenIsReadAndClosedToOthers) {
  ASSERT_TRUE(files_.Write(File("torch")).ok());
  const auto read = files_.Read("torch");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->environment().python(), "/x/python");
  EXPECT_EQ(read->changes().set(0).value(), "\xff\x01 not text");
  struct stat facts {};
  ASSERT_EQ(stat((folder_.path() + "/environments/torch.json").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  const auto list = files_.List();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].variables(0), "SECRET");
  EXPECT_EQ(list[0].ShortDebugString().find("not text"), std::string::npos) << "values are shown nowhere";
}

TEST_F(EnvironmentFilesTest, WhatIsNotThereIsNamedWithWhatIs) {
  EXPECT_EQ(files_.Read("a").status().message(),
            "there is no environment \"a\", nor any other (hotplate env add a --python PATH)");
  ASSERT_TRUE(files_.Write(File("b")).ok());
  ASSERT_TRUE(files_.Write(File("c")).ok());
  EXPECT_EQ(files_.Read("a").status().message(),
            "there is no environment \"a\"; there are: b, c (hotplate env add a --python PATH)");
  EXPECT_TRUE(absl::IsNotFound(files_.Remove("a")));
  EXPECT_TRUE(files_.Remove("b").ok());
  EXPECT_EQ(files_.List().size(), 1U);
}

TEST_F(EnvironmentFilesTest, NamesCannotLeaveTheFolder) {
  for (const std::string& name :
       {""s, "."s, ".."s, "../a"s, "a/b"s, "-a"s, ".a"s, std::string(65, 'a'), "a\0b"s, "ä"s}) {
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Read(name).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Remove(name))) << name;
  }
}

TEST_F(EnvironmentFilesTest, AFileThatIsNoneIsListedWithTheReason) {
  ASSERT_TRUE(files_.Write(File("a")).ok());
  std::ofstream(folder_.path() + "/environments/b.json") << "{ no json";
  const auto list = files_.List();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].name(), "b");
  EXPECT_EQ(list[1].notes_size(), 1);
  EXPECT_FALSE(files_.Read("b").ok());
}

TEST(JitCachesTest, VariablesThatAreSetStay) {
  std::vector<std::string> variables = {"NUMBA_CACHE_DIR=/mine", "A=1"};
  JitCaches("/c", {"CUDA_CACHE_PATH=/site", "CUPY_CACHE_DIR=/daemons"}).AddTo(variables);
  EXPECT_EQ(variables,
            (std::vector<std::string>{"NUMBA_CACHE_DIR=/mine", "A=1", "CUPY_CACHE_DIR=/c/hotplate-cupy",
                                      "JAX_COMPILATION_CACHE_DIR=/c/hotplate-jax", "CUDA_CACHE_PATH=/site"}));
  JitCaches().AddTo(variables = {});
  EXPECT_TRUE(variables.empty());
}

TEST(JitCachesTest, TheFolderIsTheOwnersAlone) {
  const TemporaryFolder folder;
  ASSERT_TRUE(JitCaches::MakeFolder(folder.path() + "/a/b/jit").ok());
  struct stat facts {};
  ASSERT_EQ(stat((folder.path() + "/a/b/jit").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  EXPECT_TRUE(JitCaches::MakeFolder(folder.path() + "/a/b/jit").ok()) << "it is there";
  chmod((folder.path() + "/a/b/jit").c_str(), 0755);
  EXPECT_TRUE(absl::IsPermissionDenied(JitCaches::MakeFolder(folder.path() + "/a/b/jit")));
  std::filesystem::create_directory_symlink(folder.path() + "/a", folder.path() + "/a/b/link");
  EXPECT_TRUE(absl::IsPermissionDenied(JitCaches::MakeFolder(folder.path() + "/a/b/link")));
  chmod((folder.path() + "/a/b").c_str(), 0777);
  EXPECT_TRUE(absl::IsPermissionDenied(JitCaches::MakeFolder(folder.path() + "/a/b/other")));
  chmod((folder.path() + "/a/b").c_str(), 01777);
  EXPECT_TRUE(JitCaches::MakeFolder(folder.path() + "/a/b/other").ok()) << "as in /tmp";
}

TEST(JitCachesTest, OldAndSurplusFilesGoButNotTheDriversOwn) {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name, std::size_t bytes, int minutes_old) {
    const std::filesystem::path path = std::filesystem::path(folder.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
    const std::time_t used = std::time(nullptr) - minutes_old * 60;
    const utimbuf times{used, used};
    utime(path.c_str(), &times);
    return path;
  };
  const auto newest = file("hotplate-numba/a", 600, 0), older = file("hotplate-cupy/b", 600, 2),
             month_old = file("hotplate-jax/c", 1, 31 * 24 * 60), drivers = file("hotplate-cuda/d", 5000, 60 * 24 * 60),
             theirs = file("jax/thesis.tex", 5000, 60 * 24 * 60);
  EXPECT_EQ(JitCaches::CutDown(folder.path(), {}, 10'000).files, 1U);
  EXPECT_FALSE(std::filesystem::exists(month_old));
  EXPECT_EQ(JitCaches::CutDown(folder.path(), {}, 1000).files, 1U);
  EXPECT_FALSE(std::filesystem::exists(older));
  EXPECT_TRUE(std::filesystem::exists(newest) && std::filesystem::exists(drivers));
  EXPECT_TRUE(std::filesystem::exists(theirs)) << "no cache, but somebody's file in the folder that was named";
  const TemporaryFolder other;
  std::ofstream(other.path() + "/kept") << std::string(5000, 'x');
  std::filesystem::create_directory_symlink(other.path(), folder.path() + "/hotplate-numba/link");
  EXPECT_EQ(JitCaches::CutDown(folder.path(), {}, 1000).files, 0U) << "links are not followed";
}

}  // namespace
}  // namespace hotplate::server
