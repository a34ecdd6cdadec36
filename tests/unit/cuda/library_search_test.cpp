// Where CUDA's libraries are looked for, and in which order.
#include "kernels/devices/cuda/loader/library_search.h"

#include <dlfcn.h>
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
using ::testing::EndsWith;
using ::testing::HasSubstr;

class LibrarySearchTest : public ::testing::Test {
 protected:
  std::string Folder(const std::string& path) {
    fs::create_directories(root_.File(path));
    return root_.File(path);
  }
  LibrarySearch Search(const std::string& plugins = "/nowhere") {
    return LibrarySearch(
        [this](const char* name) {
          const auto found = environment_.find(name);
          return found != environment_.end() ? found->second : std::string();
        },
        root_.path(), plugins);
  }

  TemporaryFolder root_;
  std::map<std::string, std::string> environment_;
};

TEST_F(LibrarySearchTest, LooksInOrderAndOnlyWhereSomethingIs) {
  const std::string plugins = Folder("installed/bin"), beside = plugins + "/../lib", linker = Folder("linker");
  Folder("installed/lib");
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
                  {"LD_LIBRARY_PATH", ":" + linker + ":" + other},
                  {"CUDA_HOME", root_.path() + "/module"},
                  {"CUDA_PATH", root_.path() + "/module"},
                  {"VIRTUAL_ENV", root_.path() + "/venv"},
                  {"CONDA_PREFIX", root_.path() + "/conda"},
                  {"HOME", root_.path() + "/home"}};
  EXPECT_THAT(Search(plugins).Folders(), ElementsAre(named, other, plugins, beside, linker, module, newest, older,
                                                     conda, venv, venv_old, conda_python, home, system, ""));
}

// A site's module, PYTHONPATH, a virtual environment in PATH that nobody activated, and the Python that it is of.
TEST_F(LibrarySearchTest, LooksWherePythonWould) {
  const std::string packages = "/lib/python3.11/site-packages", cublas = "/nvidia/cublas/lib";
  const std::string named = Folder("named" + cublas), module = Folder("module" + packages + cublas);
  const std::string venv = Folder("venv" + packages + cublas), base = Folder("base" + packages + cublas);
  const std::string user = Folder("home/.local" + packages + cublas);
  Folder("later" + packages + cublas);
  // Relative ones, which depend on where hotplated was started.
  Folder(packages.substr(1) + cublas);
  std::ofstream(Folder("bin") + "/python3") << "a program";
  const fs::path here = fs::current_path();
  fs::current_path(root_.path());
  for (const char* bin : {"base/bin", "later/bin"}) std::ofstream(Folder(bin) + "/python3.11") << "a program";
  fs::create_symlink(root_.File("base/bin/python3.11"), Folder("venv/bin") + "/python3");
  std::ofstream(root_.File("venv/pyvenv.cfg")) << "home = /base/bin";
  fs::create_symlink("python3.11", root_.File("later/bin/python3"));
  Folder("folder/bin/python3");
  environment_ = {{"PYTHONPATH", "named:" + root_.File("nowhere") + ":" + root_.File("named")},
                  {"EBROOTPYTHON", root_.File("module")},
                  {"HOME", root_.File("home")},
                  {"PATH", "bin::" + root_.File("nowhere") + ":" + root_.File("folder/bin") + ":" +
                               root_.File("venv/bin") + ":" + root_.File("later/bin")}};
  EXPECT_THAT(Search().Folders(), ElementsAre(named, module, venv, user, base, ""));
  fs::current_path(here);
}

// Its python3 in PATH is a script.
TEST_F(LibrarySearchTest, LooksInTheVersionThatPyenvStarts) {
  const std::string packages = "/lib/python3.11/site-packages/nvidia/cublas/lib";
  const std::string first = Folder("pyenv/versions/3.11.9" + packages);
  const std::string second = Folder("pyenv/versions/mine" + packages);
  const std::string behind = Folder("behind" + packages);
  std::ofstream(Folder("pyenv/shims") + "/python3") << "#!/bin/sh\nexec pyenv exec python3\n";
  std::ofstream(Folder("behind/bin") + "/python3") << "a program";
  environment_ = {{"PATH", root_.File("pyenv/shims") + ":" + root_.File("behind/bin")}};
  EXPECT_THAT(Search().Folders(), ElementsAre(behind, "")) << "none is chosen";
  std::ofstream(root_.File("pyenv/version")) << "3.11.9\nmine\n";
  EXPECT_THAT(Search().Folders(), ElementsAre(first, ""));
  environment_["PYENV_VERSION"] = "mine:3.11.9";
  EXPECT_THAT(Search().Folders(), ElementsAre(second, ""));
  environment_["PYENV_VERSION"] = "system";
  EXPECT_THAT(Search().Folders(), ElementsAre(behind, ""));
  // A version may be named by its first numbers.
  const std::string newest = Folder("pyenv/versions/3.11.10" + packages);
  const std::string newest_of_all = Folder("pyenv/versions/3.110.1" + packages);
  for (const char* other : {"3.99.18", "3.11.12-debug", "3.11.13b1"})
    Folder(std::string("pyenv/versions/") + other + packages);
  environment_["PYENV_VERSION"] = "3.11";
  EXPECT_THAT(Search().Folders(), ElementsAre(newest, ""));
  environment_["PYENV_VERSION"] = "3";
  EXPECT_THAT(Search().Folders(), ElementsAre(newest_of_all, ""));
  environment_["PYENV_VERSION"] = "3.1";
  EXPECT_THAT(Search().Folders(), ElementsAre(behind, ""));
}

TEST_F(LibrarySearchTest, FindsWithoutOpening) {
  const std::string path = Folder("module/lib64") + "/libcuneeded.so.13";
  fs::copy_file(HOTPLATE_FAKES "/needed.so", path);
  environment_ = {{"CUDA_HOME", root_.path() + "/module"}};
  const absl::StatusOr<std::string> found = Search().Find("libcuneeded.so.13");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, path);
  EXPECT_EQ(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  const absl::StatusOr<LibrarySearch::Opened> opened = Search().Open("libcuneeded.so.13");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->path, path);
  EXPECT_NE(dlsym(opened->handle, "hotplate_fake_library"), nullptr);
}

// Two installations whose libraries have the same names, the wrong one named first: what a library needs is taken from
// its own, be that one folder or Python's packages.
TEST_F(LibrarySearchTest, OpensWhatALibraryNeedsFromTheSameInstallation) {
  const auto put = [&](const std::string& folder, const std::string& name) {
    const std::string path = Folder(folder) + "/libcu" + name + ".so.13";
    fs::copy_file(HOTPLATE_FAKES "/" + name + ".so", path);
    return path;
  };
  const auto is_open = [](const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  };
  const std::string other = put("other/lib", "needed");
  environment_ = {{"LD_LIBRARY_PATH", root_.path() + "/other/lib"}, {"CUDA_HOME", root_.path() + "/toolkit"}};
  const std::string user = put("toolkit/lib64", "user"), needed = put("toolkit/lib64", "needed");
  environment_["LD_LIBRARY_PATH"] += ":" + root_.path() + "/toolkit/../toolkit/lib64/";
  ASSERT_TRUE(Search().Open("libcuuser.so.13").ok());
  EXPECT_TRUE(is_open(user) && is_open(needed));
  EXPECT_FALSE(is_open(other));

  const std::string packages = "venv/lib/python3.11/site-packages/nvidia/";
  environment_ = {{"LD_LIBRARY_PATH", root_.path() + "/other/lib"}, {"VIRTUAL_ENV", root_.path() + "/venv"}};
  const std::string of_python = put(packages + "user/lib", "user");
  const std::string needed_of_python = put(packages + "needed/lib", "needed");
  ASSERT_TRUE(Search().Open("libcuuser.so.13").ok());
  EXPECT_TRUE(is_open(of_python) && is_open(needed_of_python));
  EXPECT_FALSE(is_open(other));
}

TEST_F(LibrarySearchTest, AsksTheDynamicLinkerLast) {
  // Every program has it open, so that the linker knows it, wherever it is.
  const absl::StatusOr<std::string> found = Search().Find("libc.so.6");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, EndsWith("/libc.so.6"));
}

TEST_F(LibrarySearchTest, PassesOverFilesThatAreOfNoUse) {
  const std::string name = "libcuneeded.so.13";
  const std::string broken = Folder("broken"), cut = Folder("cut"), good = Folder("good");
  std::ofstream(broken + "/" + name) << "no library";
  fs::copy_file(HOTPLATE_FAKES "/needed.so", cut + "/" + name);
  fs::resize_file(cut + "/" + name, fs::file_size(cut + "/" + name) / 2);
  fs::copy_file(HOTPLATE_FAKES "/needed.so", good + "/" + name);
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH", broken + ":" + cut + ":" + good}};
  EXPECT_EQ(Search().Find(name).value(), good + "/" + name);
  EXPECT_EQ(Search().Open(name).value().path, good + "/" + name);
}

TEST_F(LibrarySearchTest, SaysWhereItLookedAndWhatItFound) {
  const std::string named = Folder("named"), other = Folder("other");
  std::ofstream(named + "/libcuabsent.so.13") << "no library";
  fs::copy_file(HOTPLATE_FAKES "/needed.so", other + "/libcuabsent.so.13");
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH", named + ":" + other}};
  for (const absl::Status& why :
       {Search().Find("libcuabsent.so.13").status(), Search().Open("libcuabsent.so.13").status()}) {
    EXPECT_EQ(why.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(why.message()),
                AllOf(HasSubstr("CUDA's libcuabsent.so.13 is not found; load the site's CUDA module, or name its "
                                "folder in HOTPLATE_CUDA_LIBRARY_PATH, before hotplated starts (looked in " +
                                named + ", " + other + ", the dynamic linker's folders"),
                      HasSubstr(named + "/libcuabsent.so.13: it is no shared object"),
                      HasSubstr(other + "/libcuabsent.so.13: it is libcuneeded.so.13 by another name")));
  }
}

}  // namespace
}  // namespace hotplate
