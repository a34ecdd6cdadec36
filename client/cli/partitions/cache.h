// Slices of accounting that have been read and cannot change any more, one file each in a private folder. The cache
// only saves time: a damaged, old or unsafe file counts as missing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/partitions/sacct_text.h"
#include "client/cli/settings.h"

namespace hotplate::cli {

// $XDG_CACHE_HOME/hotplate, else the Hotplate directory's cache.
std::string CacheFolder(const Settings& settings, const Environment& environment);

struct CacheLimits {
  std::uint64_t bytes = std::uint64_t{256} << 20;        // of all slices together; the oldest go first
  std::int64_t seconds = std::int64_t{400} * 24 * 3600;  // since the slice's end: --since goes back no farther
};

class SliceCache {
 public:
  // The slices of one cluster, below `folder`, which is made if missing. Without a cluster name, or with a folder that
  // cannot be made or that others may write to, the cache stays empty.
  SliceCache(const std::string& folder, const std::string& cluster, EpochSeconds now, CacheLimits limits = {});

  // The longest slice from `from` that ends by `latest_end`.
  struct Found {
    EpochSeconds to = 0;
    SliceJobs jobs;
  };
  std::optional<Found> Find(EpochSeconds from, EpochSeconds latest_end);
  // Jobs that wait at its end are not kept. A slice that cannot be written is read again next time.
  void Keep(EpochSeconds from, EpochSeconds to, const SliceJobs& jobs);

  // Why nothing is kept; empty if all is well.
  const std::string& unusable() const { return unusable_; }

 private:
  std::string PathOf(EpochSeconds from, EpochSeconds to) const;
  void Prune(EpochSeconds now, CacheLimits limits);

  std::string folder_;  // of the cluster; empty: unusable
  std::string unusable_;
  std::map<EpochSeconds, std::vector<EpochSeconds>> slices_;  // from: to …
};

// The content of a file, and back; nothing for one that is not whole.
std::string SliceText(EpochSeconds from, EpochSeconds to, const SliceJobs& jobs);
std::optional<SliceJobs> ParseSlice(const std::string& text, EpochSeconds from, EpochSeconds to);

}  // namespace hotplate::cli
