// What `hotplate cache` shows and empties: folders of compiled code on the daemon's node. The calls read folders, which
// may take long on a file server.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hotplate/v1/server.pb.h"

namespace hotplate::server {

// Empty: there is none.
struct CacheFolders {
  std::string expressions;  // kernels/devices/cuda/compiler/cubin_cache.h
  std::string packages;     // server/environments/jit_caches.h
};

std::vector<v1::Cache> ListCaches(const CacheFolders& folders);

// INVALID_ARGUMENT names what is none.
absl::Status CheckCacheNames(const std::vector<std::string>& names);

// Of these, or of all if none is named. Tells what is gone. PERMISSION_DENIED: a folder is not used, and not touched.
absl::StatusOr<std::vector<v1::Cache>> ClearCaches(const CacheFolders& folders, const std::vector<std::string>& names);

}  // namespace hotplate::server
