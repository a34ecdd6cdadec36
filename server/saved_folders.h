// The folders of saved arrays below the scratch folder, one of each daemon's name. They would grow for ever: what older
// daemons saved is dropped when it is too old, or too much.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace hotplate::server {

struct SavedBounds {
  std::chrono::nanoseconds age{};  // 0: any
  std::uint64_t bytes = 0;         // of all folders together; 0: any
};

// In a folder of saved arrays: only where this file is, files are ever dropped.
inline constexpr char kSavedMark[] = ".hotplate-saved";

// A folder that is there, and that nobody else writes to: who could, could have the data written elsewhere. It gets the
// mark when it is made. Empty, or why not.
std::string MakeSavedFolder(const std::string& path);

// Files *.npy in the marked folders of the user's own below `root`, but for those to `keep`: those that are too old,
// then the oldest until all that is there is within the bounds. Partial files of daemons that were killed go too, and
// folders with nothing in them any more. Follows no link. `dropped` hears of each array that is gone, and why; `enough`
// is asked before each.
void DropOldSaved(const std::string& root, const SavedBounds& bounds, const std::set<std::string>& keep,
                  const std::function<void(const std::string& file, const std::string& why)>& dropped,
                  const std::function<bool()>& enough);

// Partial files in one folder, of daemons that were killed.
void RemoveAbandoned(const std::string& folder);

}  // namespace hotplate::server
