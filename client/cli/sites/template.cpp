#include "client/cli/sites/template.h"

#include <algorithm>

namespace hotplate::cli {
namespace {

// Calls `text_part` and `name_part` for the pieces of `text`; false where the braces are wrong.
template <typename TextPart, typename NamePart>
bool Walk(const std::string& text, TextPart text_part, NamePart name_part) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = text.find_first_of("{}", at);
    text_part(text.substr(at, open == std::string::npos ? open : open - at));
    if (open == std::string::npos) return true;
    const std::size_t close = text.find_first_of("{}", open + 1);
    if (text[open] == '}' || close == std::string::npos || text[close] == '{') return false;
    name_part(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& ValueNames() {
  static const std::vector<std::string> names = {"account", "partition", "gpu_type", "gpus",
                                                 "time",    "cpus",      "memory",   "exclusive"};
  return names;
}

std::optional<std::vector<std::string>> NamesIn(const std::string& text) {
  std::vector<std::string> names;
  const bool well_formed = Walk(
      text, [](const std::string&) {}, [&](const std::string& name) { names.push_back(name); });
  for (const std::string& name : names)
    if (std::find(ValueNames().begin(), ValueNames().end(), name) == ValueNames().end()) return std::nullopt;
  if (!well_formed) return std::nullopt;
  return names;
}

std::optional<std::string> Filled(const std::string& text, const TemplateValues& values) {
  std::string filled;
  bool complete = true;
  const bool well_formed = Walk(
      text, [&](const std::string& part) { filled += part; },
      [&](const std::string& name) {
        const auto value = values.find(name);
        if (value == values.end() || value->second.empty())
          complete = false;
        else
          filled += value->second;
      });
  if (!well_formed || !complete) return std::nullopt;
  return filled;
}

std::optional<std::string> Filled(const DirectiveTemplate& directive, const TemplateValues& values) {
  if (!directive.when.empty()) {
    const auto option = values.find(directive.when);
    if (option == values.end() || option->second.empty()) return std::nullopt;
  }
  return Filled(directive.text, values);
}

}  // namespace hotplate::cli
