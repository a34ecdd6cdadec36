#include "kernels/expression/names.h"

#include <algorithm>

#include "kernels/array/dtype.h"
#include "kernels/expression/parse.h"

namespace hotplate::expression {
namespace {

constexpr std::string_view kUnnamedOutput = "out";

void AddOnce(std::vector<std::string>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

}  // namespace

std::variant<Names, Error> NamesIn(std::string_view text) {
  const std::variant<Syntax, Error> parsed = Parse(text);
  if (const auto* error = std::get_if<Error>(&parsed)) return *error;
  const Syntax& syntax = std::get<Syntax>(parsed);
  Names names;
  std::vector<std::string_view> given;  // by statements so far
  std::size_t next = 0;
  for (const Statement& statement : syntax.statements) {
    for (; next <= static_cast<std::size_t>(statement.root); ++next) {
      const SyntaxNode& node = syntax.nodes[next];
      if (node.kind != SyntaxNode::Kind::kName || ParseDType(node.text)) continue;
      if (std::find(given.begin(), given.end(), node.text) == given.end()) AddOnce(names.taken, node.text);
    }
    given.push_back(statement.name);
    if (statement.name.empty()) AddOnce(names.outputs, kUnnamedOutput);
    if (!statement.name.empty() && statement.name.front() != '_') AddOnce(names.outputs, statement.name);
  }
  return names;
}

}  // namespace hotplate::expression
