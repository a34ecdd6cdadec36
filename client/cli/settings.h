// Where the daemon is looked for: flags, then environment, then the config file, then defaults.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace hotplate::cli {

// One variable of the environment; nothing if it is unset or empty. A seam for tests.
using Environment = std::function<std::optional<std::string>(const std::string&)>;
Environment ProcessEnvironment();

struct Settings {
  std::string directory;      // absolute; HOTPLATE_DIR
  std::string server = {};    // a daemon's name or a record's path; empty: the current one
  std::string endpoint = {};  // replaces the record's addresses; empty: keep them
  std::string site = {};      // the profile that `up` uses; empty: none is preferred
  std::string account = {};   // the project that `up` charges; empty: the scheduler's choice
};

struct SettingFlags {
  std::optional<std::string> directory = {}, server = {}, endpoint = {};
};

// Reads $XDG_CONFIG_HOME/hotplate/config.toml, else ~/.config/hotplate/config.toml, if it exists: the keys `server`,
// `directory`, `site` and `account`. An unknown key or a wrong type is an error that names file, key and line.
absl::StatusOr<Settings> ResolveSettings(const SettingFlags& flags, const Environment& environment);

}  // namespace hotplate::cli
