#include "server/saved/saved_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/base/free_space.h"
#include "kernels/base/quantity.h"
#include "server/config.h"

namespace hotplate::server {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

// A partial file that has not changed for this long has no writer any more, and an empty folder will not get one.
constexpr std::chrono::hours kAbandoned{1};
// Entries beyond this many are not looked at: a folder of so many is not ours.
constexpr std::size_t kMostEntries = 100'000;

constexpr std::string_view kMarkText =
    "Arrays that hotplated saved here are dropped when they are older than --saved-age, and the oldest first when all\n"
    "that were saved over a day ago have more than --saved-bytes. Without this file nothing here is.\n";

using Enough = std::function<bool()>;

// Both since 1970.
nanoseconds ChangedAt(const struct stat& facts) {
  return std::chrono::seconds(facts.st_mtim.tv_sec) + nanoseconds(facts.st_mtim.tv_nsec);
}
nanoseconds WallClock() { return std::chrono::system_clock::now().time_since_epoch(); }

bool UnchangedForLong(const struct stat& facts) { return WallClock() - ChangedAt(facts) >= kAbandoned; }

bool OthersMayWrite(const struct stat& facts) { return (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

// An open folder: work in it stays in it, even if its path changes meanwhile.
class Folder {
 public:
  // Not open if it does not exist; errno then has the reason. `flags`: O_NOFOLLOW, or nothing.
  Folder(int at, const std::string& path, int flags)
      : descriptor_(openat(at, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

  std::optional<struct stat> Facts() const {
    struct stat facts {};
    if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) return std::nullopt;
    return facts;
  }

  // The facts of a file in it, if it is regular, the user's own, and not a link.
  std::optional<struct stat> OwnFile(const std::string& name) const {
    struct stat facts {};
    if (fstatat(descriptor_, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    if (facts.st_uid != geteuid() || !S_ISREG(facts.st_mode)) return std::nullopt;
    return facts;
  }

  std::vector<std::string> Names(const Enough& enough) const {
    std::vector<std::string> names;
    const int copy = openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
    if (stream == nullptr) {
      if (copy >= 0) close(copy);
      return names;
    }
    for (const dirent* entry; names.size() < kMostEntries && !enough() && (entry = readdir(stream)) != nullptr;) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    closedir(stream);
    return names;
  }

  bool Remove(const std::string& name, int flags = 0) const { return unlinkat(descriptor_, name.c_str(), flags) == 0; }

  // Writes the mark, or renews it. 0, or the errno.
  int Mark() const {
    const int file = openat(descriptor_, kSavedMark, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    const ssize_t written = write(file, kMarkText.data(), kMarkText.size());
    const int error = written < 0 ? errno : written < static_cast<ssize_t>(kMarkText.size()) ? ENOSPC : 0;
    const int closed = close(file) == 0 ? 0 : errno;  // where a full quota may first be told
    return error != 0 ? error : closed;
  }

 private:
  const int descriptor_;
};

bool IsPartial(const std::string& name) {
  return name.starts_with('.') && name.ends_with(".part") && name.find(".npy.") != std::string::npos;
}

bool IsAbandoned(const std::string& name, const struct stat& facts) {
  return IsPartial(name) && UnchangedForLong(facts);
}

struct SavedFile {
  std::string folder, name;
  ino_t inode = 0;
  nanoseconds changed{};
  std::uint64_t bytes = 0;
};

// Adds the files of one folder, if it is marked; also tidies it up.
void AddSavedFiles(const Folder& root, const std::string& name, const Enough& enough, std::vector<SavedFile>& files) {
  const Folder folder(root.descriptor(), name, O_NOFOLLOW);
  const std::optional<struct stat> own = folder.Facts();
  if (!own || own->st_uid != geteuid()) return;
  const std::optional<struct stat> mark = folder.OwnFile(kSavedMark);
  if (!mark) return;
  const std::vector<std::string> names = folder.Names(enough);
  for (const std::string& file : names) {
    if (enough()) return;
    const std::optional<struct stat> facts = folder.OwnFile(file);
    if (!facts) continue;
    if (IsAbandoned(file, *facts)) folder.Remove(file);
    if (!file.ends_with(".npy")) continue;
    files.push_back({name, file, facts->st_ino, ChangedAt(*facts), static_cast<std::uint64_t>(facts->st_size)});
  }
  if (enough() || names.size() != 1 || !UnchangedForLong(*own) || !UnchangedForLong(*mark)) return;
  // A daemon that saved something just now needs the mark.
  if (folder.Remove(kSavedMark) && !root.Remove(name, AT_REMOVEDIR)) folder.Mark();
}

// Not one that was replaced since it was looked at.
bool Drop(const Folder& root, const SavedFile& file) {
  const Folder folder(root.descriptor(), file.folder, O_NOFOLLOW);
  if (!folder.is_open()) return false;
  const std::optional<struct stat> facts = folder.OwnFile(file.name);
  return facts && facts->st_ino == file.inode && ChangedAt(*facts) == file.changed && folder.Remove(file.name);
}

// Empty, or why not; then `error` is the errno, if there is one.
std::string TryToMake(const std::string& path, int& error) {
  const auto cannot = [&](const std::string& what) {
    return what + ": " + std::generic_category().message(error) + kAnotherScratch;
  };
  std::error_code parents;
  fs::create_directories(fs::path(path).parent_path(), parents);
  const bool made = !parents && mkdir(path.c_str(), 0700) == 0;
  error = parents ? parents.value() : made || errno == EEXIST ? 0 : errno;
  if (error != 0) return cannot("the folder " + path + " cannot be made");
  const Folder folder(AT_FDCWD, path, 0);
  const std::optional<struct stat> facts = folder.Facts();
  if (!facts) {
    error = errno;
    return cannot("the folder " + path);
  }
  if (facts->st_uid != geteuid() || OthersMayWrite(*facts)) {
    return "the folder " + path + " is another user's, or others may write to it" + kAnotherScratch;
  }
  if (!made && !folder.OwnFile(kSavedMark)) return "";  // the user made it: nothing is ever dropped there
  error = folder.Mark();
  return error == 0 ? "" : cannot(path + "/" + kSavedMark + " cannot be written");
}

}  // namespace

std::string MakeSavedFolder(const std::string& path) {
  int error = 0;
  std::string why_not = TryToMake(path, error);
  // Another daemon, which found it empty, may have removed it just then.
  if (error == ENOENT) why_not = TryToMake(path, error);
  return why_not;
}

void RemoveAbandoned(const std::string& path, const Enough& enough) {
  const Folder folder(AT_FDCWD, path, 0);
  if (!folder.is_open()) return;
  for (const std::string& name : folder.Names(enough)) {
    if (enough()) return;
    if (!IsPartial(name)) continue;
    const std::optional<struct stat> facts = folder.OwnFile(name);
    if (facts && IsAbandoned(name, *facts)) folder.Remove(name);
  }
}

std::string DropOldSaved(const std::string& root, const SavedBounds& bounds, const std::set<std::string>& keep,
                         const std::function<void(const std::string& file, const std::string& why)>& dropped,
                         const Enough& enough) {
  if (enough()) return "";
  const Folder top(AT_FDCWD, root, 0);
  const std::optional<struct stat> facts = top.Facts();
  if (!facts) return "";  // nothing was ever saved
  if (OthersMayWrite(*facts) && (facts->st_mode & S_ISVTX) == 0) {
    return "what older daemons saved in " + root + " stays: others may write to that folder, and rename what is there" +
           kAnotherScratch;
  }
  std::vector<SavedFile> files;
  for (const std::string& name : top.Names(enough)) {
    if (enough()) return "";
    AddSavedFiles(top, name, enough, files);
  }
  std::set<fs::path> kept;
  for (const std::string& path : keep) kept.insert(fs::path(path).lexically_normal());
  const auto path_of = [&](const SavedFile& file) { return fs::path(root) / file.folder / file.name; };
  std::erase_if(files, [&](const SavedFile& file) { return kept.contains(path_of(file).lexically_normal()); });
  std::sort(files.begin(), files.end(), [](const SavedFile& a, const SavedFile& b) { return a.changed < b.changed; });
  const nanoseconds now = WallClock();
  const auto spared = [&](const SavedFile& file) { return now - file.changed < kSparedBySize; };
  // Spared files do not count towards the total: no other file must go in their place.
  std::uint64_t total = 0;
  for (const SavedFile& file : files) total += spared(file) ? 0 : file.bytes;
  const std::uint64_t most = bounds.bytes == kHalfOfTheRoom ? (FreeSpace(root).value_or(0) + total) / 2 : bounds.bytes;
  for (const SavedFile& file : files) {
    const bool old = bounds.age.count() > 0 && now - file.changed >= bounds.age;
    const bool much = bounds.bytes > 0 && !spared(file) && total > most;
    if ((!old && !much) || enough()) return "";
    if (!spared(file)) total -= file.bytes;
    if (!Drop(top, file)) continue;
    dropped(path_of(file).string(),
            old ? "older than " + DurationText(bounds.age) + " (--saved-age)"
                : "the oldest of more than " + BytesText(most) + " that were saved over a day ago (--saved-bytes)");
  }
  return "";
}

}  // namespace hotplate::server
