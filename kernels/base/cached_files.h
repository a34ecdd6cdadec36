// Files that were made once and may be used again, in a folder that is bounded: their number and bytes, and which of
// them go.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

namespace hotplate {

struct CachedFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::time_t used = 0;
};

struct CacheSize {
  std::uint64_t files = 0, bytes = 0;

  void Add(const CachedFile& file) { ++files, bytes += file.bytes; }
};

inline CacheSize SizeOf(const std::vector<CachedFile>& files) {
  CacheSize size;
  for (const CachedFile& file : files) size.Add(file);
  return size;
}

// Removes files that were last used before `oldest`, and then those that were not used for longest, until the rest is
// within `most` bytes. Returns what is gone.
inline CacheSize CutDown(std::vector<CachedFile> files, std::uint64_t most, std::time_t oldest) {
  std::sort(files.begin(), files.end(), [](const CachedFile& a, const CachedFile& b) { return a.used > b.used; });
  CacheSize gone;
  std::uint64_t bytes = 0;
  for (const CachedFile& file : files) {
    bytes += file.bytes;
    if (bytes <= most && file.used >= oldest) continue;
    if (unlink(file.path.c_str()) == 0) gone.Add(file);
  }
  return gone;
}

}  // namespace hotplate
