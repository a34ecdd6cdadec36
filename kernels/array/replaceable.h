// Whether somebody else could put another file in the place of one that is to be trusted: the folders on the way to it
// are looked at, up to the root, with those of links on the way. Both sides ask it of a guest's record: the daemon
// before it makes one, and the guest before it is used.
#pragma once

#include <sys/types.h>

#include <string>

namespace hotplate {

struct FileToTrust {
  std::string path;       // absolute; links are followed
  uid_t owner = 0;        // of the file: this user, root and the process's own are trusted, nobody else is
  std::string what = {};  // in a sentence: the record of guest "ana"
  // Folders above this one, which is canonical, are not looked at: whoever may change them has the user's account, too.
  std::string home = {};
};

// Empty, or why: names the folder, its mode or its owner, and the remedy. The folder that has the file must be writable
// to none but its owner. A folder further up may be, if it has the sticky bit: then others rename and remove nothing
// that is not theirs. What cannot be looked at is left to whoever opens the file.
std::string WhyReplaceable(const FileToTrust& file);

// "(mode 0775)"
std::string ModeText(mode_t mode);
// "chmod go-w /x", or for somebody else's file "ask user 1000, its owner, for chmod go-w /x".
std::string RemedyOf(uid_t owner, const std::string& command);

}  // namespace hotplate
