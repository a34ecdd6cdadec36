#include "server/saved/last_words.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "kernels/base/quantity.h"

namespace hotplate::server {

std::string WhenUnused(const Config& config) {
  if (config.idle_timeout.count() == 0) return "never ends itself for want of use (--idle-timeout 0)";
  return "ends itself after " + DurationText(config.idle_timeout) + " without use";
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) list += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? list + ", ..." : list;
}

namespace {

std::string Counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string Joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : ", ") + second;
}

std::vector<std::string> Jobs(core::Engine& engine, core::JobFilter filter, bool durable = false) {
  filter.limit = std::numeric_limits<std::size_t>::max();
  std::vector<std::string> names;
  for (const core::JobSnapshot& job : engine.List(core::Everybody(), filter)) {
    if (job.durable == durable) names.push_back("job " + job.id.value());
  }
  return names;
}

// Whether a job owns the array: it is part of its result, and goes with it.
bool IsResult(const core::ArraySnapshot& array) { return !array.lease_end && array.owner.session == core::SessionId(); }

// Arrays that are not safe, and unfetched results. `why`: the reason why an array that should have been saved was not.
std::string Held(core::Engine& engine, const std::function<bool(const core::ArraySnapshot&)>& safe,
                 const std::function<std::string(const core::ArraySnapshot&)>& why = nullptr) {
  std::uint64_t bytes = 0;
  std::vector<std::string> names;
  for (const core::ArraySnapshot& array : engine.arrays().List(core::Everybody())) {
    if (safe(array) || IsResult(array)) continue;
    bytes += array.bytes;
    const std::string reason = why ? why(array) : "";
    names.push_back(array.label() + (reason.empty() ? "" : " (" + reason + ")"));
  }
  const std::size_t arrays = names.size();
  const std::vector<std::string> jobs = Jobs(engine, {.unfetched_only = true});
  names.insert(names.end(), jobs.begin(), jobs.end());
  if (names.empty()) return "";
  const std::string of_arrays = arrays == 0 ? "" : Counted(arrays, "array") + " of " + BytesText(bytes);
  const std::string of_jobs = jobs.empty() ? "" : "results of " + Counted(jobs.size(), "job") + " that nobody fetched";
  return Joined(of_arrays, of_jobs) + " (" + Listed(names) + ")";
}

std::string Active(core::Engine& engine) {
  const std::vector<std::string> jobs = Jobs(engine, {.active_only = true});
  return jobs.empty() ? "" : Counted(jobs.size(), "running or waiting job") + " (" + Listed(jobs) + ")";
}

}  // namespace

std::string WhatIsDropped(core::Engine& engine, const SavedArrays& saved, const std::vector<core::JobId>& active) {
  std::vector<std::string> cancelled;
  for (const core::JobId& id : active) {
    const absl::StatusOr<core::JobSnapshot> job = engine.Get(core::Everybody(), id);
    if (job.ok() && job->state == core::JobState::kCancelled) cancelled.push_back("job " + id.value());
  }
  const std::string of_cancelled =
      cancelled.empty() ? "" : Counted(cancelled.size(), "cancelled job") + " (" + Listed(cancelled) + ")";
  const auto safe = [&saved](const core::ArraySnapshot& array) { return saved.Has(array.id); };
  const auto why = [&saved](const core::ArraySnapshot& array) { return saved.WhyNot(array.id); };
  return Joined(of_cancelled, Held(engine, safe, why));
}

std::string WhatGoesOn(core::Engine& engine, const std::string& name) {
  const std::vector<std::string> jobs = Jobs(engine, {.active_only = true}, /*durable=*/true),
                                 unread = Jobs(engine, {.unfetched_only = true}, /*durable=*/true);
  const std::string of_jobs = jobs.empty() ? "" : Counted(jobs.size(), "job") + " (" + Listed(jobs) + ")";
  const std::string of_results =
      unread.empty() ? ""
                     : "results of " + Counted(unread.size(), "job") + " that nobody fetched (" + Listed(unread) + ")";
  const std::string all = Joined(of_jobs, of_results);
  return all.empty() ? "" : all + ", for the next daemon of this name (hotplate up --name " + name + ")";
}

std::string WhatIsSaved(const SavedArrays& saved) {
  std::uint64_t bytes = 0;
  std::vector<std::string> names;
  std::string file;
  for (const SavedArrays::One& one : saved.all) {
    if (one.file.empty()) continue;
    bytes += one.bytes;
    names.push_back(one.name);
    if (file.empty()) file = one.file;
  }
  if (names.empty()) return "";
  return Counted(names.size(), "array") + " of " + BytesText(bytes) + " (" + Listed(names) +
         "); to bring one back: hotplate put " + file;
}

std::string WhatWouldGo(core::Engine& engine) {
  return Joined(Active(engine), Held(engine, [](const core::ArraySnapshot&) { return false; }));
}

std::string WhatIsAtStake(core::Engine& engine, std::optional<std::uint64_t> room) {
  std::vector<core::ArraySnapshot> arrays = engine.arrays().List(core::Everybody());
  std::erase_if(arrays, [](const core::ArraySnapshot& array) {
    return !array.lease_end || array.state != core::ArrayState::kReady;
  });
  std::sort(arrays.begin(), arrays.end(), [](const auto& one, const auto& other) { return one.bytes < other.bytes; });
  std::set<std::string> fit;
  std::uint64_t left = room.value_or(std::numeric_limits<std::uint64_t>::max());
  for (const core::ArraySnapshot& array : arrays) {
    if (array.bytes > left) break;
    left -= array.bytes;
    fit.insert(array.id.value());
  }
  return Joined(Active(engine),
                Held(engine, [&](const core::ArraySnapshot& array) { return fit.contains(array.id.value()); }));
}

std::vector<core::JobId> ActiveJobs(core::Engine& engine) {
  std::vector<core::JobId> ids;
  core::JobFilter filter;
  filter.active_only = true;
  filter.limit = std::numeric_limits<std::size_t>::max();
  for (const core::JobSnapshot& job : engine.List(core::Everybody(), filter)) ids.push_back(job.id);
  return ids;
}

}  // namespace hotplate::server
