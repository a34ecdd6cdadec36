#include "client/cli/partitions/cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "client/cli/allocation/private_folder.h"
#include "client/lib/endpoint.h"

namespace hotplate::cli {
namespace {

namespace fs = std::filesystem;

// The first word of a file; another number for another format.
constexpr char kMark[] = "hotplate-waits-1";
constexpr char kSuffix[] = ".waits";
constexpr std::chrono::hours kOldDraft(24);
// Limit on the file of one slice. A larger slice is read again each time.
constexpr std::uintmax_t kLongestFile = std::uintmax_t{64} << 20;

struct SliceName {
  EpochSeconds from, to;
};

// "1795219200-1795305600.waits"
std::optional<SliceName> ParseName(const std::string& name) {
  SliceName slice{};
  const char* end = name.data() + name.size();
  const auto from = std::from_chars(name.data(), end, slice.from);
  if (from.ec != std::errc() || from.ptr == end || *from.ptr != '-') return std::nullopt;
  const auto to = std::from_chars(from.ptr + 1, end, slice.to);
  if (to.ec != std::errc() || std::string(to.ptr, end) != kSuffix || slice.from >= slice.to) return std::nullopt;
  return slice;
}

bool IsPrivate(const std::string& folder) {
  struct stat info;
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & 022) == 0;
}

}  // namespace

std::string CacheFolder(const Settings& settings, const Environment& environment) {
  const auto home = environment("XDG_CACHE_HOME");
  return home && home->front() == '/' ? *home + "/hotplate" : settings.directory + "/cache";
}

SliceCache::SliceCache(const std::string& folder, const std::string& cluster, EpochSeconds now, CacheLimits limits) {
  if (!client::IsServerName(cluster)) {  // it names a folder
    unusable_ = "the cluster's name is not known";
    return;
  }
  const std::string path = folder + "/waits/" + cluster;
  if (const absl::Status made = MakePrivateFolder(path); !made.ok()) {
    unusable_ = std::string(made.message());
    return;
  }
  if (!IsPrivate(path)) {
    unusable_ = path + " is not yours alone";
    return;
  }
  folder_ = path;
  Prune(now, limits);
}

void SliceCache::Prune(EpochSeconds now, CacheLimits limits) {
  struct File {
    SliceName slice;
    std::uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const auto slice = ParseName(entry->path().filename().string());
    std::error_code gone;
    const std::uintmax_t bytes = entry->file_size(gone);
    if (slice && !gone) files.push_back({*slice, bytes, entry->path()});
    // A draft of a program that was killed.
    const auto age = fs::file_time_type::clock::now() - entry->last_write_time(gone);
    if (!slice && !gone && age > kOldDraft) fs::remove(entry->path(), gone);
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.slice.to > b.slice.to; });
  std::uint64_t kept = 0;
  for (const File& file : files) {
    kept += file.bytes;
    if (kept > limits.bytes || file.slice.to < now - limits.seconds || file.slice.to > now) {
      fs::remove(file.path, error);
    } else {
      slices_[file.slice.from].push_back(file.slice.to);
    }
  }
}

std::string SliceCache::PathOf(EpochSeconds from, EpochSeconds to) const {
  return folder_ + "/" + std::to_string(from) + "-" + std::to_string(to) + kSuffix;
}

std::optional<SliceCache::Found> SliceCache::Find(EpochSeconds from, EpochSeconds latest_end) {
  const auto ends = slices_.find(from);
  if (ends == slices_.end()) return std::nullopt;
  std::sort(ends->second.rbegin(), ends->second.rend());
  for (const EpochSeconds to : ends->second) {
    if (to > latest_end) continue;
    const std::string path = PathOf(from, to);
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (error || bytes > kLongestFile) continue;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (auto jobs = ParseSlice(text.str(), from, to)) return Found{to, *std::move(jobs)};
    fs::remove(path, error);
  }
  return std::nullopt;
}

void SliceCache::Keep(EpochSeconds from, EpochSeconds to, const SliceJobs& jobs) {
  if (folder_.empty()) return;
  const std::string text = SliceText(from, to, jobs);
  if (text.size() > kLongestFile) return;
  if (!WritePrivateFile(PathOf(from, to), text).ok()) return;
  // Shorter slices inside this one are not needed any more.
  std::error_code error;
  for (const EpochSeconds shorter : std::exchange(slices_[from], {to}))
    if (shorter < to) fs::remove(PathOf(from, shorter), error);
}

std::string SliceText(EpochSeconds from, EpochSeconds to, const SliceJobs& jobs) {
  std::string text = std::string(kMark) + " " + std::to_string(from) + " " + std::to_string(to) + " " +
                     std::to_string(jobs.starts.size()) + " " + std::to_string(jobs.unreadable) + "\n";
  for (const JobStart& job : jobs.starts) {
    text += job.partition;
    for (const std::int64_t number : {job.start, job.wait, job.cpus, job.minutes, job.memory_mib, job.gpus})
      text += " " + std::to_string(number);
    text += "\n";
  }
  return text;
}

std::optional<SliceJobs> ParseSlice(const std::string& text, EpochSeconds from, EpochSeconds to) {
  if (text.empty() || text.back() != '\n') return std::nullopt;
  std::string_view rest = text;
  const auto word = [&rest] {
    const std::size_t begin = std::min(rest.find_first_not_of(" \n"), rest.size());
    const std::size_t end = std::min(rest.find_first_of(" \n", begin), rest.size());
    const std::string_view found = rest.substr(begin, end - begin);
    rest.remove_prefix(end);
    return found;
  };
  bool whole = word() == kMark;
  const auto number = [&word, &whole](std::int64_t lowest) {
    std::int64_t value = 0;
    const std::string_view digits = word();
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    whole = whole && parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && value >= lowest;
    return value;
  };
  SliceJobs jobs;
  whole = whole && number(0) == from;
  whole = whole && number(0) == to;
  const auto starts = static_cast<std::size_t>(number(0));
  jobs.unreadable = number(0);
  // A row takes 14 bytes at least.
  if (!whole || starts > text.size() / 14) return std::nullopt;
  jobs.starts.resize(starts);
  for (JobStart& job : jobs.starts) {
    job.partition = word();
    job.start = number(from);
    job.wait = number(kNeverStarted);
    job.cpus = number(0);
    job.minutes = number(kPartitionLimit);
    job.memory_mib = number(kUnknownMemory);
    job.gpus = number(0);
    if (!whole || job.start >= to) return std::nullopt;
  }
  if (!word().empty()) return std::nullopt;
  return jobs;
}

}  // namespace hotplate::cli
