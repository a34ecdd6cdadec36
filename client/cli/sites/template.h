// The language of profiles, all of it: {name} in a text stands for a value, and a text with an empty value is left out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/sites/site.h"

namespace hotplate::cli {

// The values that a template may name, in the order of documentation.
const std::vector<std::string>& ValueNames();
using TemplateValues = std::map<std::string, std::string>;

// The names in braces; nothing if a brace lacks its counterpart or a name is unknown.
std::optional<std::vector<std::string>> NamesIn(const std::string& text);

// Nothing if one of the values is empty.
std::optional<std::string> Filled(const std::string& text, const TemplateValues& values);
// The same; also nothing if the option that the directive depends on was not given.
std::optional<std::string> Filled(const DirectiveTemplate& directive, const TemplateValues& values);

}  // namespace hotplate::cli
