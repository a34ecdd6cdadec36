#include "server/journal/spool_mark.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hotplate::journal {
namespace {

constexpr std::size_t kLongestMark = 1 << 14;  // two paths

std::string ToText(const SpoolMark& mark) {
  return absl::StrCat(
      "journal ", mark.id, mark.folder.empty() ? "" : absl::StrCat("\nof ", mark.folder, "\nin ", mark.root),
      "\nhotplated keeps inputs and results of detached jobs here: jobs/<id>/. Those of ended jobs whose results were\n"
      "fetched are deleted when they are old, or too many. Without this file nothing here is.\n");
}

SpoolMark MarkFrom(absl::string_view text) {
  SpoolMark mark;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (parts.first == "journal") mark.id = std::string(parts.second);
    if (parts.first == "of") mark.folder = std::string(parts.second);
    if (parts.first == "in") mark.root = std::string(parts.second);
    if (parts.first == "hotplated") break;
  }
  return mark;
}

}  // namespace

absl::StatusOr<SpoolMark> ReadMark(const Disk& disk, const std::string& root) {
  const absl::StatusOr<std::string> text = disk.Read(absl::StrCat(root, "/", kSpoolMark), kLongestMark);
  if (!text.ok()) return text.status();
  return MarkFrom(*text);
}

absl::Status OwnedBy(const SpoolMark& mark, const std::string& root, const std::string& folder) {
  if (mark.folder.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(root, " does not say whose spool it is; the next daemon writes it down"));
  }
  return absl::FailedPreconditionError(absl::StrCat(root, " is the spool of the journal in ", mark.folder,
                                                    "; the journal in ", folder, " is a copy of that one"));
}

bool IsFolder(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool IsGone(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool AreOneFolder(const std::string& a, const std::string& b) {
  struct stat one {
  }, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

std::string RealPath(const std::string& path) {
  std::error_code failed;
  const std::string real = std::filesystem::canonical(path, failed);
  return failed ? path : real;
}

absl::Status WriteMark(Disk& disk, const std::string& root, const SpoolMark& mark) {
  return ReplaceFile(disk, absl::StrCat(root, "/", kSpoolMark), ToText(mark));
}

std::string SpoolOwner(const Disk& disk, const std::string& root) {
  const absl::StatusOr<SpoolMark> mark = ReadMark(disk, root);
  return mark.ok() ? mark->id : "";
}

absl::Status CheckSpoolOwner(const Disk& disk, const std::string& root, const std::string& folder) {
  const absl::StatusOr<SpoolMark> mark = ReadMark(disk, root);
  if (!mark.ok()) return mark.status();
  return AreOneFolder(mark->folder, folder) ? absl::OkStatus() : OwnedBy(*mark, root, folder);
}

}  // namespace hotplate::journal
