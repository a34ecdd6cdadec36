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
  std::string value;     // the placeholder in the help; empty for a switch, which takes true or false
  std::string help;
  bool repeatable = false;  // the variable then holds several, separated by colons
  // Stores the value in the config, or returns a description of acceptable values.
  std::function<std::optional<std::string>(Config&, const std::string&)> apply;
  // The effective values as text, for ToToml; quoted unless they are numbers or booleans.
  std::function<std::vector<std::string>(const Config&)> show;
  bool quoted = true;
  std::function<void(Config&)> clear = nullptr;  // of a repeatable one: forgets the values of weaker sources
};

const std::vector<Setting>& Settings();

// The default value as text; nothing if it depends on the surroundings.
std::optional<std::string> DefaultOf(const Setting& setting);

}  // namespace hotplate::server
