#include "client/cli/settings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/cli/ending.h"
#include "client/cli/toml.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestConfigFile = 1 << 20;

struct ConfigFile {
  std::optional<std::string> directory, server, site, account;
};

absl::StatusOr<ConfigFile> ReadConfigFile(const std::string& path) {
  ConfigFile config;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return config;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return UsageError(path + ": " + error.message());
  if (bytes > kLongestConfigFile) return UsageError(path + ": " + std::to_string(bytes) + " bytes is no config file");
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return UsageError(path + ": cannot be read");
  const toml::parse_result parsed = toml::parse(text.str(), path);
  if (!parsed)
    return UsageError(path + ":" + std::to_string(parsed.error().source().begin.line) + ": " +
                      std::string(parsed.error().description()));
  for (const auto& [key, value] : parsed.table()) {
    const std::string name(key.str());
    const auto word = value.value<std::string>();
    std::optional<std::string>* target = name == "directory" ? &config.directory
                                         : name == "server"  ? &config.server
                                         : name == "site"    ? &config.site
                                         : name == "account" ? &config.account
                                                             : nullptr;
    const std::string where = path + ":" + std::to_string(value.source().begin.line) + ": ";
    if (!target) return UsageError(where + "no setting \"" + name + "\"; there are: directory, server, site, account");
    if (!value.is_string()) return UsageError(where + name + " must be a text in quotes");
    *target = *word;
  }
  return config;
}

}  // namespace

Environment ProcessEnvironment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (!value || !*value) return std::nullopt;
    return value;
  };
}

absl::StatusOr<Settings> ResolveSettings(const SettingFlags& flags, const Environment& environment) {
  const auto home = environment("HOME");
  std::optional<std::string> config_home = environment("XDG_CONFIG_HOME");
  if (!config_home && home) config_home = *home + "/.config";
  ConfigFile config;
  if (config_home) {
    const auto read = ReadConfigFile(*config_home + "/hotplate/config.toml");
    if (!read.ok()) return read.status();
    config = *read;
  }
  const auto expanded = [&home](const std::string& path) {
    return home && path.rfind("~/", 0) == 0 ? *home + path.substr(1) : path;
  };
  Settings settings;
  if (flags.directory)
    settings.directory = *flags.directory;
  else if (const auto variable = environment("HOTPLATE_DIR"))
    settings.directory = *variable;
  else if (config.directory)
    settings.directory = expanded(*config.directory);
  else if (home)
    settings.directory = *home + "/.hotplate";
  else
    return UsageError("neither HOTPLATE_DIR nor HOME is set: no place to look for a daemon. Set HOTPLATE_DIR");
  std::error_code error;
  const auto absolute = std::filesystem::absolute(settings.directory, error);
  if (error) return UsageError(settings.directory + ": " + error.message());
  settings.directory = absolute.lexically_normal().string();

  if (flags.server)
    settings.server = *flags.server;
  else if (const auto variable = environment("HOTPLATE_SERVER"))
    settings.server = *variable;
  else if (config.server)
    settings.server = expanded(*config.server);
  // One of the environment belongs to the daemon of the environment.
  if (flags.endpoint)
    settings.endpoint = *flags.endpoint;
  else if (!flags.server)
    settings.endpoint = environment("HOTPLATE_ENDPOINT").value_or("");
  settings.site = environment("HOTPLATE_SITE").value_or(config.site.value_or(""));
  settings.account = environment("HOTPLATE_ACCOUNT").value_or(config.account.value_or(""));
  return settings;
}

}  // namespace hotplate::cli
