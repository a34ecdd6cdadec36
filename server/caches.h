// The folders of compiled code on the daemon's node that `hotplate cache` shows and empties. The calls read folders,
// which may take long on a file server.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hotplate/v1/server.pb.h"

namespace hotplate::server {

// Empty: there is none.
struct CacheFolders {
  std::string expressions;  // kernels/devices/cuda/compiler/cubin_cache.h
  std::string packages;     // server/environments/jit_caches.h
};

std::vector<v1::Cache> ListCaches(const CacheFolders& folders);

// Removes the files of these caches, or of all if none is named, and tells what is gone. INVALID_ARGUMENT: a name is no
// cache's. PERMISSION_DENIED: a folder is not used, and not touched.
absl::StatusOr<std::vector<v1::Cache>> ClearCaches(const CacheFolders& folders, const std::vector<std::string>& names);

}  // namespace hotplate::server
