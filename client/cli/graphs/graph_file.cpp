#include "client/cli/graphs/graph_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <queue>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/cli/jobs/scalar_input.h"
#include "client/cli/jobs/standard_streams.h"
#include "client/cli/terminal/format.h"
#include "client/cli/toml.h"
#include "kernels/array/quoted.h"
#include "kernels/base/nearest_names.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kMostNodes = 10'000;    // as many as a daemon queues, if nobody set it up otherwise
constexpr std::size_t kMostBytes = 16 << 20;  // of the file
constexpr std::size_t kLongestName = 64;      // of a node
constexpr std::size_t kMostFaults = 20;       // that are told

const std::vector<std::string>& Keys() {
  static const std::vector<std::string> keys = {
      "kernel", "expression", "function", "python",     "exec",      "args",          "inputs", "params", "outputs",
      "after",  "device",     "priority", "time_limit", "precision", "deterministic", "label",  "env"};
  return keys;
}

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

// A value as a word of the command line; nothing for a table and the like.
std::optional<std::string> WordOf(const toml::node& node) {
  if (const auto text = node.value<std::string>(); node.is_string()) return text;
  if (const auto flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto integer = node.as_integer()) return std::to_string(integer->get());
  if (!node.is_floating_point()) return std::nullopt;
  std::ostringstream text;
  text.precision(17);
  text << *node.value<double>();
  const bool is_plain = text.str().find_first_not_of("-0123456789") == std::string::npos;
  return is_plain ? text.str() + ".0" : text.str();  // 3.0 is no integer
}

// From the tables of a file to nodes; gathers what is wrong.
class Reader {
 public:
  Reader(const toml::table& tables, std::vector<std::string>& faults) : tables_(tables), faults_(faults) {}

  std::vector<GraphNode> Nodes() {
    std::vector<std::pair<std::uint32_t, GraphNode>> by_line;
    for (const auto& [key, value] : tables_) {
      const toml::table* const table = value.as_table();
      name_ = std::string(key.str());
      if (table == nullptr) {
        Fault("is no table; a node begins with [" + name_ + "]");
      } else if (!IsName(name_)) {
        Fault("is no name of a node: up to 64 letters, digits, _ and -");
      } else {
        by_line.emplace_back(table->source().begin.line, Node(*table));
      }
    }
    std::stable_sort(by_line.begin(), by_line.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<GraphNode> nodes;
    for (auto& [line, node] : by_line) nodes.push_back(std::move(node));
    return nodes;
  }

 private:
  void Fault(const std::string& what) { faults_.push_back("[" + name_ + "] " + what); }

  GraphNode Node(const toml::table& table) {
    GraphNode node;
    node.name = name_;
    for (const auto& [key, value] : table) {
      const std::string word(key.str());
      if (std::find(Keys().begin(), Keys().end(), word) != Keys().end()) continue;
      Fault("has the unknown key " + Quoted(word) + Nearest(word, Keys()));
    }
    std::vector<std::string> kinds;
    for (const char* const kind : {"kernel", "expression", "function", "python", "exec"})
      if (table.contains(kind)) kinds.emplace_back(kind);
    if (kinds.size() != 1) {
      Fault(kinds.empty() ? "has none of kernel, expression, function, python and exec: one of them says what it runs"
                          : "has " + Join(kinds, " and ") + ": it can be one of them");
      return node;
    }
    After(table, node);
    if (kinds[0] == "python" || kinds[0] == "exec") {
      Program(table, kinds[0], node);
      return node;
    }
    node.kind = kinds[0] == "kernel"     ? GraphNode::Kind::kKernel
                : kinds[0] == "function" ? GraphNode::Kind::kFunction
                                         : GraphNode::Kind::kExpression;
    node.words.push_back(Text(table, kinds[0]));
    Inputs(table, node);
    Params(table, node);
    Outputs(table, node);
    Options(table, node.options);
    if (table.contains("args")) Fault("has args, which is for python and exec");
    const bool is_function = node.kind == GraphNode::Kind::kFunction;
    if (table.contains("env") && is_function) node.environment = Text(table, "env");
    if (table.contains("env") && !is_function) Fault("has env, which is for function, python and exec");
    for (const char* const key : {"precision", "deterministic"})
      if (is_function && table.contains(key)) Fault(std::string(key) + " is not for a function");
    return node;
  }

  std::string Text(const toml::table& table, const std::string& key) {
    const auto text = table[key].value<std::string>();
    if (!table[key].is_string()) Fault(key + " is no text in quotes");
    return text.value_or("");
  }

  std::vector<std::string> Texts(const toml::table& table, const std::string& key) {
    std::vector<std::string> texts;
    const toml::array* const array = table[key].as_array();
    if (array == nullptr) {
      if (table[key].is_string()) return {Text(table, key)};
      Fault(key + " is neither a text nor a list of texts");
      return texts;
    }
    for (const toml::node& one : *array) {
      const auto word = WordOf(one);
      if (!word) Fault(key + " holds something else than texts and numbers");
      texts.push_back(word.value_or(""));
    }
    return texts;
  }

  // A table of words: { a = "x.npy", n = 3 }.
  std::vector<std::pair<std::string, std::string>> Words(const toml::table& table, const std::string& key) {
    std::vector<std::pair<std::string, std::string>> words;
    if (!table.contains(key)) return words;
    const toml::table* const inner = table[key].as_table();
    if (inner == nullptr) {
      Fault(key + " is no table: write " + key + " = { NAME = … }");
      return words;
    }
    for (const auto& [name, value] : *inner) {
      const auto word = WordOf(value);
      if (!word) Fault(key + "." + std::string(name.str()) + " is neither a text nor a number");
      words.emplace_back(name.str(), word.value_or(""));
    }
    return words;
  }

  void After(const toml::table& table, GraphNode& node) {
    if (!table.contains("after")) return;
    for (const std::string& other : Texts(table, "after")) {
      if (tables_.contains(other)) {
        node.after.push_back(other);
      } else {
        Fault("comes after " + Quoted(other) + ", and there is no such node" + Nearest(other));
      }
    }
  }

  std::string Nearest(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [key, value] : tables_) names.emplace_back(key.str());
    return Nearest(name, names);
  }

  static std::string Nearest(const std::string& name, const std::vector<std::string>& names) {
    const std::vector<std::string> nearest = NearestNames(name, names);
    return nearest.empty() ? "" : "; nearest: " + Join(nearest, ", ");
  }

  void Program(const toml::table& table, const std::string& kind, GraphNode& node) {
    node.kind = GraphNode::Kind::kProgram;
    node.program = kind;
    node.words = Texts(table, kind);
    if (node.words.empty()) Fault(kind + " names no program");
    if (table.contains("args"))
      for (std::string& word : Texts(table, "args")) node.words.push_back(std::move(word));
    if (table.contains("env")) node.options.push_back("--env=" + Text(table, "env"));
    Options(table, node.options);
    for (const char* const key : {"inputs", "params", "outputs", "precision", "deterministic"})
      if (table.contains(key)) Fault(std::string(key) + " is not for a program: it reads and writes files by itself");
  }

  void Inputs(const toml::table& table, GraphNode& node) {
    for (const auto& [name, word] : Words(table, "inputs")) {
      const std::string other = word.substr(0, word.find('.'));
      const bool is_text = table["inputs"][name].is_string();
      if (!is_text || !tables_.contains(other)) {
        if (is_text) CheckFile(name, word);
        node.words.push_back(name + "=" + word);
        continue;
      }
      node.made_by[name] = word;
      if (std::find(node.takes.begin(), node.takes.end(), other) == node.takes.end()) node.takes.push_back(other);
    }
  }

  // A word that looks like a node's output, and is none, would else be told as a file that is not there.
  void CheckFile(const std::string& input, const std::string& word) {
    const bool is_plain =
        word.find_first_of("/:") == std::string::npos && !IsScalarWord(word) && word != kStandardStream;
    std::error_code error;
    if (!is_plain || std::filesystem::exists(word, error)) return;
    const std::string node = word.substr(0, word.find('.'));
    Fault(absl::StrCat("input ", input, ": there is neither a node ", Quoted(node), " nor a file ", Quoted(word),
                       Nearest(node)));
  }

  void Params(const toml::table& table, GraphNode& node) {
    for (const auto& [name, word] : Words(table, "params")) {
      const auto value = table["params"][name];
      GraphNumber& number = node.params[name];
      number.word = word;
      if (const auto* integer = value.as_integer()) {
        number.value = integer->get();
      } else if (const auto* real = value.as_floating_point()) {
        number.value = real->get();
      } else if (const auto* flag = value.as_boolean()) {
        number.value = flag->get();
      } else {
        number.value = word;
      }
    }
  }

  void Outputs(const toml::table& table, GraphNode& node) {
    for (const auto& [name, word] : Words(table, "outputs")) {
      if (word == kStandardStream)
        Fault("output " + name + ": standard output is for what the command says; name a file");
      node.options.push_back("--output=" + name + "=" + word);
    }
  }

  void Options(const toml::table& table, std::vector<std::string>& words) {
    for (const char* const key : {"device", "priority", "time_limit", "precision", "label"}) {
      if (!table.contains(key)) continue;
      const auto word = WordOf(*table.get(key));
      if (!word) Fault(std::string(key) + " is neither a text nor a number");
      const std::string option = std::string(key) == "time_limit" ? "time-limit" : key;
      words.push_back("--" + option + "=" + word.value_or(""));
    }
    if (!table.contains("deterministic")) return;
    if (!table["deterministic"].is_boolean()) Fault("deterministic is neither true nor false");
    if (table["deterministic"].value_or(false)) words.emplace_back("--deterministic");
  }

  const toml::table& tables_;
  std::vector<std::string>& faults_;
  std::string name_;  // of the node at hand
};

std::vector<std::string> NeedsOf(const GraphNode& node) {
  std::vector<std::string> needs = node.takes;
  needs.insert(needs.end(), node.after.begin(), node.after.end());
  return needs;
}

// A circle among nodes of which each needs another one of them, in the order of the arrows.
std::string CircleIn(const std::map<std::string, const GraphNode*>& left) {
  std::vector<std::string> path;
  std::string at = left.begin()->first;
  while (std::find(path.begin(), path.end(), at) == path.end()) {
    path.push_back(at);
    for (const std::string& need : NeedsOf(*left.at(at)))
      if (left.count(need) > 0) {
        at = need;
        break;
      }
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  path.push_back(at);
  return Join(path, " needs ");
}

// Behind those that they need, else as they were.
absl::StatusOr<std::vector<GraphNode>> InOrder(std::vector<GraphNode> nodes) {
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) place[nodes[i].name] = i;
  std::vector<std::size_t> missing(nodes.size());
  std::vector<std::vector<std::size_t>> needed_by(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& need : NeedsOf(nodes[i])) {
      ++missing[i];
      needed_by[place.at(need)].push_back(i);
    }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<GraphNode> ordered;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    for (const std::size_t other : needed_by[i])
      if (--missing[other] == 0) ready.push(other);
    ordered.push_back(std::move(nodes[i]));
  }
  if (ordered.size() == nodes.size()) return ordered;
  std::map<std::string, const GraphNode*> left;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] > 0) left[nodes[i].name] = &nodes[i];
  return absl::InvalidArgumentError("the nodes go in a circle: " + CircleIn(left));
}

}  // namespace

absl::StatusOr<GraphFile> ReadGraphFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::InvalidArgumentError(path + ": it is a folder");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return absl::NotFoundError(path + ": no such file, or it cannot be read");
  std::string text(kMostBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostBytes)
    return absl::InvalidArgumentError(absl::StrCat(path, ": a graph has at most ", kMostBytes >> 20, " MiB of text"));
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", parsed.error().source().begin.line, ": ", std::string(parsed.error().description())));
  }
  if (parsed.table().empty()) return absl::InvalidArgumentError(path + ": it has no node: a table a node, as [NAME]");
  if (parsed.table().size() > kMostNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": it has ", parsed.table().size(), " nodes; at most ", kMostNodes, " are possible"));
  }
  std::vector<std::string> faults;
  std::vector<GraphNode> nodes = Reader(parsed.table(), faults).Nodes();
  if (faults.size() > kMostFaults) {
    const std::size_t more = faults.size() - kMostFaults;
    faults.resize(kMostFaults);
    faults.push_back(absl::StrCat("and ", more, " more faults"));
  }
  if (!faults.empty()) return absl::InvalidArgumentError(path + ": " + Join(faults, "\n"));
  auto ordered = InOrder(std::move(nodes));
  if (!ordered.ok()) return absl::InvalidArgumentError(path + ": " + std::string(ordered.status().message()));
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return GraphFile{whole.stem().string(), whole.parent_path().string(), *std::move(ordered)};
}

}  // namespace hotplate::cli
