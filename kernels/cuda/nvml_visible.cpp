#include "kernels/cuda/nvml_visible.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/array/quoted.h"

namespace hotplate {
namespace {

// A node's GPUs are named in full up to here.
constexpr std::size_t kMostNamed = 16;

std::string There(const std::vector<NvmlGpu>& gpus) {
  if (gpus.empty()) return "the driver lists no GPU here";
  std::vector<std::string> names;
  for (const NvmlGpu& gpu : gpus) {
    names.push_back(gpu.uuid);
    names.insert(names.end(), gpu.instances.begin(), gpu.instances.end());
  }
  const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  return absl::StrCat("there ", names.size() + more == 1 ? "is " : "are ", absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

bool IsNumber(const std::string& entry) {
  return !entry.empty() && std::all_of(entry.begin(), entry.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Why CUDA stops at this entry; empty if it does not. A UUID may be cut short as long as it fits one device only.
std::string Fault(const std::string& entry, const std::optional<std::vector<NvmlGpu>>& gpus) {
  if (IsNumber(entry)) {
    if (!gpus) return "";
    // CUDA's own order, but the same count.
    const bool there = entry.size() <= 9 && static_cast<std::size_t>(std::stoul(entry)) < gpus->size();
    return there ? "" : absl::StrCat("no GPU has that index: ", There(*gpus));
  }
  const bool mig = entry.starts_with("MIG-");
  if (!mig && !entry.starts_with("GPU-")) return "it is no index, and no UUID (GPU-… or MIG-…)";
  // "MIG-GPU-<uuid>/<instance>/<instance>": how drivers before R470 named instances; NVML does not list those.
  if (!gpus || entry.starts_with("MIG-GPU-")) return "";
  std::size_t matches = 0;
  for (const NvmlGpu& gpu : *gpus) {
    if (!mig) matches += gpu.uuid.starts_with(entry);
    if (mig)
      matches += static_cast<std::size_t>(
          std::ranges::count_if(gpu.instances, [&](const std::string& uuid) { return uuid.starts_with(entry); }));
  }
  if (matches == 1) return "";
  if (matches > 1) return absl::StrCat("it fits ", matches, " of them: ", There(*gpus));
  return absl::StrCat(mig ? "no MIG instance" : "no GPU", " has that UUID: ", There(*gpus));
}

}  // namespace

std::optional<std::string> WhatIsWrongWithVisibleDevices(const std::string& text,
                                                         const std::optional<std::vector<NvmlGpu>>& gpus) {
  const std::string hint = "; Slurm sets the variable for a job that asks for GPUs (--gpus, --gres=gpu)";
  if (absl::StripAsciiWhitespace(text).empty()) {
    return absl::StrCat("CUDA_VISIBLE_DEVICES is set and empty, which hides every GPU",
                        gpus ? absl::StrCat(": ", There(*gpus)) : "", hint);
  }
  if (text == "NoDevFiles" || text == "-1") {
    return absl::StrCat("CUDA_VISIBLE_DEVICES is ", text, ", which hides every GPU",
                        gpus ? absl::StrCat(": ", There(*gpus)) : "", hint);
  }
  std::set<std::string> seen;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::string entry(absl::StripAsciiWhitespace(part));
    std::string fault = Fault(entry, gpus);
    if (fault.empty() && !seen.insert(entry).second) fault = "it stands there twice";
    if (fault.empty()) continue;
    return absl::StrCat("CUDA_VISIBLE_DEVICES has ", Quoted(entry),
                        ", and CUDA shows only what stands before it, or nothing: ", fault);
  }
  return std::nullopt;
}

std::vector<std::string> WhatMigHides(const std::optional<std::string>& text, const std::vector<NvmlGpu>& gpus,
                                      const std::vector<std::string>& shown) {
  const auto is_named = [&](const std::string& uuid) {
    if (!text) return true;
    const std::vector<std::string> entries = absl::StrSplit(*text, ',');
    return std::ranges::any_of(entries, [&](const std::string& entry) {
      const std::string one(absl::StripAsciiWhitespace(entry));
      return one.size() > 4 && uuid.starts_with(one);
    });
  };
  const auto is_shown = [&](const std::string& uuid) { return std::ranges::find(shown, uuid) != shown.end(); };
  std::vector<std::string> hidden;
  for (const NvmlGpu& gpu : gpus) {
    if (gpu.mig && gpu.instances.empty() && is_named(gpu.uuid)) {
      hidden.push_back(absl::StrCat(gpu.uuid,
                                    " is in MIG mode and has no instances, so CUDA cannot use it: its administrator "
                                    "makes some (nvidia-smi mig -cgi PROFILE -C) or ends the mode"));
    }
    // Some drivers give the instance that they show, the first, its GPU's UUID.
    bool first_is_shown = is_shown(gpu.uuid);
    for (const std::string& uuid : gpu.instances) {
      const bool is_it = is_shown(uuid) || std::exchange(first_is_shown, false);
      if (is_it || shown.empty() || !is_named(uuid)) continue;
      hidden.push_back(absl::StrCat(uuid,
                                    " is not used: CUDA shows a process one MIG instance at most; a daemon of its own, "
                                    "with CUDA_VISIBLE_DEVICES=",
                                    uuid, ", can use it"));
    }
  }
  return hidden;
}

}  // namespace hotplate
