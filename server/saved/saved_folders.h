// The folders of saved arrays below the scratch folder, one for each daemon's name. So that they do not grow for ever,
// files of older daemons are dropped when they are too old, or too many.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace hotplate::server {

// Younger files are not dropped for their size: daemons of one scratch folder may end at the same time, and none knows
// what the others have just saved.
inline constexpr std::chrono::hours kSparedBySize{24};

struct SavedBounds {
  std::chrono::nanoseconds age{};  // 0: any
  // Bound on all folders together, for files older than kSparedBySize; 0: any. With kHalfOfTheRoom also on the files of
  // one daemon.
  std::uint64_t bytes = 0;
};

// In a folder of saved arrays: only where this file is, files are ever dropped.
inline constexpr char kSavedMark[] = ".hotplate-saved";
// Ends messages about a bad folder.
inline constexpr char kAnotherScratch[] = " (--scratch names another place)";

// Makes or checks a folder to which nobody else can write: others could redirect the data. A new folder gets the mark,
// and a marked one gets it anew, so that it does not look unused. Returns the reason for a failure, else an empty text.
std::string MakeSavedFolder(const std::string& path);

// Drops *.npy files in the user's own marked folders below `root`, except those in `keep`: first those that are too
// old, then the oldest until the rest is within the bound. Also removes partial files of killed daemons, and empty
// folders. Follows no link below `root`. Calls `dropped` with each removed array and the reason, and `enough` before
// each file. Returns the reason if nothing can be dropped at all, else nothing.
std::string DropOldSaved(const std::string& root, const SavedBounds& bounds, const std::set<std::string>& keep,
                         const std::function<void(const std::string& file, const std::string& why)>& dropped,
                         const std::function<bool()>& enough);

// Partial files in one folder, of daemons that were killed.
void RemoveAbandoned(const std::string& folder, const std::function<bool()>& enough);

}  // namespace hotplate::server
