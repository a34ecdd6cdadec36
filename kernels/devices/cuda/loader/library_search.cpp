#include "kernels/devices/cuda/loader/library_search.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;

// Limits on the search and on its report.
constexpr int kMostEntries = 4096;
constexpr std::size_t kMostPlacesNamed = 12;

constexpr char kAdvice[] =
    "load the site's CUDA module, or name its folder in HOTPLATE_CUDA_LIBRARY_PATH, before hotplated starts";

// The folders in `parent` whose name begins with `prefix`, the highest version first.
std::vector<std::string> FoldersIn(const std::string& parent, const std::string& prefix) {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(parent, error);
  for (int i = 0; i < kMostEntries && !error && entry != fs::directory_iterator(); ++i, entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string().starts_with(prefix) && entry->is_directory(ignored)) {
      found.push_back(entry->path().string());
    }
  }
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;  // python3.11 before python3.9
  });
  return found;
}

// Local: nothing else of the process is bound to it.
absl::StatusOr<LibrarySearch::Opened> OpenFile(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    return absl::FailedPreconditionError(why != nullptr ? why : "it cannot be opened");
  }
  link_map* map = nullptr;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr;
  return LibrarySearch::Opened{handle, known && *map->l_name != '\0' ? map->l_name : path};
}

}  // namespace

std::vector<std::string> LibrarySearch::Folders() const {
  std::vector<std::string> folders;
  const auto add = [&folders](const std::string& folder) {
    std::error_code error;
    const bool known = std::find(folders.begin(), folders.end(), folder) != folders.end();
    if (!known && fs::is_directory(folder, error)) folders.push_back(folder);
  };
  for (const char* variable : {"HOTPLATE_CUDA_LIBRARY_PATH", "LD_LIBRARY_PATH"}) {
    for (const auto& named : absl::StrSplit(environment_(variable), ':', absl::SkipEmpty())) add(std::string(named));
  }
  std::vector<std::string> toolkits;
  for (const char* variable :
       {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "EBROOTCUDA", "CUDATOOLKIT_HOME", "CONDA_PREFIX"}) {
    if (const std::string named = environment_(variable); !named.empty()) toolkits.push_back(named);
  }
  for (const std::string& installed : FoldersIn(root_ + "/usr/local", "cuda")) toolkits.push_back(installed);
  for (const std::string& toolkit : toolkits) {
    for (const char* lib : {"/lib64", "/lib"}) add(toolkit + lib);
  }
  std::vector<std::string> pythons;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string named = environment_(variable); !named.empty()) pythons.push_back(named);
  }
  if (const std::string home = environment_("HOME"); !home.empty()) pythons.push_back(home + "/.local");
  for (const std::string& prefix : pythons) {
    for (const std::string& python : FoldersIn(prefix + "/lib", "python3")) {
      for (const std::string& package : FoldersIn(python + "/site-packages/nvidia", "")) add(package + "/lib");
    }
  }
  folders.emplace_back();
  return folders;
}

absl::Status LibrarySearch::NotFound(const std::string& name) const {
  std::vector<std::string> named = Folders();
  named.back() = "the dynamic linker's folders";
  if (named.size() > kMostPlacesNamed) {
    const std::string rest = absl::StrCat(named.size() - kMostPlacesNamed, " more");
    named.resize(kMostPlacesNamed);
    named.push_back(rest);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("CUDA's ", name, " is not found; ", kAdvice, " (looked in ", absl::StrJoin(named, ", "), ")"));
}

absl::StatusOr<std::string> LibrarySearch::Find(const std::string& name) const {
  for (const std::string& folder : Folders()) {
    std::error_code error;
    const std::string path = folder + "/" + name;
    if (!folder.empty() && fs::is_regular_file(path, error)) return path;
  }
  const absl::StatusOr<Opened> opened = OpenFile(name);
  if (opened.ok()) return opened->path;
  return NotFound(name);
}

absl::StatusOr<LibrarySearch::Opened> LibrarySearch::Open(const std::string& name) const {
  std::string unusable;
  for (const std::string& folder : Folders()) {
    std::error_code error;
    const std::string path = folder.empty() ? name : folder + "/" + name;
    if (!folder.empty() && !fs::is_regular_file(path, error)) continue;
    absl::StatusOr<Opened> opened = OpenFile(path);
    if (opened.ok()) return opened;
    if (folder.empty()) continue;
    absl::StrAppend(&unusable, "; ", path, ": ", absl::StripPrefix(opened.status().message(), path + ": "));
  }
  if (unusable.empty()) return NotFound(name);
  return absl::FailedPreconditionError(absl::StrCat("CUDA's ", name, " cannot be opened", unusable, "; ", kAdvice));
}

}  // namespace hotplate
