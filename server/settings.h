// The table of settings: each row is at once a flag, an environment variable and a TOML key, with one parser for all.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/config.h"

namespace hotplate::server {

struct Setting {
  std::string flag;      // "max-streams": --max-streams
  std::string variable;  // "HOTPLATE_MAX_STREAMS"
  std::string key;       // "max_streams"
  std::string value;     // what the help shows for the value; empty for a switch, which takes true or false
  std::string help;
  bool repeatable = false;  // the variable then holds several, separated by colons
  // Puts the value into the config, or says what would have been acceptable.
  std::function<std::optional<std::string>(Config&, const std::string&)> apply;
  // The effective values as text, for ToToml; quoted unless they are numbers or booleans.
  std::function<std::vector<std::string>(const Config&)> show;
  bool quoted = true;
};

const std::vector<Setting>& Settings();

// What the setting is when nobody says anything, as text; nothing where that depends on the surroundings.
std::optional<std::string> DefaultOf(const Setting& setting);

}  // namespace hotplate::server
