#include "server/caches.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "kernels/array/quoted.h"
#include "kernels/base/status.h"
#include "kernels/devices/cuda/compiler/cubin_cache.h"
#include "server/environments/jit_caches.h"
#include "server/wire/values.h"

namespace hotplate::server {
namespace {

constexpr char kExpressions[] = "expressions", kPackages[] = "packages";

v1::Cache Row(const char* name, const std::string& folder, const CacheSize& size, std::uint64_t bytes_limit, int days) {
  v1::Cache row;
  row.set_name(name);
  row.set_folder(folder);
  row.set_files(size.files);
  row.set_bytes(size.bytes);
  row.set_bytes_limit(bytes_limit);
  wire::ToProto(std::chrono::hours(24 * days), *row.mutable_age_limit());
  return row;
}

v1::Cache ExpressionsRow(const std::string& folder, const CacheSize& size) {
  const CubinBounds bounds;
  return Row(kExpressions, folder, size, bounds.bytes, bounds.days);
}

v1::Cache PackagesRow(const std::string& folder, const CacheSize& size) {
  return Row(kPackages, folder, size, JitCaches::kMostBytes, JitCaches::kMostDays);
}

absl::Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == kExpressions || name == kPackages) continue;
    return InvalidField(
        "names", absl::StrCat("there is no cache ", Quoted(name), "; there are ", kExpressions, " and ", kPackages));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<v1::Cache> ListCaches(const CacheFolders& folders) {
  std::vector<v1::Cache> rows;
  if (!folders.expressions.empty()) {
    rows.push_back(ExpressionsRow(folders.expressions, CubinCache::SizeOf(folders.expressions)));
  }
  if (!folders.packages.empty()) rows.push_back(PackagesRow(folders.packages, JitCaches::SizeOf(folders.packages)));
  return rows;
}

absl::StatusOr<std::vector<v1::Cache>> ClearCaches(const CacheFolders& folders, const std::vector<std::string>& names) {
  if (absl::Status status = CheckNames(names); !status.ok()) return status;
  const auto wanted = [&](const std::string& folder, const char* name) {
    return !folder.empty() && (names.empty() || std::find(names.begin(), names.end(), name) != names.end());
  };
  std::vector<v1::Cache> gone;
  if (wanted(folders.expressions, kExpressions)) {
    CubinCache cache(folders.expressions, {.bytes = 0});
    if (const std::string trouble = cache.trouble(); !trouble.empty()) return absl::PermissionDeniedError(trouble);
    gone.push_back(ExpressionsRow(folders.expressions, cache.CutDown()));
  }
  if (wanted(folders.packages, kPackages)) {
    gone.push_back(PackagesRow(folders.packages, JitCaches::Clear(folders.packages)));
  }
  return gone;
}

}  // namespace hotplate::server
