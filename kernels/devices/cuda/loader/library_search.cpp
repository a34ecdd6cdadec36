#include "kernels/devices/cuda/loader/library_search.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/devices/cuda/loader/elf_file.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;

// Limits on the search and on its report.
constexpr int kMostEntries = 4096;
constexpr std::size_t kMostPlacesNamed = 12;
constexpr int kDeepest = 4;

// True for CUDA's libraries, as opposed to the system's and the driver's.
bool IsCudaLibrary(const std::string& name) {
  return (name.starts_with("libcu") || name.starts_with("libnv")) && !name.starts_with("libcuda.so") &&
         !name.starts_with("libnvidia");
}

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

void AddToolkit(const std::string& toolkit, std::vector<std::string>& folders) {
  if (toolkit.empty()) return;
  for (const char* folder : {"/lib64", "/lib", "/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib"}) {
    folders.push_back(toolkit + folder);
  }
}

// OK if the file may be opened as the library of this name.
absl::StatusOr<ElfFile> ReadLibrary(const std::string& path, const std::string& name) {
  absl::StatusOr<ElfFile> file = ReadElfFile(path);
  if (file.ok() && !file->soname.empty() && file->soname != name) {
    return absl::FailedPreconditionError(absl::StrCat("it is ", file->soname, " by another name"));
  }
  return file;
}

std::string PathOf(void* handle, const std::string& otherwise) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return otherwise;
  return *map->l_name != '\0' ? map->l_name : otherwise;
}

// Local: other libraries find it by its name all the same, and nothing else in the process is bound to it.
absl::StatusOr<LibrarySearch::Opened> OpenFile(const std::string& path) {
  if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return LibrarySearch::Opened{handle, PathOf(handle, path)};
  }
  const char* const why = dlerror();
  return absl::FailedPreconditionError(why != nullptr ? why : "it cannot be opened");
}

// pyenv has a script in the place of python3, which starts the version that is named, or else chosen for all folders
// (what a .python-version chooses is one folder's, and a daemon has none): the first of several, and of "3.11" the
// newest. Empty if that is none of pyenv's own.
std::string PythonOfPyenv(const fs::path& root, std::string named) {
  if (named.empty()) std::getline(std::ifstream(root / "version"), named);
  const std::vector<std::string> versions = absl::StrSplit(named, absl::ByAnyChar(": "), absl::SkipEmpty());
  if (versions.empty()) return "";
  const std::string exact = (root / "versions" / versions.front()).string(), prefix = exact + ".";
  std::error_code error;
  if (fs::is_directory(exact, error)) return exact;
  std::string newest;
  for (const std::string& one : FoldersIn((root / "versions").string(), versions.front() + ".")) {
    const bool release = one.find_first_not_of("0123456789.", prefix.size()) == one.npos;  // not 3.11.9-debug, 3.14.0b1
    if (release && strverscmp(one.c_str(), newest.c_str()) > 0) newest = one;
  }
  return newest;
}

}  // namespace

// The prefixes of the Python that a shell would start: its virtual environment's, where it is found in one, and its
// own, where the link leads. Empty without.
std::pair<std::string, std::string> LibrarySearch::PythonInPath() const {
  for (const auto& folder : absl::StrSplit(environment_("PATH"), ':', absl::SkipEmpty())) {
    const fs::path python = fs::path(std::string(folder)) / "python3";
    std::error_code error;
    const fs::path real = fs::canonical(python, error);
    if (error || !python.is_absolute() || !fs::is_regular_file(real, error)) continue;
    const fs::path found = python.parent_path().parent_path();
    if (python.parent_path().filename() == "shims") {
      if (const std::string chosen = PythonOfPyenv(found, environment_("PYENV_VERSION")); !chosen.empty()) {
        return {"", chosen};
      }
      continue;
    }
    return {fs::exists(found / "pyvenv.cfg", error) ? found.string() : "", real.parent_path().parent_path().string()};
  }
  return {};
}

void LibrarySearch::AddSitePackages(std::vector<std::string>& folders) const {
  const auto add_packages = [&folders](const std::string& python_folder) {
    for (const std::string& package : FoldersIn(python_folder + "/nvidia", "")) folders.push_back(package + "/lib");
  };
  std::vector<std::string> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX", "EBROOTPYTHON"}) {
    if (const std::string prefix = environment_(variable); !prefix.empty()) prefixes.push_back(prefix);
  }
  const auto [virtual_environment, python_itself] = PythonInPath();
  if (!virtual_environment.empty()) prefixes.push_back(virtual_environment);  // which has nothing of ~/.local
  if (const std::string conda = environment_("CONDA_PREFIX"); !conda.empty()) folders.push_back(conda + "/lib");
  for (const auto& named : absl::StrSplit(environment_("PYTHONPATH"), ':', absl::SkipEmpty())) {
    if (named.front() == '/') add_packages(std::string(named));  // others depend on where hotplated was started
  }
  if (const std::string home = environment_("HOME"); !home.empty()) prefixes.push_back(home + "/.local");
  if (!python_itself.empty()) prefixes.push_back(python_itself);
  prefixes.push_back(root_ + "/usr/local");
  prefixes.push_back(root_ + "/usr");
  for (const std::string& prefix : prefixes) {
    for (const char* lib : {"/lib", "/lib64"}) {
      for (const std::string& python : FoldersIn(prefix + lib, "python3")) {
        for (const char* packages : {"/site-packages", "/dist-packages"}) add_packages(python + packages);
      }
    }
  }
}

std::vector<std::string> LibrarySearch::Folders() const {
  std::vector<std::string> folders;
  const auto add_named = [&](const char* variable) {
    for (const auto& named : absl::StrSplit(environment_(variable), ':', absl::SkipEmpty()))
      folders.emplace_back(named);
  };
  // A path named by the user comes first.
  add_named("HOTPLATE_CUDA_LIBRARY_PATH");
  folders.push_back(plugins_);
  folders.push_back(plugins_ + "/../lib");
  add_named("LD_LIBRARY_PATH");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "EBROOTCUDA", "CUDATOOLKIT_HOME"}) {
    AddToolkit(environment_(variable), folders);
  }
  for (const std::string& toolkit : FoldersIn(root_ + "/usr/local", "cuda")) AddToolkit(toolkit, folders);
  AddSitePackages(folders);
  folders.emplace_back();

  std::vector<std::string> there;
  for (const std::string& one : folders) {
    std::error_code error;
    if (!one.empty() && !fs::is_directory(one, error)) continue;
    if (std::find(there.begin(), there.end(), one) == there.end()) there.push_back(one);
  }
  return there;
}

// Gives `take` each file, and last the bare name, until one is taken.
absl::Status LibrarySearch::Look(const std::string& name, const std::vector<std::string>& folders,
                                 const std::function<absl::Status(const std::string& path)>& take) const {
  std::string unusable;  // files that were found but cannot be used
  for (const std::string& folder : folders) {
    const std::string path = folder.empty() ? name : folder + "/" + name;
    std::error_code error;
    if (!folder.empty() && !fs::exists(path, error)) continue;
    const absl::Status taken = take(path);
    if (taken.ok()) return taken;
    if (!folder.empty()) absl::StrAppend(&unusable, "; ", path, ": ", taken.message());
  }
  std::vector<std::string> named;
  for (const std::string& folder : folders) {
    named.push_back(folder.empty() ? "the dynamic linker's folders" : folder);
    if (named.size() == kMostPlacesNamed) break;
  }
  if (named.size() < folders.size()) named.push_back(absl::StrCat(folders.size() - named.size(), " more"));
  return absl::FailedPreconditionError(absl::StrCat(
      "CUDA's ", name,
      " is not found; load the site's CUDA module, or name its folder in HOTPLATE_CUDA_LIBRARY_PATH, before hotplated "
      "starts (looked in ",
      absl::StrJoin(named, ", "), unusable, ")"));
}

absl::StatusOr<std::string> LibrarySearch::Find(const std::string& name) const {
  std::string found;
  const absl::Status looked = Look(name, Folders(), [&](const std::string& path) -> absl::Status {
    found = path;
    if (path != name) return ReadLibrary(path, name).status();
    const absl::StatusOr<Opened> opened = OpenFile(path);
    if (opened.ok()) found = opened->path;
    return opened.status();
  });
  if (!looked.ok()) return looked;
  return found;
}

// Folders of the same installation as the file come first: libraries of two installations may have the same names and
// not fit together.
std::vector<std::string> LibrarySearch::FoldersFor(const std::string& user) const {
  std::vector<std::string> folders = Folders();
  const auto plain = [](const std::string& folder) { return (fs::path(folder) / "").lexically_normal().parent_path(); };
  const fs::path own = plain(fs::path(user).parent_path()), packages = own.parent_path().parent_path();
  const auto others =
      std::stable_partition(folders.begin(), folders.end(), [&](const std::string& one) { return plain(one) == own; });
  if (packages.filename() == "nvidia") {  // Python's packages: nvidia/PACKAGE/lib
    std::stable_partition(others, folders.end(),
                          [&](const std::string& one) { return plain(one).parent_path().parent_path() == packages; });
  }
  return folders;
}

absl::StatusOr<LibrarySearch::Opened> LibrarySearch::Open(const std::string& name,
                                                          const std::vector<std::string>& folders, int depth) const {
  Opened result;
  const absl::Status looked = Look(name, folders, [&](const std::string& path) -> absl::Status {
    if (path != name) {
      const absl::StatusOr<ElfFile> file = ReadLibrary(path, name);
      if (!file.ok()) return file.status();
      for (const std::string& needed : file->needed) {
        // The dynamic linker may still find libraries that are not found here.
        if (depth < kDeepest && IsCudaLibrary(needed) && needed != name) {
          Open(needed, FoldersFor(path), depth + 1).status().IgnoreError();
        }
      }
    }
    const absl::StatusOr<Opened> opened = OpenFile(path);
    if (opened.ok()) result = *opened;
    return opened.status();
  });
  if (!looked.ok()) return looked;
  return result;
}

}  // namespace hotplate
