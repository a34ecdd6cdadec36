#include "client/cli/sites/profile.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/cli/arguments.h"
#include "client/cli/ending.h"
#include "client/cli/sites/template.h"
#include "client/cli/sites/words.h"
#include "client/cli/toml.h"
#include "kernels/array/quoted.h"
#include "kernels/base/module_name.h"
#include "kernels/base/nearest_names.h"
#include "kernels/base/quantity.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kMostEntries = 64;  // of any list
constexpr int kMostNodeGpus = 64;         // of a node

// A condition on a text, and its words.
struct Rule {
  bool (*holds)(const std::string& text);
  const char* what;
};
constexpr Rule kLine = {IsLine, "one line of up to 400 bytes"};
constexpr Rule kWord = {IsWord, "a word of letters, digits and . _ : + -"};
constexpr Rule kModule = {IsModuleName, kModuleNameRule};
constexpr Rule kShellPath = {IsShellValue, "letters, digits, / . _ + - = : , @ %, $NAME and {placeholders}"};
constexpr Rule kVariable = {IsVariable, "a variable's name"};
constexpr Rule kCapability = {IsCapability, "a compute capability as \"8.9\""};
constexpr Rule kPorts = {IsPortRange, "a port or a range of them from 1024 to 65535, as \"40000-40100\""};
constexpr Rule kInterface = {IsInterface, "a network interface's name"};
constexpr Rule kPattern = {IsPattern, "a POSIX extended regular expression of up to 200 bytes"};
constexpr Rule kDirective = {IsDirectiveTemplate,
                             "one line that begins with - and has no other {placeholders} than "
                             "account, partition, gpu_type, gpus, time, cpus, memory, exclusive"};
constexpr Rule kLauncherWord = {IsLauncherWord, "a word without blanks, quotes and what else a shell obeys"};

// A table all of whose keys must be read. A missing key leaves its target unchanged. Keeps the first error: status().
class Reader {
 public:
  Reader(const toml::table& table, std::string origin, std::string prefix = "")
      : table_(table), origin_(std::move(origin)), prefix_(std::move(prefix)) {}

  const toml::node* Find(const std::string& key) {
    known_.push_back(key);
    return table_.get(key);
  }

  void Text(const std::string& key, std::string& target, const Rule& rule) {
    if (const toml::node* node = Find(key)) TextOf(*node, key, target, rule);
  }

  void Texts(const std::string& key, std::vector<std::string>& target, const Rule& rule) {
    List(key, target, [&](const toml::node& node, std::string& text) { TextOf(node, key, text, rule); });
  }

  void Flag(const std::string& key, bool& target) {
    const toml::node* node = Find(key);
    if (!node) return;
    if (const auto flag = node->value_exact<bool>())
      target = *flag;
    else
      Wrong(*node, key, "must be true or false");
  }

  void Time(const std::string& key, std::chrono::seconds& target) {
    const toml::node* node = Find(key);
    if (!node) return;
    const auto text = node->value_exact<std::string>();
    const auto time = ParseTimeLimit(text.value_or(""));
    if (time.ok())
      target = *time;
    else
      Wrong(*node, key, "must be a time in quotes, as \"2h\", \"00:30:00\" or \"7-00:00:00\"");
  }

  // One of the words, each with its value.
  template <typename T>
  void Choice(const std::string& key, T& target, const std::vector<T>& values) {
    const toml::node* node = Find(key);
    if (!node) return;
    std::vector<std::string> words;
    for (const T value : values) {
      words.push_back(Word(value));
      if (node->value_exact<std::string>() == words.back()) {
        target = value;
        return;
      }
    }
    Wrong(*node, key, "must be one of " + Join(words, ", "));
  }

  void Date(const std::string& key, std::string& target) {
    const toml::node* node = Find(key);
    if (!node) return;
    const auto date = node->value_exact<toml::date>();
    if (!date) return Wrong(*node, key, "must be a date without quotes, as 2026-11-21");
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02d-%02d", date->year, date->month, date->day);
    target = text;
  }

  // The number of GPUs that nodes have: strictly ascending.
  void Counts(const std::string& key, std::vector<int>& target) {
    List(key, target, [&](const toml::node& node, int& count) {
      const auto value = node.value_exact<std::int64_t>();
      if (!value || *value < 0 || *value > kMostNodeGpus)
        return Wrong(node, key, "must hold whole numbers from 0 to " + std::to_string(kMostNodeGpus));
      count = static_cast<int>(*value);
    });
    if (std::adjacent_find(target.begin(), target.end(), std::greater_equal<>()) != target.end())
      Wrong(*table_.get(key), key, "must be ascending");
  }

  void Directives(const std::string& key, std::vector<DirectiveTemplate>& target) {
    List(key, target, [&](const toml::node& node, DirectiveTemplate& directive) {
      const toml::table* table = node.as_table();
      if (!table) return TextOf(node, key, directive.text, kDirective);
      Reader inner(*table, origin_, prefix_ + key + ".");
      inner.Text("directive", directive.text, kDirective);
      inner.Text("when", directive.when, kWord);
      inner.Finish();
      Take(inner.status());
      const auto& names = ValueNames();
      if (directive.text.empty() || std::find(names.begin(), names.end(), directive.when) == names.end())
        Wrong(node, key, "must be {directive = \"…\", when = \"…\"} with one of " + Join(names, ", "));
    });
  }

  // Any keys: NAME = "value".
  void Exports(const std::string& key, std::vector<std::string>& target) {
    const toml::node* node = Find(key);
    if (!node) return;
    const toml::table* table = node->as_table();
    if (!table) return Wrong(*node, key, "must be a table of NAME = \"value\"");
    if (table->size() > kMostEntries) return Wrong(*node, key, "has too many entries");
    target.clear();
    for (const auto& [name, value] : *table) {
      std::string variable(name.str()), text;
      if (!kVariable.holds(variable)) return Wrong(value, key + "." + variable, "is not a variable's name");
      TextOf(value, key + "." + variable, text, kShellPath);
      target.push_back(variable + "=" + text);
    }
  }

  // A table of its own; `read` is called with its reader if it is there.
  template <typename Read>
  void Table(const std::string& key, Read read) {
    const toml::node* node = Find(key);
    if (!node) return;
    if (const toml::table* table = node->as_table())
      Inner(*table, key, read);
    else
      Wrong(*node, key, "must be a table");
  }

  // [[key]]: replaces the target.
  template <typename T, typename Read>
  void Tables(const std::string& key, std::vector<T>& target, Read read) {
    List(key, target, [&](const toml::node& node, T& element) {
      if (const toml::table* table = node.as_table())
        Inner(*table, key, [&](Reader& reader) { read(reader, element); });
      else
        Wrong(node, key, "must be tables, each under [[" + key + "]]");
    });
  }

  // Refuses keys that were not read.
  void Finish() {
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      const std::vector<std::string> nearest = NearestNames(name, known_);
      Take(UsageError(Where(node) + "no key " + Quoted(prefix_ + name) +
                      (nearest.empty() ? "; there are: " + Join(known_, ", ") : ". Nearest: " + Join(nearest, ", "))));
    }
  }

  void Wrong(const toml::node& node, const std::string& key, const std::string& what) {
    Take(UsageError(Where(node) + prefix_ + key + " " + what));
  }
  const absl::Status& status() const { return status_; }

 private:
  void Take(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }

  std::string Where(const toml::node& node) const {
    return origin_ + ":" + std::to_string(node.source().begin.line) + ": ";
  }

  void TextOf(const toml::node& node, const std::string& key, std::string& target, const Rule& rule) {
    const auto text = node.value_exact<std::string>();
    if (!text) return Wrong(node, key, "must be a text in quotes");
    if (!rule.holds(*text)) return Wrong(node, key, "is " + Quoted(*text) + ", and must be " + rule.what);
    target = *text;
  }

  template <typename T, typename Each>
  void List(const std::string& key, std::vector<T>& target, Each each) {
    const toml::node* node = Find(key);
    if (!node) return;
    const toml::array* array = node->as_array();
    if (!array) return Wrong(*node, key, "must be a list");
    if (array->size() > kMostEntries)
      return Wrong(*node, key, "has more than " + std::to_string(kMostEntries) + " entries");
    target.clear();
    for (const toml::node& element : *array) each(element, target.emplace_back());
  }

  template <typename Read>
  void Inner(const toml::table& table, const std::string& key, Read read) {
    Reader reader(table, origin_, prefix_ + key + ".");
    read(reader);
    reader.Finish();
    Take(reader.status());
  }

  const toml::table& table_;
  const std::string origin_, prefix_;
  std::vector<std::string> known_;
  absl::Status status_;
};

void ReadOffer(Reader& reader, GpuOffer& offer) {
  constexpr Rule kWordOrAny = {[](const std::string& text) { return text == "*" || IsWord(text); },
                               "a word of letters, digits and . _ : + -, or \"*\" for any"};
  reader.Text("type", offer.type, kWordOrAny);
  reader.Text("partition", offer.partition, kWordOrAny);
  reader.Counts("per_node", offer.per_node);
  reader.Flag("whole_nodes", offer.whole_nodes);
  reader.Text("compute_capability", offer.compute_capability, kCapability);
  reader.Text("note", offer.note, kLine);
  reader.Text("refused", offer.refused, kLine);
  reader.Directives("directives", offer.directives);
}

void ReadSite(Reader& reader, Site& site) {
  std::string base;
  reader.Text("extends", base, kWord);  // read before; known here
  reader.Text("title", site.title, kLine);
  reader.Choice("scheduler", site.scheduler, {SchedulerKind::kSlurm, SchedulerKind::kLsf});
  reader.Text("cluster", site.cluster, kWord);
  reader.Choice("status", site.status, {SiteStatus::kActive, SiteStatus::kGoing, SiteStatus::kRetired});
  reader.Text("status_note", site.status_note, kLine);
  reader.Text("source", site.source, kLine);
  reader.Date("checked_on", site.checked_on);
  reader.Text("checked", site.checked, kLine);
  reader.Table("account", [&](Reader& account) {
    account.Flag("required", site.account.required);
    account.Text("pattern", site.account.pattern, kPattern);
    account.Text("example", site.account.example, kWord);
    account.Text("default", site.account.fallback, kWord);
  });
  reader.Table("time", [&](Reader& time) {
    std::chrono::seconds longest = site.longest_time.value_or(std::chrono::seconds(0));
    time.Time("default", site.default_time);
    time.Time("limit", longest);
    if (longest.count() > 0) site.longest_time = longest;
  });
  reader.Directives("directives", site.directives);
  reader.Tables("gpu", site.offers, ReadOffer);
  reader.Texts("modules", site.modules, kModule);
  reader.Texts("first_module", site.first_module, kModule);
  reader.Exports("exports", site.exports);
  reader.Texts("launcher", site.launcher, kLauncherWord);
  reader.Text("scratch", site.scratch, kShellPath);
  reader.Text("cache", site.cache, kShellPath);
  reader.Text("ports", site.ports, kPorts);
  reader.Text("interface", site.interface, kInterface);
  reader.Flag("home_writable", site.home_writable);
  reader.Flag("login_shell", site.login_shell);
  reader.Finish();
}

bool Mentions(const std::vector<DirectiveTemplate>& directives, const std::string& placeholder) {
  return std::any_of(directives.begin(), directives.end(), [&](const DirectiveTemplate& directive) {
    return directive.text.find(placeholder) != std::string::npos;
  });
}

// Checks that concern several keys.
absl::Status CheckWhole(const Site& site, const std::string& origin) {
  const auto wrong = [&](const std::string& what) { return UsageError(origin + ": " + what); };
  if (!Mentions(site.directives, "{time}")) return wrong("directives must set a time: one needs {time}");
  if (site.offers.empty()) return wrong("there is no [[gpu]]: list the GPUs that can be requested, and how");
  const bool launched = std::any_of(site.launcher.begin(), site.launcher.end(),
                                    [](const std::string& word) { return word.find("{gpus}") != std::string::npos; });
  for (const GpuOffer& offer : site.offers) {
    if (!offer.refused.empty()) continue;
    const std::string which = offer.type.empty() ? "" : " of type " + Quoted(offer.type);
    if (offer.Most() == 0) return wrong("a [[gpu]]" + which + " has no per_node: how many GPUs its nodes have");
    if (!offer.whole_nodes && !launched && !Mentions(site.directives, "{gpus}") &&
        !Mentions(offer.directives, "{gpus}"))
      return wrong("nothing asks for the GPUs" + which + ": a directive or a word of the launcher with {gpus}");
  }
  for (const std::string& account : {site.account.example, site.account.fallback})
    if (!account.empty() && !Matches(account, site.account.pattern))
      return wrong("account " + Quoted(account) + " does not match account.pattern " + Quoted(site.account.pattern));
  if (site.default_time < kShortestTime)
    return wrong("time.default, " + DurationText(site.default_time) + ", is less than a minute");
  if (site.longest_time && site.default_time > *site.longest_time)
    return wrong("time.default, " + DurationText(site.default_time) + ", is longer than time.limit, " +
                 DurationText(*site.longest_time));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Site> ParseProfile(const std::string& text, const std::string& name, const std::string& origin,
                                  const std::function<absl::StatusOr<Site>(const std::string&)>& base) {
  if (text.size() > kLongestProfile)
    return UsageError(origin + ": " + std::to_string(text.size()) + " bytes is too large for a profile; the limit is " +
                      std::to_string(kLongestProfile));
  const toml::parse_result parsed = toml::parse(text, origin);
  if (!parsed)
    return UsageError(origin + ":" + std::to_string(parsed.error().source().begin.line) + ": " +
                      std::string(parsed.error().description()));
  Site site;
  site.default_time = std::chrono::hours(1);
  if (const auto extended = parsed.table()["extends"].value_exact<std::string>()) {
    auto found = base(*extended);
    if (!found.ok())
      return UsageError(origin + ": extends " + Quoted(*extended) + ": " + std::string(found.status().message()));
    site = *std::move(found);
  }
  site.name = name;
  site.origin = origin;
  Reader reader(parsed.table(), origin);
  ReadSite(reader, site);
  if (!reader.status().ok()) return reader.status();
  if (const absl::Status status = CheckWhole(site, origin); !status.ok()) return status;
  return site;
}

}  // namespace hotplate::cli
