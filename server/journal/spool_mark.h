// The file by which a spool says whose it is.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "server/journal/disk.h"

namespace hotplate::journal {

inline constexpr char kSpoolMark[] = ".hotplate-spool";

struct SpoolMark {
  std::string id, folder, root;  // of the journal; its folder, and the spool as it was when that was written
};

absl::StatusOr<SpoolMark> ReadMark(const Disk& disk, const std::string& root);
absl::Status WriteMark(Disk& disk, const std::string& root, const SpoolMark& mark);
// FAILED_PRECONDITION: the spool is not that of the journal in `folder`.
absl::Status OwnedBy(const SpoolMark& mark, const std::string& root, const std::string& folder);

// The id of the journal whose spool it is; empty if it is none.
std::string SpoolOwner(const Disk& disk, const std::string& root);
// OK if a spool is that of the journal in that folder; FAILED_PRECONDITION, naming the folder that has it.
absl::Status CheckSpoolOwner(const Disk& disk, const std::string& root, const std::string& folder);

// By whatever path.
bool AreOneFolder(const std::string& a, const std::string& b);
bool IsFolder(const std::string& path);
// Not only out of reach for now.
bool IsGone(const std::string& path);
std::string RealPath(const std::string& path);

}  // namespace hotplate::journal
