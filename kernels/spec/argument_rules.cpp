#include "kernels/spec/argument_rules.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace hotplate {
namespace {

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

constexpr std::string_view kRest = "...", kBroadcast = "broadcast ...";

std::optional<Dimension> ParseDimension(std::string_view text) {
  if (text == kRest || text == kBroadcast) return Dimension{.kind = Dimension::Kind::kRest, .symbol = {}, .number = 0};
  if (IsIdentifier(text)) return Dimension{.kind = Dimension::Kind::kSymbol, .symbol = std::string(text), .number = 0};
  Dimension dimension{.kind = Dimension::Kind::kNumber, .symbol = {}, .number = 0};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, dimension.number);
  if (error != std::errc() || rest != end || dimension.number < 0) return std::nullopt;
  return dimension;
}

}  // namespace

bool IsLowerSnake(std::string_view name) {
  return !name.empty() && IsLower(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsLower(c) || IsDigit(c) || c == '_'; });
}

bool IsIdentifier(std::string_view name) {
  return !name.empty() && IsLetter(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

std::optional<ShapeRule> ParseShapeRule(std::string_view text) {
  ShapeRule rule;
  if (Trimmed(text).empty()) return rule;
  constexpr std::string_view kAtMost = "at most ";
  if (Trimmed(text).starts_with(kAtMost)) {
    rule.at_most = true;
    text = Trimmed(text).substr(kAtMost.size());
  }
  for (bool last = false; !last;) {
    const std::size_t comma = text.find(',');
    last = comma == std::string_view::npos;
    const std::string_view word = Trimmed(text.substr(0, comma));
    std::optional<Dimension> dimension = ParseDimension(word);
    if (!dimension) return std::nullopt;
    if (dimension->kind == Dimension::Kind::kRest) {
      if (rule.rest || (rule.at_most && rule.dimensions.empty())) return std::nullopt;
      rule.rest = rule.dimensions.size();
      rule.broadcasts = word == kBroadcast;
    }
    rule.dimensions.push_back(*std::move(dimension));
    if (!last) text.remove_prefix(comma + 1);
  }
  return rule;
}

std::string ToString(const ShapeRule& rule) {
  std::string text = rule.at_most ? "[at most " : "[";
  for (const Dimension& dimension : rule.dimensions) {
    if (&dimension != &rule.dimensions.front()) text += ", ";
    switch (dimension.kind) {
      case Dimension::Kind::kSymbol:
        text += dimension.symbol;
        break;
      case Dimension::Kind::kNumber:
        text += std::to_string(dimension.number);
        break;
      case Dimension::Kind::kRest:
        text += rule.broadcasts ? kBroadcast : kRest;
        break;
    }
  }
  return text + "]";
}

std::optional<TypeRule> ParseTypeRule(std::string_view text) {
  TypeRule rule{.fixed = ParseDType(text), .variable = {}};
  if (rule.fixed) return rule;
  constexpr std::pair<std::string_view, TypeRule::Change> kChanges[] = {{"float(", TypeRule::Change::kFloat},
                                                                        {"complex(", TypeRule::Change::kComplex}};
  for (const auto& [start, change] : kChanges) {
    if (!text.starts_with(start) || !text.ends_with(')')) continue;
    rule.change = change;
    text = text.substr(start.size(), text.size() - start.size() - 1);
    break;
  }
  if (!IsIdentifier(text)) return std::nullopt;
  rule.variable = text;
  return rule;
}

}  // namespace hotplate
