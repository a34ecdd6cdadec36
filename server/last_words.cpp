#include "server/last_words.h"

#include <algorithm>
#include <limits>

#include "server/quantity.h"

namespace hotplate::server {

std::string WhenUnused(const Config& config) {
  if (config.idle_timeout.count() == 0) return "never ends itself for want of use (--idle-timeout 0)";
  return "ends itself after " + FormatDuration(config.idle_timeout) + " without use";
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) list += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? list + ", ..." : list;
}

std::string WhatIsDropped(core::Engine& engine, const SavedArrays& saved) {
  const core::Principal all{"", core::SessionId(), core::Scope::kAdmin};
  std::uint64_t bytes = 0;
  std::vector<std::string> names;
  for (const core::ArraySnapshot& array : engine.arrays().List(all)) {
    if (saved.Has(array.id)) continue;
    bytes += array.bytes;
    names.push_back(array.label());
  }
  const std::size_t arrays = names.size();
  core::JobFilter filter;
  filter.limit = std::numeric_limits<std::size_t>::max();
  for (const core::JobSnapshot& job : engine.List(all, filter)) {
    if (job.detached && job.end && !job.end->outputs_dropped && !job.end->outputs.empty()) {
      names.push_back("job " + job.id.value());
    }
  }
  if (names.empty()) return "";
  const std::size_t jobs = names.size() - arrays;
  std::string what;
  if (arrays > 0) what = std::to_string(arrays) + " arrays of " + FormatBytes(bytes) + " together";
  if (jobs > 0) what += (what.empty() ? "" : ", ") + ("the kept results of " + std::to_string(jobs)) + " jobs";
  return what + " (" + Listed(names) + ")";
}

}  // namespace hotplate::server
