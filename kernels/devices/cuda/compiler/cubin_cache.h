// Compiled code by its key: the last used in memory, all in a folder. Code from the folder runs on the GPU with the
// user's rights, so a folder or file that others could have written is not used.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "kernels/base/cached_files.h"
#include "kernels/base/mutex.h"

namespace hotplate {

using SharedCubin = std::shared_ptr<const std::string>;

struct CubinBounds {
  std::uint64_t bytes = std::uint64_t{256} << 20;  // of all files
  int days = 60;                                   // since a file was used
  std::uint64_t memory_bytes = std::uint64_t{16} << 20;
};

class CubinCache {
 public:
  // An empty folder: in memory only. The folder is made at the first use, with those above it.
  explicit CubinCache(std::string folder, const CubinBounds& bounds = {})
      : folder_(std::move(folder)), bounds_(bounds) {}

  // Null if there is none. A damaged file is removed. `key`: hexadecimal digits. Thread-safe, as the next one.
  SharedCubin Find(const std::string& key);
  // Best effort: without room on the disk it stays in memory. Whole files only are ever seen, by other daemons too.
  void Keep(const std::string& key, SharedCubin cubin);
  // Removes files that were not used for too long, and then those not used for longest. Returns what is gone.
  CacheSize CutDown();

  static CacheSize SizeOf(const std::string& folder);

  // Why the folder is not used; empty if it is.
  std::string trouble();

 private:
  struct Held {
    std::string key;
    SharedCubin cubin;
  };

  bool UsesFolder();
  std::string PathOf(const std::string& key) const { return folder_ + "/" + key + ".cubin"; }
  SharedCubin FromFile(const std::string& key);
  void Hold(const std::string& key, const SharedCubin& cubin);

  const std::string folder_;
  const CubinBounds bounds_;
  Mutex mutex_;
  bool looked_ ABSL_GUARDED_BY(mutex_) = false;
  std::string trouble_ ABSL_GUARDED_BY(mutex_);
  // Bytes since the folder was cut down. They start so high that the first file cuts it down: a daemon may end before
  // it has written much.
  std::uint64_t written_ ABSL_GUARDED_BY(mutex_) = UINT64_MAX / 2;
  std::list<Held> held_ ABSL_GUARDED_BY(mutex_);  // the last used first
  std::map<std::string, std::list<Held>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace hotplate
