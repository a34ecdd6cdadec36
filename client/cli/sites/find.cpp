// Finds profiles: in the user's folder, in the site's, and built in.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/cli/arguments.h"
#include "client/cli/catalogue/embedded_texts.h"
#include "client/cli/ending.h"
#include "client/cli/sites/profile.h"
#include "client/cli/sites/site.h"
#include "client/cli/sites/words.h"
#include "client/lib/endpoint.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kMostFiles = 1000;  // looked at in one folder

// The user's own before the site's.
std::vector<std::string> Folders(const Environment& environment) {
  std::vector<std::string> folders;
  if (const auto config = environment("XDG_CONFIG_HOME"))
    folders.push_back(*config + "/hotplate/sites");
  else if (const auto home = environment("HOME"))
    folders.push_back(*home + "/.config/hotplate/sites");
  if (const auto site = environment("HOTPLATE_SITES")) folders.push_back(*site);
  return folders;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);  // no pipe, no folder
  if (error) return UsageError(path + ": " + error.message());
  if (bytes > kLongestProfile)
    return UsageError(path + ": " + std::to_string(bytes) + " bytes is too large for a profile; the limit is " +
                      std::to_string(kLongestProfile));
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return UsageError(path + ": cannot be read");
  return text.str();
}

uid_t OwnerOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_uid : geteuid();
}

// A profile decides what runs in the user's name (launcher, exports), so it is trusted like a script: only the user,
// root and `chosen` may be able to change it. A group may if its number is the owner's: a private group, common with a
// umask of 002.
absl::Status CheckTrusted(const std::string& path, uid_t chosen) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return absl::OkStatus();  // reading it reports the fault
  if (info.st_uid != geteuid() && info.st_uid != 0 && info.st_uid != chosen)
    return WithNextStep(
        absl::PermissionDeniedError(
            path + " belongs to user " + std::to_string(info.st_uid) +
            ", who is neither you nor root; a profile decides what runs in your name, so it is not used"),
        "read it, then copy it to your own folder ~/.config/hotplate/sites");
  const bool by_group = (info.st_mode & S_IWGRP) != 0 && info.st_gid != info.st_uid;
  const bool by_all = (info.st_mode & S_IWOTH) != 0;
  if (!by_group && !by_all) return absl::OkStatus();
  return WithNextStep(absl::PermissionDeniedError(path + " can be written by " + (by_all ? "everybody" : "its group") +
                                                  "; a profile decides what runs in your name, so it is not used"),
                      "chmod go-w " + ShellQuoted(path));
}

// A user's profile cannot extend another user's: there is no chain to follow.
absl::StatusOr<Site> BuiltIn(const std::string& name) {
  std::vector<std::string> names;
  for (const EmbeddedText& profile : BuiltInProfiles()) {
    if (profile.name == name)
      return ParseProfile(std::string(profile.text), name, "built in", [](const std::string&) -> absl::StatusOr<Site> {
        return UsageError("a profile that is built in extends none");
      });
    names.emplace_back(profile.name);
  }
  return absl::NotFoundError("no profile " + Quoted(name) + " is built in; there are: " + Join(names, ", "));
}

}  // namespace

bool IsSiteName(const std::string& name) { return client::IsServerName(name) && name.size() <= 64; }

std::vector<std::string> SiteNames(const Environment& environment) {
  std::vector<std::string> names;
  for (const EmbeddedText& profile : BuiltInProfiles()) names.emplace_back(profile.name);
  for (const std::string& folder : Folders(environment)) {
    std::error_code error;
    std::size_t seen = 0;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end && seen < kMostFiles;
         entry.increment(error), ++seen) {
      const std::filesystem::path file = entry->path();
      if (file.extension() == ".toml" && IsSiteName(file.stem().string())) names.push_back(file.stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

absl::StatusOr<Site> FindSite(const std::string& name, const Environment& environment) {
  if (!IsSiteName(name))
    return UsageError("--site: " + Quoted(name) + " is not a valid site name; use letters, digits, '.', '_' and '-'");
  for (const std::string& folder : Folders(environment)) {
    const std::string path = folder + "/" + name + ".toml";
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    // HOTPLATE_SITES, mostly set by a centre's module, decides whose profiles are used, as with PATH.
    const uid_t chosen = folder == environment("HOTPLATE_SITES") ? OwnerOf(folder) : geteuid();
    for (const std::string& place : {folder, path})
      if (const absl::Status status = CheckTrusted(place, chosen); !status.ok()) return status;
    const auto text = ReadFile(path);
    if (!text.ok()) return text.status();
    return ParseProfile(*text, name, path, BuiltIn);
  }
  if (auto site = BuiltIn(name); site.ok()) return site;
  const std::vector<std::string> names = SiteNames(environment);
  const std::vector<std::string> nearest = NearestNames(name, names);
  return WithNextStep(absl::NotFoundError("no site " + Quoted(name) +
                                          (nearest.empty() ? "; there are: " + Join(names, ", ")
                                                           : ". Nearest: " + Join(nearest, ", "))),
                      "all sites: hotplate sites · how to write a profile: hotplate help sites");
}

}  // namespace hotplate::cli
