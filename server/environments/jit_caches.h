// Where CuPy, Numba, JAX and the CUDA driver keep what they have compiled: one folder of the owner's on a disk that the
// node can write. Their defaults lie at home, which may be slow, full or read-only on a node.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/cached_files.h"

namespace hotplate::server {

class JitCaches {
 public:
  // What is in the folder at a start of the daemon is cut down to this; the driver bounds its own part.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  static constexpr int kMostDays = 30;  // since a file was used

  // Without a folder: programs get no variables.
  JitCaches() = default;
  // `node`: the daemon's own variables; a CUDA_CACHE_PATH in them, which a site's profile may have set, is kept.
  JitCaches(std::string folder, const std::vector<std::string>& node);

  // Makes the folder (0700) with those above it. PERMISSION_DENIED: it is somebody else's, a link or open to others, or
  // others could put another one in its place.
  static absl::Status MakeFolder(const std::string& folder);

  const std::string& folder() const { return folder_; }
  // CUPY_CACHE_DIR, NUMBA_CACHE_DIR, JAX_COMPILATION_CACHE_DIR and CUDA_CACHE_PATH, where `variables` (NAME=value) has
  // them not.
  void AddTo(std::vector<std::string>& variables) const;

  // Of the packages' caches alone: removes what was used last before kMostDays, and then what was not used for longest,
  // until the rest is within `most` bytes. May take minutes on a file server. Returns what is gone.
  static CacheSize CutDown(const std::string& folder, const std::stop_token& stop = {},
                           std::uint64_t most = kMostBytes);
  // All of them, but what was written within the last minute: a package may be about to give it its name.
  static CacheSize Clear(const std::string& folder);
  // The size of the packages' caches. May take as long.
  static CacheSize SizeOf(const std::string& folder);

 private:
  std::string folder_;
  std::vector<std::pair<std::string, std::string>> variables_;
};

}  // namespace hotplate::server
