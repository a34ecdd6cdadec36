#include "server/config.h"

// One of its assertions fails for text that the very next lines refuse with an error.
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "kernels/array/quoted.h"
#include "kernels/base/free_space.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/status.h"
#include "kernels/spec/spec.h"
#include "server/libraries.h"
#include "server/manual.h"
#include "server/net/addresses.h"
#include "server/settings.h"
#include "server/slurm/allocation.h"
#include "server/version.h"
#include "server/wire/job.h"

namespace hotplate::server {
namespace {

constexpr char kFooter[] =
    "Each flag is also a variable (--max-streams: HOTPLATE_MAX_STREAMS; --directory: HOTPLATE_DIR; --python:\n"
    "HOTPLATE_DAEMON_PYTHON; --module: HOTPLATE_DAEMON_MODULE) and a key of the configuration file (max_streams = "
    "256). Flags win over variables, variables over the file.\n"
    "Sizes: 64MiB, 2GB. Durations: 500ms, 20s, 15m, 2h.\n\n"
    "Example:\n"
    "  hotplated --name mine --lanes 4 --idle-timeout 30m --log-level debug\n";

// One value of one setting, with the words that say where it was given.
struct Given {
  const Setting* setting;
  std::string value;
  std::string source;
};

absl::Status Invalid(const std::string& sentence) { return absl::InvalidArgumentError(ToAbsl(sentence)); }

// A number, boolean or string of a TOML file as the text that the setting's parser takes.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
  return std::nullopt;
}

absl::Status ReadToml(const std::string& file, std::vector<Given>& given) {
  toml::table table;
  try {
    table = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    return Invalid(file + (line > 0 ? ":" + std::to_string(line) : "") + ": " + std::string(error.description()));
  }
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::string where = file + ":" + std::to_string(node.source().begin.line);
    const Setting* setting = nullptr;
    std::vector<std::string> keys;
    for (const Setting& candidate : Settings()) {
      if (candidate.key == name) setting = &candidate;
      keys.push_back(candidate.key);
    }
    if (setting == nullptr) {
      std::string nearest;
      for (const std::string& one : NearestNames(name, keys)) nearest += (nearest.empty() ? "" : ", ") + one;
      return Invalid(where + ": unknown key \"" + name + "\"" +
                     (nearest.empty() ? "; hotplated --help lists all" : ". Nearest: " + nearest));
    }
    const auto* list = node.as_array();
    if (list != nullptr && !setting->repeatable) return Invalid(where + ": " + name + " takes one value, not a list");
    std::vector<const toml::node*> nodes;
    if (list == nullptr) nodes.push_back(&node);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) nodes.push_back(&(*list)[i]);
    for (const toml::node* one : nodes) {
      const std::optional<std::string> text = TextOf(*one);
      if (!text) return Invalid(where + ": " + name + " must be a string, a whole number or a boolean");
      given.push_back({setting, *text, where + ": " + name});
    }
  }
  return absl::OkStatus();
}

void ReadEnvironment(const Surroundings& surroundings, std::vector<Given>& given) {
  for (const Setting& setting : Settings()) {
    const std::optional<std::string> text = surroundings.environment(setting.variable);
    if (!text || text->empty()) continue;
    std::size_t start = 0;
    while (start <= text->size()) {
      const std::size_t end = setting.repeatable ? std::min(text->find(':', start), text->size()) : text->size();
      given.push_back({&setting, text->substr(start, end - start), setting.variable});
      start = end + 1;
    }
  }
}

// Applies one source's values. The values of a repeatable setting replace those of earlier sources.
absl::Status ApplyAll(const std::vector<Given>& given, Config& config) {
  std::set<const Setting*> seen;
  for (const Given& one : given) {
    if (one.setting->repeatable && seen.insert(one.setting).second) one.setting->clear(config);
    if (const std::optional<std::string> wanted = one.setting->apply(config, one.value)) {
      return Invalid(one.source + " is \"" + one.value + "\"; it must be " + *wanted);
    }
  }
  return absl::OkStatus();
}

std::string Absolute(const std::string& path, const Surroundings& surroundings) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(surroundings.current_folder) / path).lexically_normal().string();
}

// Clients are on another node than an allocation's; by hand, everybody is here.
std::string DefaultListen(const Config& config, const Allocation& allocation) {
  if (!config.interface.empty()) return "";
  return allocation.empty() ? "127.0.0.1" : "0.0.0.0";
}

// Where SCRATCH names a folder that is there and not the node's own, gone with the job; else empty.
std::string SiteScratch(const Surroundings& surroundings, const Allocation& allocation) {
  const std::string scratch = surroundings.environment("SCRATCH").value_or("");
  const bool of_the_job =
      !allocation.empty() && (scratch.find(allocation.job_id) != std::string::npos || IsOfOneMachine(scratch));
  return scratch.starts_with('/') && access(scratch.c_str(), W_OK | X_OK) == 0 && !of_the_job ? scratch : "";
}

// A folder of ours on the site's scratch, else `otherwise`.
std::string OnScratch(const std::string& scratch, const char* folder, const std::string& otherwise) {
  return scratch.empty() ? otherwise : (std::filesystem::path(scratch) / folder).lexically_normal().string();
}

std::string CacheAtHome(const Surroundings& surroundings) {
  const std::string cache = surroundings.environment("XDG_CACHE_HOME").value_or("");
  return (cache.starts_with('/') ? cache : surroundings.home + "/.cache") + "/hotplate";
}

// A stronger source's choice of one of the two replaces a weaker one's of the other.
absl::Status CheckListen(const std::vector<Given>& given) {
  const auto is = [&](const char* flag) {
    return std::any_of(given.begin(), given.end(), [&](const Given& one) { return one.setting->flag == flag; });
  };
  if (!is("listen") || !is("interface")) return absl::OkStatus();
  return Invalid("listen and interface are both given: an address or an interface to listen on; drop one of the two");
}

// Completes settings that one row cannot check alone: absolute paths, defaults that depend on the surroundings,
// contradictions.
absl::Status Complete(const Surroundings& surroundings, Config& config) {
  const Allocation allocation = ReadAllocation(surroundings);
  if (config.name.empty()) config.name = DefaultName(allocation);
  if (config.listen.empty()) config.listen = DefaultListen(config, allocation);
  if (config.directory.empty()) config.directory = surroundings.home + "/.hotplate";
  for (std::string* path :
       {&config.directory, &config.log_file, &config.unix_socket, &config.scratch, &config.jit_cache, &config.cache}) {
    *path = Absolute(*path, surroundings);
  }
  if (config.journal == "on") config.journal = config.directory + "/journal";
  if (config.journal != kNoJournal) config.journal = Absolute(config.journal, surroundings);
  if (config.audit_log == "on") config.audit_log = AuditFolder(config) + "/" + config.name + ".jsonl";
  if (config.audit_log != kNoAuditLog) config.audit_log = Absolute(config.audit_log, surroundings);
  if (config.python.find('/') != std::string::npos) config.python = Absolute(config.python, surroundings);
  const std::string scratch = SiteScratch(surroundings, allocation);
  if (config.scratch.empty()) config.scratch = OnScratch(scratch, "hotplate/saved", config.directory + "/saved");
  if (config.jit_cache.empty()) {
    config.jit_cache = OnScratch(scratch, "hotplate/jit", "/tmp/hotplate-" + std::to_string(geteuid()) + "/jit");
  }
  if (config.cache.empty()) config.cache = OnScratch(scratch, "hotplate/cache", CacheAtHome(surroundings));
  if (config.path_roots.empty()) config.path_roots = {surroundings.home, surroundings.current_folder};
  for (std::string& root : config.path_roots) root = Absolute(root, surroundings);

  if (config.insecure && config.unix_socket.empty()) {
    return Invalid(
        "insecure with " + (config.listen.empty() ? "interface \"" + config.interface : "listen \"" + config.listen) +
        "\": without TLS a daemon listens on a unix socket only, since every user of the node can connect to "
        "TCP; add --unix-socket PATH or leave --insecure out");
  }
  if (config.user_code != UserCode::kAll && !(config.python.empty() && config.modules.empty())) {
    const std::string first =
        config.python.empty() ? "module \"" + config.modules.front() : "python \"" + config.python;
    return Invalid(first + "\" with user-code \"" + (config.user_code == UserCode::kNone ? "none" : "expressions") +
                   "\" contradict each other; drop one of the two");
  }
  if (config.require_cuda && config.device == DeviceChoice::kCpu) {
    return Invalid("require-cuda with device \"cpu\" contradict each other; drop one of the two");
  }
  if (config.array_bytes != 0 && config.max_array_bytes > config.array_bytes) {
    return Invalid("max-array-bytes is " + std::to_string(config.max_array_bytes) +
                   ", more than array-bytes, which is " + std::to_string(config.array_bytes));
  }
  if (config.inbox_bytes != 0 && config.inbox_bytes / 4 < config.message_bytes) {
    return Invalid("inbox-bytes is " + std::to_string(config.inbox_bytes) +
                   ", less than four messages of message-bytes, " + std::to_string(config.message_bytes));
  }
  if (config.inline_bytes + (1 << 20) > config.message_bytes) {
    return Invalid("inline-bytes is " + std::to_string(config.inline_bytes) +
                   "; it must be at least 1MiB less than message-bytes, which is " +
                   std::to_string(config.message_bytes));
  }
  return absl::OkStatus();
}

// Warnings about accepted but probably mistaken values, as comments in the TOML file.
std::string RemarksOn(const Config& config) {
  std::vector<std::string> missing;
  wire::CanonicalRoots(config.path_roots, &missing);
  std::string remarks;
  for (const std::string& root : missing) {
    remarks += "# path-root " + Quoted(root) +
               " is not a folder that can be reached, so no file by path can be read or written there\n";
  }
  return remarks;
}

std::string HelpWithDefault(const Setting& setting) {
  const std::optional<std::string> value = DefaultOf(setting);
  return setting.help + (value ? " [" + *value + "]" : "");
}

// The flags of one command line, and the values they had.
class CommandLine {
 public:
  CommandLine() : app_("hotplated: keeps devices, arrays and kernels ready for jobs.", "hotplated") {
    app_.footer(kFooter);
    CLI::Option* const version = app_.set_version_flag("--version", std::string("hotplated ") + kVersion);
    app_.add_flag("-v", libraries_, "with --version: the versions of the libraries, too")->needs(version);
    app_.add_option("--config", config_file_,
                    "the configuration file (default: hotplate/hotplated.toml in $XDG_CONFIG_HOME, else in ~/.config)")
        ->type_name("FILE");
    app_.add_flag("--check-config", check_, "print the effective configuration and exit");
    app_.add_flag("--man", manual_, "print the manual page (man -l -) and exit");
    for (const Setting& setting : Settings()) {
      CLI::Option* option = setting.value.empty()
                                ? app_.add_flag("--" + setting.flag, setting.help)
                                : app_.add_option("--" + setting.flag, values_[setting.flag], HelpWithDefault(setting));
      // A list, with one value for each flag: otherwise it would swallow further words.
      if (!setting.value.empty()) option->type_name(setting.value)->type_size(1)->expected(1)->allow_extra_args(false);
      option->multi_option_policy(setting.repeatable ? CLI::MultiOptionPolicy::TakeAll
                                                     : CLI::MultiOptionPolicy::TakeLast);
      options_.emplace_back(&setting, option);
    }
  }

  absl::StatusOr<std::optional<Answer>> Parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return Answer{app_.help()};
    } catch (const CLI::CallForVersion&) {
      // All words are parsed before the first is acted upon, in whatever order they stand.
      return Answer{std::string("hotplated ") + kVersion + "\n" +
                    (app_.count("-v") > 0 ? codec::LibraryTable(Libraries()) : "")};
    } catch (const CLI::Error& error) {
      return Invalid(std::string(error.what()) + "; hotplated --help lists all flags");
    }
    return std::nullopt;
  }

  const std::string& config_file() const { return config_file_; }
  bool check() const { return check_; }
  bool manual() const { return manual_; }

  void Collect(std::vector<Given>& given) const {
    for (const auto& [setting, option] : options_) {
      if (option->count() == 0) continue;
      const std::vector<std::string> results = option->results();
      for (std::size_t i = setting->repeatable ? 0 : results.size() - 1; i < results.size(); ++i) {
        given.push_back({setting, results[i], "--" + setting->flag});
      }
    }
  }

 private:
  CLI::App app_;
  std::string config_file_;
  bool check_ = false, manual_ = false, libraries_ = false;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::pair<const Setting*, CLI::Option*>> options_;
};

}  // namespace

Surroundings Surroundings::OfThisProcess() {
  Surroundings surroundings;
  surroundings.environment = [](const std::string& variable) -> std::optional<std::string> {
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
  const char* home = std::getenv("HOME");
  surroundings.home = home != nullptr && *home != '\0' ? home : "/";
  std::error_code error;
  surroundings.current_folder = std::filesystem::current_path(error).string();
  surroundings.node = NodeName();
  return surroundings;
}

absl::StatusOr<std::variant<Config, Answer>> ReadConfig(const std::vector<std::string>& arguments,
                                                        const Surroundings& surroundings) {
  CommandLine command_line;
  const absl::StatusOr<std::optional<Answer>> answer = command_line.Parse(arguments);
  if (!answer.ok()) return answer.status();
  if (*answer) return **answer;
  if (command_line.manual()) return Answer{ManualPage()};

  std::string file = command_line.config_file();
  if (file.empty()) file = surroundings.environment("HOTPLATE_CONFIG").value_or("");
  const bool asked_for = !file.empty();
  if (!asked_for) {
    const std::string config_home = surroundings.environment("XDG_CONFIG_HOME").value_or("");
    file = (config_home.empty() ? surroundings.home + "/.config" : config_home) + "/hotplate/hotplated.toml";
  }
  std::error_code error;
  const bool exists = std::filesystem::is_regular_file(file, error);
  if (asked_for && !exists) {
    const bool other = std::filesystem::exists(file, error);
    return Invalid("--config is \"" + file + "\", " + (other ? "which is no file" : "and there is no such file"));
  }

  Config config;
  std::vector<Given> from_file, from_environment, from_flags;
  if (exists) {
    if (absl::Status status = ReadToml(file, from_file); !status.ok()) return status;
  }
  ReadEnvironment(surroundings, from_environment);
  command_line.Collect(from_flags);
  for (const std::vector<Given>* source : {&from_file, &from_environment, &from_flags}) {
    if (absl::Status status = CheckListen(*source); !status.ok()) return status;
    if (absl::Status status = ApplyAll(*source, config); !status.ok()) return status;
  }
  if (absl::Status status = Complete(surroundings, config); !status.ok()) return status;
  if (command_line.check()) return Answer{ToToml(config) + RemarksOn(config)};
  return config;
}

std::string ToToml(const Config& config) {
  toml::table table;
  for (const Setting& setting : Settings()) {
    const std::vector<std::string> values = setting.show(config);
    if (setting.repeatable) {
      toml::array list;
      for (const std::string& value : values) list.push_back(value);
      table.insert(setting.key, std::move(list));
    } else if (!setting.quoted) {
      if (values[0] == "true" || values[0] == "false") {
        table.insert(setting.key, values[0] == "true");
      } else {
        table.insert(setting.key, static_cast<std::int64_t>(std::stoll(values[0])));
      }
    } else if (!values[0].empty()) {
      table.insert(setting.key, values[0]);
    }
  }
  std::ostringstream text;
  text << table << "\n";
  return text.str();
}

}  // namespace hotplate::server
