// Words about a daemon that died, or that held something when it ended.
#pragma once

#include <optional>
#include <string>

#include "client/cli/command.h"
#include "client/cli/settings.h"
#include "hotplate/v1/endpoint.pb.h"

namespace hotplate::cli {

// The last note that the daemon of this generation wrote about itself in the directory; nothing if it cannot be read.
std::optional<v1::DaemonLife> LifeOf(const std::string& directory, const std::string& generation);

// "the daemon before, local, died; it was last seen 3 m 20 s ago, when it held: 2 running or waiting jobs (job 7, job
// 8)". Empty if there is nothing to report. `who`: the beginning of the sentence.
std::string LossText(const std::string& who, const v1::DaemonLife& life);

// LastEnd: "local ended 3 m ago: idle for 15 m …", then a line each for saved and lost things. It is about the daemon
// that the settings name, else the one that ended last; empty if there is none. EndText: only those further lines.
std::string EndText(const v1::DaemonLife& life);
std::string LastEnd(const Settings& settings);

// Reports on standard error what was lost with the daemon before the one just started.
void TellLoss(const Invocation& call, const v1::GetServerInfoResponse& info);

// Describes the end of a daemon whose record is still there.
struct Death {
  std::string what;        // "it was last seen 3 m ago, when it held: …"; may be empty
  std::string last_words;  // the last line of its log; may be empty
};
Death DeathOf(const Settings& settings, const v1::EndpointRecord& record);

}  // namespace hotplate::cli
