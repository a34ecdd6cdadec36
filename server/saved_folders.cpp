#include "server/saved_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "server/quantity.h"

namespace hotplate::server {
namespace {

namespace fs = std::filesystem;

// Nobody writes to a partial file any more that has not changed for so long, nor is about to, to an empty folder.
constexpr std::chrono::hours kAbandoned{1};
// What is not looked at any more: a folder of so many entries is none of ours.
constexpr std::size_t kMostEntries = 100'000;

constexpr char kAnotherPlace[] = " (--scratch names another place)";

bool UnchangedFor(const fs::path& path, fs::file_time_type::duration time) {
  std::error_code error;
  const auto changed = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - changed >= time;
}

bool IsPartial(const std::string& name) {
  return name.starts_with('.') && name.ends_with(".part") && name.find(".npy.") != std::string::npos;
}

// Of the user's own, and not a link.
bool IsOwn(const fs::path& path, mode_t kind) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && facts.st_uid == geteuid() && (facts.st_mode & S_IFMT) == kind;
}

std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && entries.size() < kMostEntries;
       at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

struct SavedFile {
  fs::path path;
  fs::file_time_type changed;
  std::uint64_t bytes = 0;
};

// Of the marked folders; tidies them up on the way.
std::vector<SavedFile> SavedFilesBelow(const std::string& root) {
  std::vector<SavedFile> files;
  for (const fs::path& folder : EntriesOf(root)) {
    if (!IsOwn(folder, S_IFDIR) || !IsOwn(folder / kSavedMark, S_IFREG)) continue;
    RemoveAbandoned(folder.string());
    const std::vector<fs::path> entries = EntriesOf(folder);
    for (const fs::path& path : entries) {
      std::error_code error;
      if (path.extension() != ".npy" || !IsOwn(path, S_IFREG)) continue;
      const SavedFile file{path, fs::last_write_time(path, error), fs::file_size(path, error)};
      if (!error) files.push_back(file);
    }
    if (entries.size() == 1 && UnchangedFor(folder, kAbandoned)) {
      unlink((folder / kSavedMark).c_str());
      rmdir(folder.c_str());
    }
  }
  return files;
}

}  // namespace

std::string MakeSavedFolder(const std::string& path) {
  std::error_code error;
  const bool made = fs::create_directories(path, error);
  if (error) return "the folder " + path + " cannot be made: " + error.message() + kAnotherPlace;
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return "the folder " + path + ": " + std::strerror(errno) + kAnotherPlace;
  if (facts.st_uid != geteuid() || (facts.st_mode & 022) != 0) {
    return "the folder " + path + " is another user's, or others may write to it" + kAnotherPlace;
  }
  if (made && chmod(path.c_str(), 0700) == 0) {
    std::ofstream(path + "/" + kSavedMark)
        << "Arrays that hotplated saved here are dropped when they are older than --saved-age, and the oldest first\n"
           "when all together have more than --saved-bytes. Without this file nothing here is.\n";
  }
  return "";
}

void RemoveAbandoned(const std::string& folder) {
  for (const fs::path& path : EntriesOf(folder)) {
    if (IsPartial(path.filename().string()) && UnchangedFor(path, kAbandoned)) unlink(path.c_str());
  }
}

void DropOldSaved(const std::string& root, const SavedBounds& bounds, const std::set<std::string>& keep,
                  const std::function<void(const std::string& file, const std::string& why)>& dropped,
                  const std::function<bool()>& enough) {
  if (enough()) return;
  std::vector<SavedFile> files = SavedFilesBelow(root);
  std::sort(files.begin(), files.end(), [](const SavedFile& a, const SavedFile& b) { return a.changed < b.changed; });
  std::set<fs::path> kept;
  for (const std::string& path : keep) kept.insert(fs::path(path).lexically_normal());
  std::uint64_t total = 0;
  for (const SavedFile& file : files) total += file.bytes;
  const auto now = fs::file_time_type::clock::now();
  for (const SavedFile& file : files) {
    const bool old = bounds.age.count() > 0 && now - file.changed >= bounds.age;
    const bool much = bounds.bytes > 0 && total > bounds.bytes;
    if ((!old && !much) || enough()) return;
    if (kept.contains(file.path.lexically_normal()) || unlink(file.path.c_str()) != 0) continue;
    total -= file.bytes;
    dropped(file.path.string(), old ? "older than " + FormatDuration(bounds.age) + " (--saved-age)"
                                    : "the oldest of more than " + FormatBytes(bounds.bytes) + " (--saved-bytes)");
  }
}

}  // namespace hotplate::server
