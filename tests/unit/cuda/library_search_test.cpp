// Where CUDA's libraries are looked for, and in which order.
#include "kernels/cuda/library_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/temporary_folder.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LibrarySearchTest : public ::testing::Test {
 protected:
  std::string Folder(const std::string& path) {
    fs::create_directories(root_.File(path));
    return root_.File(path);
  }
  LibrarySearch Search() {
    return LibrarySearch(
        [this](const char* name) {
          const auto found = environment_.find(name);
          return found != environment_.end() ? found->second : std::string();
        },
        root_.path());
  }

  TemporaryFolder root_;
  std::map<std::string, std::string> environment_;
};

TEST_F(LibrarySearchTest, LooksInOrderAndOnlyWhereSomethingIs) {
  const std::string plugins = Folder("plugins"), rpath = Folder("rpath");
  const std::string named = Folder("named"), other = Folder("named2");
  const std::string module = Folder("module/lib64");
  const std::string newest = Folder("usr/local/cuda-13.1/lib64"), older = Folder("usr/local/cuda-12.9/lib64");
  const std::string venv = Folder("venv/lib/python3.11/site-packages/nvidia/cu13/lib");
  const std::string venv_old = Folder("venv/lib/python3.9/site-packages/nvidia/cublas/lib");
  const std::string conda = Folder("conda/lib");
  const std::string conda_python = Folder("conda/lib/python3.12/site-packages/nvidia/cublas/lib");
  const std::string home = Folder("home/.local/lib/python3.11/site-packages/nvidia/cublas/lib");
  const std::string system = Folder("usr/lib/python3/dist-packages/nvidia/cublas/lib");
  Folder("usr/lib/python3/dist-packages/numpy/lib");
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH", named + "::" + root_.path() + "/nowhere:" + other},
                  {"CUDA_HOME", root_.path() + "/module"},
                  {"CUDA_PATH", root_.path() + "/module"},
                  {"VIRTUAL_ENV", root_.path() + "/venv"},
                  {"CONDA_PREFIX", root_.path() + "/conda"},
                  {"HOME", root_.path() + "/home"}};
  const ElfFile plugin{.needed = {}, .rpath = {plugins, rpath, root_.path() + "/absent"}};
  EXPECT_THAT(Search().Folders(plugin, plugins), ElementsAre(named, other, plugins, rpath, "", module, newest, older,
                                                             conda, venv, venv_old, conda_python, home, system));
}

TEST_F(LibrarySearchTest, OpensWhatIsNeededAndSaysWhence) {
  const std::string module = Folder("module/lib64");
  fs::copy_file(HOTPLATE_FAKE_LIBRARY, module + "/libcufound.so.13");
  environment_ = {{"CUDA_HOME", root_.path() + "/module"}};
  LibrarySearch search = Search();
  std::vector<std::string> used;
  const ElfFile object{.needed = {"libm.so.6", "libcufound.so.13", "libcuda.so.1"}, .rpath = {}};
  const auto note = [&used](const std::string& line) { used.push_back(line); };
  const absl::Status opened = search.OpenNeeded(object, Folder("plugins"), note);
  ASSERT_TRUE(opened.ok()) << opened;
  EXPECT_THAT(used, ElementsAre("libcufound.so.13 from " + module + "/libcufound.so.13"));
  EXPECT_TRUE(search.OpenNeeded(object, Folder("plugins"), note).ok()) << "once is enough";
  EXPECT_EQ(used.size(), 1u);
}

TEST_F(LibrarySearchTest, PassesOverAFileThatIsBroken) {
  const std::string named = Folder("named"), module = Folder("module/lib64");
  std::ofstream(named + "/libcuother.so.13") << "no library";
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH", named}};
  const ElfFile object{.needed = {"libcuother.so.13"}, .rpath = {}};
  const absl::Status opened = Search().OpenNeeded(object, module, {});
  EXPECT_THAT(std::string(opened.message()),
              AllOf(HasSubstr("CUDA's libcuother.so.13 is not found"), HasSubstr("looked in " + named + ", " + module),
                    HasSubstr(named + "/libcuother.so.13: it is no shared object")));
}

}  // namespace
}  // namespace hotplate
