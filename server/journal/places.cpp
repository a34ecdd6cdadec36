#include "server/journal/places.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"

namespace hotplate::journal {
namespace {

constexpr char kMoved[] = ".journal";

std::string DefaultFolder(const std::string& directory) { return directory + "/journal"; }
std::string SpoolNote(const std::string& folder) { return folder + "/spool"; }

// A file that consists of a path, whole or not at all.
absl::Status WritePath(Disk& disk, const std::string& file, const std::string& path) {
  const std::string text = path + "\n", written = absl::StrCat(file, ".", getpid(), ".new");
  if (const absl::StatusOr<std::string> there = disk.Read(file, PATH_MAX + 1); there.ok() && *there == text) {
    return absl::OkStatus();
  }
  const std::array<Disk::Bytes, 1> pieces = {BytesOf(text)};
  absl::Status done = disk.Remove(written);
  if (done.ok()) done = disk.Write(written, pieces, Disk::Sync::kNow);
  if (done.ok()) done = disk.Rename(written, file);
  return done;
}

// Empty if there is none.
std::string ReadPath(const Disk& disk, const std::string& file) {
  const absl::StatusOr<std::string> text = disk.Read(file, PATH_MAX + 1);
  const bool whole = text.ok() && text->starts_with('/') && text->ends_with('\n');
  return whole ? text->substr(0, text->size() - 1) : "";
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

}  // namespace

absl::Status NotePlace(Disk& disk, const std::string& directory, const Place& place) {
  absl::Status noted = WritePath(disk, SpoolNote(place.folder), place.spool);
  if (noted.ok() && place.folder != absl::StrCat(DefaultFolder(directory), "/", place.name)) {
    noted = WritePath(disk, absl::StrCat(directory, "/servers/", place.name, kMoved), place.folder);
  }
  return noted;
}

absl::StatusOr<std::vector<Place>> FindPlaces(const Disk& disk, const std::string& directory, const std::string& name) {
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
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.name < b.name; });
  for (Place& place : places) place.spool = ReadPath(disk, SpoolNote(place.folder));
  return places;
}

}  // namespace hotplate::journal
