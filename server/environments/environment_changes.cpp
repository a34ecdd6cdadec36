#include "server/environments/environment_changes.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace hotplate::server {
namespace {

constexpr std::string_view kOfShells[] = {"_", "SHLVL", "PWD", "OLDPWD"};

bool IsVariableName(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool Concerns(const std::string& name) {
  return IsVariableName(name) && !name.starts_with("HOTPLATE_") &&
         std::find(std::begin(kOfShells), std::end(kOfShells), name) == std::end(kOfShells);
}

void Add(google::protobuf::RepeatedPtrField<v1::EnvironmentChanges::Variable>& to, const std::string& name,
         std::string value) {
  v1::EnvironmentChanges::Variable& variable = *to.Add();
  variable.set_name(name);
  variable.set_value(std::move(value));
}

void AddChange(const std::string& name, const std::string* before, const std::string& after,
               v1::EnvironmentChanges& changes) {
  if (before == nullptr || before->empty()) {
    // A list of folders, which the client may have a beginning of.
    return Add(name.ends_with("PATH") ? *changes.mutable_prepend() : *changes.mutable_set(), name, after);
  }
  // Found whole between colons, so that /a is not found in /a/b.
  const std::size_t at = (":" + after + ":").find(":" + *before + ":");
  if (at == std::string::npos) return Add(*changes.mutable_set(), name, after);
  const std::size_t end = at + before->size();
  if (at > 0) Add(*changes.mutable_prepend(), name, after.substr(0, at - 1));
  if (end < after.size()) Add(*changes.mutable_append(), name, after.substr(end + 1));
}

}  // namespace

VariableMap MapOf(const std::vector<std::string>& variables) {
  VariableMap map;
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    map[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return map;
}

v1::EnvironmentChanges ChangesBetween(const VariableMap& before, const VariableMap& after) {
  v1::EnvironmentChanges changes;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (!Concerns(name) || (old != before.end() && old->second == value)) continue;
    AddChange(name, old == before.end() ? nullptr : &old->second, value, changes);
  }
  for (const auto& [name, value] : before) {
    if (Concerns(name) && !after.contains(name)) changes.add_unset(name);
  }
  return changes;
}

void Apply(const v1::EnvironmentChanges& changes, VariableMap& variables) {
  for (const std::string& name : changes.unset()) variables.erase(name);
  for (const auto& variable : changes.set()) variables[variable.name()] = variable.value();
  for (const auto& variable : changes.prepend()) {
    std::string& value = variables[variable.name()];
    value = value.empty() ? variable.value() : variable.value() + ":" + value;
  }
  for (const auto& variable : changes.append()) {
    std::string& value = variables[variable.name()];
    value = value.empty() ? variable.value() : value + ":" + variable.value();
  }
}

std::vector<std::string> NamesIn(const v1::EnvironmentChanges& changes) {
  std::set<std::string> names(changes.unset().begin(), changes.unset().end());
  for (const auto* const several : {&changes.set(), &changes.prepend(), &changes.append()}) {
    for (const auto& variable : *several) names.insert(variable.name());
  }
  return {names.begin(), names.end()};
}

}  // namespace hotplate::server
