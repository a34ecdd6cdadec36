#include "client/cli/sites/words.h"

#include <regex.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "client/cli/sites/template.h"
#include "kernels/array/quoted.h"

namespace hotplate::cli {
namespace {

constexpr std::size_t kLongestLine = 400, kLongestWord = 64, kLongestPattern = 200;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOneOf(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

constexpr std::string_view kPlain = "/._+-=:,@%";  // beside letters and digits: characters without a meaning to shells

// Letters, digits and `further`; the first a letter or digit.
bool IsMadeOf(const std::string& text, std::string_view further, std::size_t longest) {
  if (text.empty() || text.size() > longest || !(IsLetter(text[0]) || IsDigit(text[0]))) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return IsLetter(c) || IsDigit(c) || IsOneOf(further, c); });
}

bool IsNumber(const std::string& text, std::size_t digits) {
  return !text.empty() && text.size() <= digits && std::all_of(text.begin(), text.end(), IsDigit);
}

std::optional<int> Port(const std::string& text) {
  if (!IsNumber(text, 5)) return std::nullopt;
  const int port = std::stoi(text);
  if (port < 1024 || port > 65535) return std::nullopt;
  return port;
}

}  // namespace

bool IsLine(const std::string& text) {
  return !text.empty() && text.size() <= kLongestLine && IsUtf8(text) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

bool IsAccount(const std::string& text) { return IsLine(text) && text.find_first_of("'\"\\`$") == std::string::npos; }

bool IsWord(const std::string& text) { return IsMadeOf(text, "._:+-", kLongestWord); }

bool IsVariable(const std::string& text) {
  return !text.empty() && text.size() <= kLongestWord && !IsDigit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

bool IsInterface(const std::string& text) { return IsMadeOf(text, "._-", 15); }

bool IsCapability(const std::string& text) {
  const std::size_t dot = text.find('.');
  return dot != std::string::npos && IsNumber(text.substr(0, dot), 2) && IsNumber(text.substr(dot + 1), 1);
}

bool IsPortRange(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto first = Port(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : Port(text.substr(dash + 1));
  return first && last && *first <= *last;
}

bool IsMemory(const std::string& text) {
  if (text.empty()) return false;
  const bool unit = IsOneOf("KMGT", text.back());
  return IsNumber(unit ? text.substr(0, text.size() - 1) : text, 9);
}

bool IsShellValue(const std::string& text) {
  if (text.empty() || text.size() > kLongestLine || !NamesIn(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool variable = c == '$' && i + 1 < text.size() && (IsLetter(text[i + 1]) || text[i + 1] == '_');
    if (!variable && !IsLetter(c) && !IsDigit(c) && !IsOneOf(kPlain, c) && c != '{' && c != '}') return false;
  }
  return true;
}

bool IsLauncherWord(const std::string& text) { return IsShellValue(text) && text.find('$') == std::string::npos; }

bool IsDirective(const std::string& text) {
  return text.size() >= 2 && text.size() <= kLongestLine && text[0] == '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '`'; });
}

bool IsDirectiveTemplate(const std::string& text) { return IsDirective(text) && NamesIn(text).has_value(); }

bool IsPattern(const std::string& text) {
  if (text.empty() || text.size() > kLongestPattern) return false;
  regex_t compiled;
  if (regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  regfree(&compiled);
  return true;
}

bool Matches(const std::string& text, const std::string& pattern) {
  if (pattern.empty()) return true;
  regex_t compiled;
  if (regcomp(&compiled, ("^(" + pattern + ")$").c_str(), REG_EXTENDED | REG_NOSUB | REG_ICASE) != 0) return false;
  const bool matches = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return matches;
}

std::string ShellQuoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) || IsOneOf(kPlain, c);
  });
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace hotplate::cli
