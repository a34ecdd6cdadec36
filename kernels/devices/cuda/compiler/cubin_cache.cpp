#include "kernels/devices/cuda/compiler/cubin_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/base/descriptor.h"
#include "kernels/devices/cuda/compiler/sha256.h"

namespace hotplate {
namespace {

namespace fs = std::filesystem;

// A file is this, the SHA-256 of its key and its code, a newline, and the code.
constexpr char kMark[] = "hotplate-cubin-2 ";
constexpr std::size_t kMarkBytes = sizeof kMark - 1, kHeadBytes = kMarkBytes + 64 + 1;
constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
constexpr std::size_t kMostFiles = 100'000;  // that are looked at
constexpr char kSuffix[] = ".cubin", kUnfinished[] = ".cubin-part-";
constexpr std::time_t kDay = 24 * 3600;

// The folder's own name is the last: those above may have been made by others.
std::string MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return "folder " + folder + " cannot be made: " + std::strerror(errno);
  }
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0) return "folder " + folder + ": " + std::strerror(errno);
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 022) != 0) {
    return folder + " is not a folder of yours that others cannot write in (chmod go-w)";
  }
  return access(folder.c_str(), W_OK | X_OK) != 0 ? "folder " + folder + ": " + std::strerror(errno) : "";
}

std::optional<std::string> ReadFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) return std::nullopt;
  const bool ours = S_ISREG(facts.st_mode) && facts.st_uid == geteuid() && (facts.st_mode & 022) == 0;
  if (!ours || static_cast<std::uint64_t>(facts.st_size) > kMostFileBytes) return std::nullopt;
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  futimens(file.get(), nullptr);  // used now; access times are not kept everywhere
  return bytes;
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// The whole files, and those that daemons left which were killed while they wrote.
struct Files {
  std::vector<CachedFile> whole, left;
};
Files FilesOf(const std::string& folder) {
  Files files;
  const std::time_t yesterday = std::time(nullptr) - kDay;
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && seen < kMostFiles; at.increment(error)) {
    const std::string path = at->path().string(), name = at->path().filename().string();
    const bool unfinished = name.find(kUnfinished) != std::string::npos;
    struct stat facts {};
    if ((!unfinished && !name.ends_with(kSuffix)) || lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode))
      continue;
    ++seen;
    if (unfinished && facts.st_mtim.tv_sec >= yesterday) continue;  // it is being written
    (unfinished ? files.left : files.whole)
        .push_back({path, static_cast<std::uint64_t>(facts.st_size), facts.st_mtim.tv_sec});
  }
  return files;
}

}  // namespace

bool CubinCache::UsesFolder() {
  const MutexLock lock(mutex_);
  if (!looked_) {
    looked_ = true;
    trouble_ = folder_.empty() ? "there is no folder for it" : MakeFolder(folder_);
  }
  return trouble_.empty();
}

std::string CubinCache::trouble() {
  static_cast<void>(UsesFolder());
  const MutexLock lock(mutex_);
  return trouble_;
}

void CubinCache::Hold(const std::string& key, const SharedCubin& cubin) {
  const MutexLock lock(mutex_);
  if (by_key_.contains(key) || cubin->size() > bounds_.memory_bytes) return;
  held_.push_front({key, cubin});
  by_key_.emplace(key, held_.begin());
  held_bytes_ += cubin->size();
  while (held_bytes_ > bounds_.memory_bytes) {
    held_bytes_ -= held_.back().cubin->size();
    by_key_.erase(held_.back().key);
    held_.pop_back();
  }
}

SharedCubin CubinCache::FromFile(const std::string& key) {
  if (!UsesFolder()) return nullptr;
  const std::optional<std::string> bytes = ReadFile(PathOf(key));
  if (!bytes) return nullptr;
  if (bytes->size() > kHeadBytes && bytes->starts_with(kMark) &&
      bytes->compare(kMarkBytes, 64, Sha256(key + bytes->substr(kHeadBytes))) == 0) {
    return std::make_shared<const std::string>(bytes->substr(kHeadBytes));
  }
  unlink(PathOf(key).c_str());
  return nullptr;
}

SharedCubin CubinCache::Find(const std::string& key) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      held_.splice(held_.begin(), held_, found->second);
      return found->second->cubin;
    }
  }
  SharedCubin cubin = FromFile(key);
  if (cubin != nullptr) Hold(key, cubin);
  return cubin;
}

void CubinCache::Keep(const std::string& key, SharedCubin cubin) {
  Hold(key, cubin);
  if (!UsesFolder()) return;
  static std::atomic<unsigned> number{0};
  const std::string part =
      folder_ + "/" + key + kUnfinished + std::to_string(getpid()) + "-" + std::to_string(number.fetch_add(1));
  Descriptor file(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return;
  const bool written = WriteAll(file.get(), kMark + Sha256(key + *cubin) + "\n") && WriteAll(file.get(), *cubin);
  file.Close();
  if (!written || rename(part.c_str(), PathOf(key).c_str()) != 0) {
    unlink(part.c_str());
    return;
  }
  bool due = false;
  {
    const MutexLock lock(mutex_);
    written_ += cubin->size();
    due = written_ > bounds_.bytes / 16;
    if (due) written_ = 0;
  }
  if (due) CutDown();
}

CacheSize CubinCache::SizeOf(const std::string& folder) { return hotplate::SizeOf(FilesOf(folder).whole); }

CacheSize CubinCache::CutDown() {
  if (!UsesFolder()) return {};
  Files files = FilesOf(folder_);
  for (const CachedFile& file : files.left) unlink(file.path.c_str());
  return hotplate::CutDown(std::move(files.whole), bounds_.bytes, std::time(nullptr) - bounds_.days * kDay);
}

}  // namespace hotplate
