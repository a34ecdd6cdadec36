#include "server/environments/jit_caches.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "server/endpoint.h"

namespace hotplate::server {
namespace {

namespace fs = std::filesystem;

// Names that nobody else gives to a folder: what is in ours is removed in time, and --jit-cache may name any folder.
constexpr char kCupy[] = "hotplate-cupy", kNumba[] = "hotplate-numba", kJax[] = "hotplate-jax";
constexpr char kCudas[] = "hotplate-cuda";   // has an index of its own, which files must not be taken from
constexpr std::size_t kMostFiles = 200'000;  // that are looked at

// Regular files of the packages' caches that were written before `end_of_writing`; follows no link.
std::vector<CachedFile> FilesIn(const std::string& folder, const std::stop_token& stop = {},
                                std::time_t end_of_writing = std::numeric_limits<std::time_t>::max()) {
  std::vector<CachedFile> files;
  for (const char* const cache : {kCupy, kNumba, kJax}) {
    const fs::path top = fs::path(folder) / cache;
    std::error_code error;
    if (fs::is_symlink(fs::symlink_status(top, error))) continue;
    for (fs::recursive_directory_iterator at(top, fs::directory_options::skip_permission_denied, error), end;
         !error && at != end && files.size() < kMostFiles && !stop.stop_requested(); at.increment(error)) {
      struct stat facts {};
      if (lstat(at->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
      if (facts.st_mtim.tv_sec >= end_of_writing) continue;
      files.push_back({at->path().string(), static_cast<std::uint64_t>(facts.st_size),
                       std::max(facts.st_atim.tv_sec, facts.st_mtim.tv_sec)});
    }
  }
  return files;
}

bool Has(const std::vector<std::string>& variables, const std::string& name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const std::string& one) { return one.starts_with(name + "="); });
}

}  // namespace

JitCaches::JitCaches(std::string folder, const std::vector<std::string>& node)
    : folder_(folder),
      variables_{{"CUPY_CACHE_DIR", folder + "/" + kCupy},
                 {"NUMBA_CACHE_DIR", folder + "/" + kNumba},
                 {"JAX_COMPILATION_CACHE_DIR", folder + "/" + kJax},
                 {"CUDA_CACHE_PATH", folder + "/" + kCudas}} {
  constexpr std::string_view kSites = "CUDA_CACHE_PATH=";
  for (const std::string& variable : node) {
    if (variable.starts_with(kSites) && variable.size() > kSites.size())
      variables_.back().second = variable.substr(kSites.size());
  }
}

absl::Status JitCaches::MakeFolder(const std::string& folder) {
  std::error_code error;
  const fs::path parent = fs::path(folder).parent_path();
  fs::create_directories(parent.parent_path(), error);
  // Each that is made is closed to others, since this process's umask is 077.
  for (const std::string& path : {parent.string(), folder}) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return SystemError("making folder " + path);
  }
  struct stat facts {
  }, above{};
  if (lstat(folder.c_str(), &facts) != 0) return SystemError("looking at folder " + folder);
  if (lstat(parent.c_str(), &above) != 0) return SystemError("looking at folder " + parent.string());
  const bool ours = above.st_uid == geteuid() || above.st_uid == 0;
  if (!S_ISDIR(above.st_mode) || !ours || ((above.st_mode & 022) != 0 && (above.st_mode & S_ISVTX) == 0)) {
    return absl::PermissionDeniedError(absl::StrCat("others could replace folders in ", Quoted(parent.string())));
  }
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(Quoted(folder), " is not a folder of yours that is closed to others (chmod 700)"));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) return SystemError("writing in folder " + folder);
  return absl::OkStatus();
}

void JitCaches::AddTo(std::vector<std::string>& variables) const {
  for (const auto& [name, value] : variables_) {
    if (!Has(variables, name)) variables.push_back(absl::StrCat(name, "=", value));
  }
}

CacheSize JitCaches::Clear(const std::string& folder) {
  const std::time_t now = std::time(nullptr);
  return hotplate::CutDown(FilesIn(folder, {}, now - 60), /*most=*/0, now);
}

CacheSize JitCaches::SizeOf(const std::string& folder) { return hotplate::SizeOf(FilesIn(folder)); }

CacheSize JitCaches::CutDown(const std::string& folder, const std::stop_token& stop, std::uint64_t most) {
  std::vector<CachedFile> files = FilesIn(folder, stop);
  if (stop.stop_requested()) return {};
  return hotplate::CutDown(std::move(files), most, std::time(nullptr) - std::time_t{kMostDays} * 24 * 3600);
}

}  // namespace hotplate::server
