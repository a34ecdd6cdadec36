// Journals of daemons before this one whose names nobody has taken again.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "server/journal/records.h"

namespace hotplate::server {

struct OtherJournals {
  std::string directory;                   // HOTPLATE_DIR
  journal::DaemonLife self;                // whose own journal is left alone
  std::chrono::nanoseconds history_age{};  // of rows; 0: any
  std::function<bool()> stop;
  std::function<void(const std::string&)> log;
};

// Deletes what is old, as these daemons would, and journals in which nothing is left. Waits for the file system.
void PruneOthers(const OtherJournals& others);

}  // namespace hotplate::server
