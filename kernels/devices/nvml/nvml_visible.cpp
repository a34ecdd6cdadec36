#include "kernels/devices/nvml/nvml_visible.h"

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
  // "MIG-GPU-<uuid>/<instance>/<instance>": the name of instances before R470; NVML does not list those.
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

bool IsMigThere(const std::vector<NvmlGpu>& gpus) {
  return std::ranges::any_of(gpus, [](const NvmlGpu& gpu) { return gpu.mig; });
}

// The UUIDs that the device of this entry may have; none if NVML cannot tell. Some drivers give a MIG instance the
// number of its GPU.
std::vector<std::string> NamedBy(const std::string& entry, bool bus_order, const std::vector<NvmlGpu>& gpus) {
  if (!Fault(entry, gpus).empty() || entry.starts_with("MIG-GPU-")) return {};
  if (IsNumber(entry)) {
    if (!bus_order || IsMigThere(gpus)) return {};
    return {gpus[std::stoul(entry)].uuid};
  }
  for (const NvmlGpu& gpu : gpus) {
    if (gpu.uuid.starts_with(entry) && !gpu.mig) return {gpu.uuid};
    for (const std::string& instance : gpu.instances) {
      if (instance.starts_with(entry)) return {instance, gpu.uuid};
    }
  }
  return {};
}

// Ignores the prefix "GPU-" or "MIG-".
bool IsAmong(const std::string& uuid, const std::vector<std::string>& uuids) {
  const auto digits = [](const std::string& one) { return one.substr(std::min<std::size_t>(4, one.size())); };
  return std::ranges::any_of(uuids, [&](const std::string& one) { return digits(one) == digits(uuid); });
}

// The UUIDs of Slurm's numbers, taken as indices or as minor numbers; empty if they are neither.
std::vector<std::string> Numbered(const std::vector<int>& numbers, bool minor, const std::vector<NvmlGpu>& gpus) {
  std::vector<std::string> uuids;
  for (const int number : numbers) {
    const auto is_it = [number](const NvmlGpu& gpu) { return gpu.minor == number; };
    const auto found = minor                                            ? std::ranges::find_if(gpus, is_it)
                       : static_cast<std::size_t>(number) < gpus.size() ? gpus.begin() + number
                                                                        : gpus.end();
    if (found == gpus.end()) return {};
    uuids.push_back(found->uuid);
  }
  return uuids;
}

// The GPUs that Slurm gave, by the interpretation of its numbers that fits more open devices; empty if neither is
// possible. A job that sees only its own GPUs sees as many as it was given.
std::vector<std::string> GivenBySlurm(const std::vector<int>& numbers, const std::vector<NvmlGpu>& gpus,
                                      const std::vector<OpenGpu>& open) {
  if (numbers.empty() || numbers.size() == gpus.size() || IsMigThere(gpus)) return {};
  const std::vector<std::string> by_index = Numbered(numbers, false, gpus), by_minor = Numbered(numbers, true, gpus);
  const auto fits = [&](const std::vector<std::string>& uuids) {
    return std::ranges::count_if(open, [&](const OpenGpu& one) { return IsAmong(one.uuid, uuids); });
  };
  return by_index.empty() || (!by_minor.empty() && fits(by_minor) > fits(by_index)) ? by_minor : by_index;
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

std::vector<WrongGpu> WhatIsOpenInstead(const GivenGpus& given, const std::vector<NvmlGpu>& gpus,
                                        const std::vector<OpenGpu>& open) {
  std::vector<std::string> entries;
  if (given.visible) entries = absl::StrSplit(*given.visible, ',');
  const std::vector<std::string> slurm = GivenBySlurm(given.slurm, gpus, open);
  const auto is_slurms = [&](const OpenGpu& one) {
    return slurm.empty() || IsAmong(one.uuid, Numbered(given.slurm, false, gpus)) ||
           IsAmong(one.uuid, Numbered(given.slurm, true, gpus));
  };
  std::vector<WrongGpu> wrong;
  for (const OpenGpu& one : open) {
    const auto place = static_cast<std::size_t>(one.index);
    const std::string entry = place < entries.size() ? std::string(absl::StripAsciiWhitespace(entries[place])) : "";
    const std::vector<std::string> named = NamedBy(entry, given.bus_order, gpus);
    if (!named.empty() && !IsAmong(one.uuid, named)) {
      wrong.push_back(
          {one.index,
           absl::StrCat("gpu", one.index, " is ", one.uuid, ", and CUDA_VISIBLE_DEVICES has ", Quoted(entry),
                        " in its place, which is ", named[0], " by NVML: it may be another job's; tell the site of it"),
           !is_slurms(one)});
    } else if (!slurm.empty() && !IsAmong(one.uuid, slurm)) {
      wrong.push_back({one.index,
                       absl::StrCat("gpu", one.index, " is ", one.uuid, ", and Slurm gave ", absl::StrJoin(slurm, ", "),
                                    " (its numbers: ", absl::StrJoin(given.slurm, ","),
                                    "): it may be another job's; leave CUDA_VISIBLE_DEVICES as Slurm sets it"),
                       !is_slurms(one)});
    }
  }
  return wrong;
}

}  // namespace hotplate
