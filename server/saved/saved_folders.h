// The folders of saved arrays below the scratch folder, one of each daemon's name. They would grow for ever: what older
// daemons saved is dropped when it is too old, or too much.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace hotplate::server {

// By the number of bytes nothing goes that is younger: daemons of one scratch folder may end at the same time, and none
// knows what the others have just saved.
inline constexpr std::chrono::hours kSparedBySize{24};

struct SavedBounds {
  std::chrono::nanoseconds age{};  // 0: any
  // Of all folders together, of what was saved over kSparedBySize ago; 0: any. With kHalfOfTheRoom also of what one
  // daemon saves.
  std::uint64_t bytes = 0;
};

// In a folder of saved arrays: only where this file is, files are ever dropped.
inline constexpr char kSavedMark[] = ".hotplate-saved";
// At the end of what is wrong with a folder.
inline constexpr char kAnotherScratch[] = " (--scratch names another place)";

// A folder that is there, and that nobody else writes to: who could, could have the data written elsewhere. It gets the
// mark when it is made, and anew whenever it has one, so that nobody takes it for one that is no longer used. Empty, or
// why not.
std::string MakeSavedFolder(const std::string& path);

// Files *.npy in the marked folders of the user's own below `root`, but for those to `keep`: those that are too old,
// then the oldest until the others are within the bound. Partial files of daemons that were killed go too, and folders
// with nothing in them any more. Follows no link below `root`. `dropped` hears of each array that is gone, and why;
// `enough` is asked before each file is looked at. Returns why nothing is dropped there at all, or nothing.
std::string DropOldSaved(const std::string& root, const SavedBounds& bounds, const std::set<std::string>& keep,
                         const std::function<void(const std::string& file, const std::string& why)>& dropped,
                         const std::function<bool()>& enough);

// Partial files in one folder, of daemons that were killed.
void RemoveAbandoned(const std::string& folder, const std::function<bool()>& enough);

}  // namespace hotplate::server
