// Where the journals of a HOTPLATE_DIR are, and their spools: left by daemons for commands that work without them.
//   HOTPLATE_DIR/journal/NAME/           the journal of daemon NAME, unless it was moved
//   HOTPLATE_DIR/servers/NAME.journal    then: the path of its folder, as text
//   spool                                in a journal's folder: the path of the spool, as text
//   id                                   there: the journal's own name (Index::Id), which its copies have as well
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/journal/disk.h"

namespace hotplate::journal {

struct Place {
  std::string name;    // the daemon's
  std::string folder;  // of the journal
  std::string spool;   // empty: not known
};

// Writes down what is not the default. Waits for the file system.
absl::Status NotePlace(Disk& disk, const std::string& directory, const Place& place);
// Removes the note of a journal that was removed.
absl::Status ForgetPlace(Disk& disk, const std::string& directory, const Place& place);

// The spool of the journal in that folder, as it was noted; empty: not known.
std::string NotedSpool(const Disk& disk, const std::string& folder);

// Of the daemon of that name, or (empty) of all, sorted by name. One that was moved may not be there any more. A daemon
// that kept its journal in several folders has several. Of a journal and its copies only the one that was last written
// to counts; the folders of the others go to `copies`. A folder that has several paths counts once.
absl::StatusOr<std::vector<Place>> FindPlaces(const Disk& disk, const std::string& directory,
                                              const std::string& name = "", std::vector<std::string>* copies = nullptr);

}  // namespace hotplate::journal
