#include "server/journal/places.h"

#include <limits.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/journal/fence.h"
#include "server/journal/spool.h"

namespace hotplate::journal {
namespace {

constexpr char kMoved[] = ".journal";

std::string DefaultFolder(const std::string& directory) { return directory + "/journal"; }
std::string SpoolNote(const std::string& folder) { return folder + "/spool"; }

std::string IdNote(const std::string& folder) { return folder + "/id"; }

// A file of one line, whole or not at all.
absl::Status WriteLine(Disk& disk, const std::string& file, const std::string& line) {
  const std::string text = line + "\n";
  if (const absl::StatusOr<std::string> there = disk.Read(file, PATH_MAX + 1); there.ok() && *there == text) {
    return absl::OkStatus();
  }
  return ReplaceFile(disk, file, text);
}

// Empty if there is none.
std::string ReadLine(const Disk& disk, const std::string& file) {
  const absl::StatusOr<std::string> text = disk.Read(file, PATH_MAX + 1);
  return text.ok() && text->ends_with('\n') ? text->substr(0, text->size() - 1) : "";
}

std::string ReadPath(const Disk& disk, const std::string& file) {
  std::string path = ReadLine(disk, file);
  return path.starts_with('/') ? path : "";
}

// Names of the files that end so in a folder that may not be there, without that end.
absl::StatusOr<std::set<std::string>> NamesIn(const Disk& disk, const std::string& folder, const std::string& end) {
  std::set<std::string> found;
  const absl::StatusOr<std::vector<std::string>> names = disk.List(folder);
  if (absl::IsNotFound(names.status())) return found;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (name.ends_with(end) && !name.starts_with(".")) found.insert(name.substr(0, name.size() - end.size()));
  }
  return found;
}

using FolderId = std::pair<dev_t, ino_t>;

// None: it is not there.
std::optional<FolderId> FolderIdOf(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FolderId(facts.st_dev, facts.st_ino);
}

struct Found {
  Place place;
  std::optional<FolderId> folder = {};
  std::string id = {};  // empty: not known
  std::uint64_t epoch = 0;
  bool owns = false;  // the name is that of the daemon that wrote it

  static Found At(const Disk& disk, Place place) {
    Found found{std::move(place)};
    found.folder = FolderIdOf(found.place.folder);
    found.id = ReadLine(disk, IdNote(found.place.folder));
    if (const absl::StatusOr<Owner> owner = Fence::Newest(found.place.folder, disk); owner.ok()) {
      found.epoch = owner->epoch;
      found.owns = owner->life.name == found.place.name;
    }
    return found;
  }
  bool IsCopyOf(const Found& other) const {
    return (folder && folder == other.folder) || (!id.empty() && id == other.id);
  }
};

// Of those that are the same journal the best stays; adds the folders of the others to `copies`.
void DropCopies(std::vector<Found>& all, std::vector<std::string>* copies) {
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::tuple(b.epoch, b.owns) < std::tuple(a.epoch, a.owns);
  });
  std::vector<Found> kept;
  for (Found& one : all) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const Found& other) { return one.IsCopyOf(other); });
    if (same == kept.end()) {
      kept.push_back(std::move(one));
    } else if (one.folder != same->folder && copies != nullptr) {
      copies->push_back(one.place.folder);
    }
  }
  all = std::move(kept);
}

}  // namespace

absl::Status NotePlace(Disk& disk, const std::string& directory, const Place& place) {
  absl::Status noted = WriteLine(disk, SpoolNote(place.folder), place.spool);
  if (const std::string id = SpoolOwner(disk, place.spool); noted.ok() && !id.empty()) {
    noted = WriteLine(disk, IdNote(place.folder), id);
  }
  if (noted.ok() && place.folder != absl::StrCat(DefaultFolder(directory), "/", place.name)) {
    noted = WriteLine(disk, absl::StrCat(directory, "/servers/", place.name, kMoved), place.folder);
  }
  return noted;
}

absl::Status ForgetPlace(Disk& disk, const std::string& directory, const Place& place) {
  const std::string note = absl::StrCat(directory, "/servers/", place.name, kMoved);
  return ReadPath(disk, note) == place.folder ? disk.Remove(note) : absl::OkStatus();
}

std::string NotedSpool(const Disk& disk, const std::string& folder) { return ReadPath(disk, SpoolNote(folder)); }

absl::StatusOr<std::vector<Place>> FindPlaces(const Disk& disk, const std::string& directory, const std::string& name,
                                              std::vector<std::string>* copies) {
  const std::string servers = directory + "/servers";
  const absl::StatusOr<std::set<std::string>> here = NamesIn(disk, DefaultFolder(directory), ""),
                                              moved = NamesIn(disk, servers, kMoved);
  if (!here.ok()) return here.status();
  if (!moved.ok()) return moved.status();
  std::vector<Place> places;
  for (const std::string& one : *here) places.push_back({one, absl::StrCat(DefaultFolder(directory), "/", one), ""});
  for (const std::string& one : *moved) {
    const std::string folder = ReadPath(disk, absl::StrCat(servers, "/", one, kMoved));
    if (!folder.empty()) places.push_back({one, folder, ""});
  }
  if (!name.empty()) std::erase_if(places, [&](const Place& place) { return place.name != name; });
  std::vector<Found> all;
  for (Place& place : places) all.push_back(Found::At(disk, std::move(place)));
  DropCopies(all, copies);
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) { return a.place.name < b.place.name; });
  places.clear();
  for (Found& found : all) {
    found.place.spool = NotedSpool(disk, found.place.folder);
    places.push_back(std::move(found.place));
  }
  return places;
}

}  // namespace hotplate::journal
