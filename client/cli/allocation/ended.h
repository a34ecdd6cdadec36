// What daemons said of their own end: what they saved, and what is lost. Read from $HOTPLATE_DIR/ended.
#pragma once

#include <optional>
#include <string>

#include "client/cli/settings.h"
#include "hotplate/v1/daemon_end.pb.h"

namespace hotplate::cli {

// Of the daemon that the settings name, or else of the one that ended last. Nothing where there is none, or where
// others could have written it.
std::optional<v1::DaemonEnd> EndOfDaemon(const Settings& settings);

// "saved in FOLDER: A (400.0 MB)", "lost: B (80.0 MB: there was no time left), the results of jobs 3, 7", and how to
// bring back what was saved, a line each; empty where there was nothing.
std::string EndedText(const v1::DaemonEnd& end);

// "local ended at 10:12: idle for 15m: no job, upload or download", and EndedText.
std::string EndedPage(const v1::DaemonEnd& end);

}  // namespace hotplate::cli
