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
using ::testing::Not;

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
  // A fake library of that name in the folder.
  std::string Put(const std::string& folder, const std::string& name) {
    const std::string path = Folder(folder) + "/libcu" + name + ".so.13";
    fs::copy_file(HOTPLATE_FAKES "/" + name + ".so", path);
    return path;
  }

  TemporaryFolder root_;
  std::map<std::string, std::string> environment_;
};

TEST_F(LibrarySearchTest, LooksInOrderAndOnlyWhereSomethingIs) {
  const std::string named = Folder("named"), other = Folder("named2"), linker = Folder("linker");
  const std::string module = Folder("module/lib64"), root = Folder("root/lib");
  const std::string newest = Folder("usr/local/cuda-13.1/lib64"), older = Folder("usr/local/cuda-12.9/lib64");
  const std::string packages = "/lib/python3.11/site-packages/nvidia";
  const std::string venv = Folder("venv" + packages + "/cu13/lib");
  const std::string venv_old = Folder("venv/lib/python3.9/site-packages/nvidia/cublas/lib");
  const std::string conda = Folder("conda/lib"), conda_python = Folder("conda" + packages + "/cublas/lib");
  const std::string home = Folder("home/.local" + packages + "/cublas/lib");
  Folder("venv/lib/python3.11/site-packages/numpy/lib");
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH", named + "::" + root_.path() + "/nowhere:" + other},
                  {"LD_LIBRARY_PATH", ":" + linker + ":" + other},
                  {"CUDA_HOME", root_.path() + "/module"},
                  {"CUDA_PATH", root_.path() + "/module"},
                  {"CUDA_ROOT", root_.path() + "/root"},
                  {"VIRTUAL_ENV", root_.path() + "/venv"},
                  {"CONDA_PREFIX", root_.path() + "/conda"},
                  {"HOME", root_.path() + "/home"}};
  EXPECT_THAT(Search().Folders(), ElementsAre(named, other, linker, module, root, conda, newest, older, venv, venv_old,
                                              conda_python, home, ""));
}

TEST_F(LibrarySearchTest, FindsWithoutOpening) {
  const std::string path = Put("module/lib64", "needed");
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

// By the RUNPATH that NVIDIA's libraries have, and no matter which folder is searched first.
TEST_F(LibrarySearchTest, WhatALibraryNeedsComesFromItsInstallation) {
  const std::string other = Put("other", "inner");
  const std::string user = Put("python/nvidia/user/lib", "user"), needed = Put("python/nvidia/inner/lib", "inner");
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH", root_.path() + "/other:" + fs::path(user).parent_path().string()}};
  const absl::StatusOr<LibrarySearch::Opened> opened = Search().Open("libcuuser.so.13");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto is_open = [](const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  };
  EXPECT_TRUE(is_open(user) && is_open(needed));
  EXPECT_FALSE(is_open(other));
}

TEST_F(LibrarySearchTest, AsksTheDynamicLinkerLast) {
  // Every program has it open, so that the linker knows it, wherever it is.
  const absl::StatusOr<std::string> found = Search().Find("libc.so.6");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, EndsWith("/libc.so.6"));
}

TEST_F(LibrarySearchTest, PassesOverFilesThatAreNoLibraries) {
  const std::string name = "libcuneeded.so.13", broken = Folder("broken");
  std::ofstream(broken + "/" + name) << "no library";
  Folder("folder/" + name);
  const std::string good = Put("good", "needed");
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH",
                   root_.File("folder") + ":" + broken + ":" + fs::path(good).parent_path().string()}};
  EXPECT_EQ(Search().Find(name).value(), broken + "/" + name) << "not opened yet";
  EXPECT_EQ(Search().Open(name).value().path, good);
}

TEST_F(LibrarySearchTest, SaysWhereItLookedAndWhatItFound) {
  const std::string named = Folder("named"), other = Folder("other"), name = "libcuabsent.so.13";
  environment_ = {{"HOTPLATE_CUDA_LIBRARY_PATH", named + ":" + other}};
  const std::string advice =
      "; load the site's CUDA module, or name its folder in HOTPLATE_CUDA_LIBRARY_PATH, before hotplated starts";
  for (const absl::Status& why : {Search().Find(name).status(), Search().Open(name).status()}) {
    EXPECT_EQ(why.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(why.message(), "CUDA's libcuabsent.so.13 is not found" + advice + " (looked in " + named + ", " + other +
                                 ", the dynamic linker's folders)");
  }
  std::ofstream(named + "/" + name) << "no library";
  EXPECT_EQ(Search().Open(name).status().message(),
            "CUDA's libcuabsent.so.13 cannot be opened; " + named + "/" + name + ": file too short" + advice);
}

TEST_F(LibrarySearchTest, NamesAFewOfManyFolders) {
  for (int i = 10; i < 30; ++i) environment_["LD_LIBRARY_PATH"] += Folder("at" + std::to_string(i)) + ":";
  const std::string why(Search().Find("libcuabsent.so.13").status().message());
  EXPECT_THAT(why, AllOf(HasSubstr("/at21, 9 more)"), Not(HasSubstr("/at22"))));
}

}  // namespace
}  // namespace hotplate
